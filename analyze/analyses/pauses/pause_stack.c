// SPDX-License-Identifier: GPL-2.0-or-later
/* The function in which the thread of the pauses was on a CPU. */
#include "pause_root.h"

#include "analyze/store/stacks/calltree.h"
#include "analyze/store/stacks/function_waits.h"
#include "analyze/store/stacks/stack_brief.h"

struct pause_stacks {
	struct callstacks stacks;
	struct calltree tree;
	const struct judged *j;
	s64 in_kernel; /* samples with a kernel stack were recorded */
	double n;
};

static bool in_pause(const struct judged *j, s64 ts)
{
	int i;

	for (i = 0; i < j->n_pauses; i++)
		if (j->pauses[i].counts && ts >= j->pauses[i].start && ts < j->pauses[i].end)
			return true;
	return false;
}

static int on_stack(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct pause_stacks *p = arg;
	u32 codes[STACK_DEEP], at = 0, n;
	int ret;

	if (!in_pause(p->j, sqlite3_column_int64(q, 3)))
		return 0;
	n = callstacks_sampled(&p->stacks, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			       p->in_kernel > 0, codes);
	if (!n)
		codes[n++] = 0;
	ret = calltree_path(&p->tree, 0, codes, n, &at, e);
	if (ret < 0)
		return ret;
	p->tree.v[at].a += sqlite3_column_double(q, 2);
	p->n++;
	return 0;
}

/* What a function of a path does. */
static const char *collects(const struct callstacks *s, const u32 *codes, u32 n)
{
	const char *label = NULL;
	u32 i;

	for (i = 0; i < n && !label; i++)
		if (codes[i] && codes[i] < callstacks_gap(s))
			label = function_collects(s->codes[codes[i]].name);
	return label;
}

int pause_stack(struct buf *out, double *ret_share, double *ret_n, sqlite3 *db,
		const struct judged *j, s64 tid, struct err *e)
{
	const char *label;

	return pause_stack_label(out, &label, ret_share, ret_n, db, j, tid, e);
}

int pause_stack_label(struct buf *out, const char **ret_label, double *ret_share, double *ret_n,
		      sqlite3 *db, const struct judged *j, s64 tid, struct err *e)
{
	static const char sql[] = "SELECT user_stack, kernel_stack, weight, ts FROM sample WHERE"
				  " tid=?";
	struct pause_stacks p = { .j = j };
	double shares[STACK_DEEP] = { 0 };
	u32 codes[STACK_DEEP], n, most;
	int ret = callstacks_load(&p.stacks, db, e);

	*ret_label = NULL;
	if (ret == 0 && p.stacks.n)
		ret = db_int(db, &p.in_kernel, e,
			     "SELECT EXISTS (SELECT 1 FROM sample WHERE kernel_stack > 0)", "");
	if (ret == 0 && p.stacks.n)
		ret = db_each(db, e, on_stack, &p, sql, "i", tid);
	if (ret == 0 && p.tree.n) {
		calltree_sum(&p.tree);
		n = calltree_heavy(&p.tree, codes, shares);
		*ret_share = shares[0];
		*ret_label = p.n >= PAUSE_SAMPLES ? collects(&p.stacks, codes, n) : NULL;
		most = callstacks_most(&p.stacks, codes, shares, n);
		n = callstacks_useful(&p.stacks, codes, n);
		n = stack_brief(NULL, &p.stacks, codes, n, false);
		*ret_n = p.n;
		if (p.n >= PAUSE_SAMPLES)
			ret = callstacks_running(out, &p.stacks, codes, n, most, e);
	}
	calltree_free(&p.tree);
	callstacks_free(&p.stacks);
	return ret;
}
