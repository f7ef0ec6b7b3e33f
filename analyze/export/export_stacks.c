// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recorded call stacks as folded stacks, "process;thread;function;function ns": of samples on a
 * CPU, or of long waits, whose last frame is then the kind of the wait. Functions of the kernel end
 * in
 * _[k], as other programs write them.
 */
#include "analyze/store/fact.h"
#include "analyze/store/stacks/callstacks.h"
#include "cpu_stacks.h"
#include "export.h"
#include "format/escape.h"

#include <string.h>

struct folding {
	struct sink *out;
	struct callstacks stacks;
	char verdict[16];
	bool any;
};

static int add_frame(struct folding *f, const char *text, const char *mark, struct err *e)
{
	escape_add(&f->out->b, ESCAPE_FOLDED, text, strlen(text), e);
	return buf_printf(&f->out->b, e, "%s", mark);
}

/* process, thread, last frame or NULL, user stack, kernel stack, flags, ns */
static int on_row(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct folding *f = arg;
	s64 flags = sqlite3_column_int64(q, 5);
	const char *last = db_text_or(q, 2, NULL);
	u32 codes[STACK_DEEP];
	u32 n = callstacks_codes(&f->stacks, sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 4),
				 codes);
	int ret = strcmp(f->verdict, "COMPLETE") == 0
			  ? 0
			  : buf_printf(&f->out->b, e, "%s recording;", f->verdict);

	if (ret == 0)
		ret = add_frame(f, db_text_or(q, 0, "?"), ";", e);
	if (ret == 0)
		ret = add_frame(f, db_text_or(q, 1, "?"), "", e);
	if (ret == 0 && flags & STACK_LACKS)
		ret = buf_printf(&f->out->b, e, ";%s",
				 flags & STACK_NONE ? STACK_NONE_TEXT : STACK_LACKS_TEXT);
	while (n-- && ret == 0) {
		const struct code *c = &f->stacks.codes[codes[n]];

		ret = buf_add(&f->out->b, ";", 1, e);
		if (ret == 0)
			ret = add_frame(f, c->name, c->kernel ? "_[k]" : "", e);
	}
	if (ret == 0 && last)
		ret = buf_add(&f->out->b, ";", 1, e);
	if (ret == 0 && last)
		ret = add_frame(f, last, "", e);
	if (ret == 0)
		ret = buf_printf(&f->out->b, e, " %lld\n", sqlite3_column_int64(q, 6));
	f->any = true;
	return ret < 0 ? ret : sink_more(f->out, e); /* 1: the reader is gone */
}

static int fold(struct sink *out, sqlite3 *db, const char *sql, const char *none, struct err *e)
{
	struct folding f = { .out = out };
	int ret = coverage_verdict(f.verdict, sizeof(f.verdict), db, e);

	if (ret == 0)
		ret = callstacks_load(&f.stacks, db, e);
	if (ret == 0)
		ret = db_each(db, e, on_row, &f, sql, "");
	if (ret == 0 && !f.any)
		ret = err_set(e, ERR_FAIL, "%s", none);
	callstacks_free(&f.stacks);
	return ret;
}

int export_folded_cpu(struct sink *out, sqlite3 *db, const struct export_part *part, struct err *e)
{
	(void)part;
	return fold(out, db, CPU_STACKS, NO_SAMPLES, e);
}

int export_folded_offcpu(struct sink *out, sqlite3 *db, const struct export_part *part,
			 struct err *e)
{
	(void)part;
	return fold(
		out, db,
		STACK_NAMES
		" SELECT p.name, t.name, coalesce(n.name, 'unknown'), o.user_stack, o.kernel_stack,"
		" o.flags, sum(o.weight) FROM offcpu o LEFT JOIN state n ON"
		" n.id=o.state LEFT JOIN process_name p USING(pid) LEFT JOIN thread_name t"
		" USING(tid) GROUP BY o.pid, o.tid, 3, 4, 5, 6 ORDER BY o.pid, o.tid, 4, 5, 6, 3",
		"the recording has no waits with stacks (group cpu)", e);
}
