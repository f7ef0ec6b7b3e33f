// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a thread was for most of a pause: in the program, in the kernel, in which system call, and
 * what it does. */
#include "pause_root.h"

#include "analyze/analyses/waits/kernel_reason.h"
#include "analyze/store/stacks/stack_brief.h"
#include "format/syscall.h"

#define REASONS 8

/* Where in the program the thread waited for most of the time; at the end of a chain, which may
 * wait in one place only, with the root. */
int pause_caller(struct buf *out, sqlite3 *db, bool end, s64 tid, int state, s64 from, s64 to,
		 struct err *e)
{
	static const char sql[] =
		"SELECT user_stack FROM offcpu WHERE tid=?1 AND state=?2 AND ts < ?4 AND ts + dur > ?3"
		" GROUP BY 1 HAVING 2 * sum(min(ts + dur, ?4) - max(ts, ?3)) > ?4 - ?3";
	s64 stack = 0;
	int ret = db_int(db, &stack, e, sql, "iiii", tid, (s64)state, from, to);

	return ret < 0 || stack <= 0 ? ret : stack_wait_say(out, db, tid, stack, end, e);
}

/* Time of waits by what their kernel stacks say. */
struct reasons {
	const struct callstacks *stacks;
	const char *reason[REASONS];
	double ns[REASONS];
	int n;
};

/* Columns: kernel_stack, ns. */
static int on_kernel_stack(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct reasons *r = arg;
	const char *reason = kernel_reason(r->stacks, sqlite3_column_int64(q, 0));
	int i;

	(void)e;
	for (i = 0; i < r->n && r->reason[i] != reason; i++)
		;
	if (!reason || i == REASONS)
		return 0;
	r->n += i == r->n;
	r->reason[i] = reason;
	r->ns[i] += sqlite3_column_double(q, 1);
	return 0;
}

/* What the kernel waited for in most of the time: of a thread that was uninterruptible. */
int pause_reason(const char **ret, sqlite3 *db, s64 tid, int state, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"SELECT kernel_stack, sum(min(ts + dur, ?4) - max(ts, ?3)) FROM offcpu WHERE tid=?1 AND state=?2"
		" AND ts < ?4 AND ts + dur > ?3 GROUP BY 1";
	struct callstacks stacks = { 0 };
	struct reasons r = { .stacks = &stacks };
	int i, ret_sql = callstacks_load(&stacks, db, e);

	if (ret_sql == 0)
		ret_sql =
			db_each(db, e, on_kernel_stack, &r, sql, "iiii", tid, (s64)state, from, to);
	for (i = 0; i < r.n; i++)
		if (2 * r.ns[i] > (double)(to - from))
			*ret = r.reason[i];
	callstacks_free(&stacks);
	return ret_sql;
}

/* The system call in which the thread was for most of the time. */
int pause_call(struct buf *out, sqlite3 *db, s64 tid, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"SELECT n.name FROM syscall s JOIN syscall_name n USING(abi, nr) WHERE s.tid=?1 AND s.ts < ?3 AND"
		" s.ts + s.dur > ?2 GROUP BY 1 HAVING 2 * sum(min(s.ts + s.dur, ?3) - max(s.ts, ?2)) > ?3 - ?2";

	return db_add_text(out, db, e, sql, "iii", tid, from, to);
}

/* The descriptor of splice is the one that it reads. */
bool pause_sends(s64 nr, s64 abi)
{
	const struct syscall_desc *d = nr < 0 ? NULL : syscall_find((u8)abi, (u32)nr);

	return d && (d->family == FAMILY_SEND || d->family == FAMILY_SEND_MANY ||
		     d->file == IO_SENDFILE);
}
