// SPDX-License-Identifier: GPL-2.0-or-later
/* What threads do: system calls, calls of probed functions and what they hit. */
#include "trace_rail.h"

static bool place_syscall(const void *row, struct place *ret)
{
	const struct row_syscall *s = row;

	/* without an end: after all that have one */
	*ret = (struct place){ .span = { s->ts, end_of(s->ts, number_of(s->dur)) },
			       .rank = s->dur };
	return s->ts != BULK_NULL;
}

const struct row_order order_syscalls = { TABLE_syscall, COLUMNS_ALL, place_syscall };

/* A call, or an instant: a mark, or its begin was not seen. */
static int put_call(struct trace *t, s64 tid, bool instant, struct span span, struct trace_event *v)
{
	struct rail *r = trace_rail(t, tid);

	if (!r)
		return ERR_FAIL;
	trace_name_thread(t, r, tid, &r->calls);
	v->ts = span.ts;
	if (instant)
		return track_instant(&t->part, &r->calls, v);
	return track_begin(&t->part, &r->calls, span, v) < 0 ? ERR_FAIL : t->w.failed;
}

int trace_syscall(struct trace *t, const void *row, const struct place *at)
{
	const struct row_syscall *s = row;
	const char *name =
		trace_name(&t->calls, (u64)number_of(s->abi) << 32 | (u64)number_of(s->nr));
	struct trace_event v = { .name = name ? name : "", .category = "syscall" };

	if (s->ret != BULK_NULL)
		trace_arg(&v, "ret", s->ret);
	else
		trace_arg(&v, "unfinished", 1);
	if (s->fd != BULK_NULL)
		trace_arg(&v, "fd", s->fd);
	return put_call(t, number_of(s->tid), s->dur == BULK_NULL, at->span, &v);
}

int trace_call(struct trace *t, sqlite3_stmt *s)
{
	static const struct {
		const char *category, *value;
	} kinds[] = { { "function", "value" }, { "mark", "arg0" } };
	s64 ts = sqlite3_column_int64(s, 0);
	struct span span = { ts, end_of(ts, sqlite3_column_int64(s, 1)) };
	int kind = sqlite3_column_int(s, 3) & 1;
	struct trace_event v = { .name = db_text(s, 4), .category = kinds[kind].category };

	if (sqlite3_column_type(s, 5) != SQLITE_NULL)
		trace_arg(&v, kinds[kind].value, sqlite3_column_int64(s, 5));
	if (sqlite3_column_type(s, 6) != SQLITE_NULL)
		trace_arg_text(&v, "text", db_text(s, 6));
	return put_call(t, sqlite3_column_int64(s, 2), sqlite3_column_type(s, 1) == SQLITE_NULL,
			span, &v);
}
