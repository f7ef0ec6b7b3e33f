// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack_brief.h"

#include "calltree.h"

#include <string.h>

#define NEARLY_ALL 0.9 /* of the different stacks: some are of another start of the thread */

struct rooting {
	const struct callstacks *s;
	struct calltree tree; /* a: stacks of samples, b: of waits */
	u32 leaf;	      /* of the first stack */
	bool differ;	      /* there are two call paths or more */
};

static int on_stack(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct rooting *r = arg;
	u32 codes[STACK_DEEP], at, n = callstacks_codes(r->s, sqlite3_column_int64(q, 0), 0, codes);

	n = callstacks_useful(r->s, codes, n);
	if (!n)
		return 0;
	if (calltree_path(&r->tree, 0, codes, n, &at, e) < 0)
		return ERR_FAIL;
	if (sqlite3_column_int(q, 1))
		r->tree.v[at].b++;
	else
		r->tree.v[at].a++;
	r->differ |= r->leaf && r->leaf != at;
	r->leaf = at;
	return 0;
}

int stack_root_read(struct stack_root *ret, const struct callstacks *s, sqlite3 *db, s64 tid,
		    struct err *e)
{
	static const char sql[] =
		"SELECT user_stack, 0 FROM sample WHERE tid=?1 AND user_stack > 0 AND NOT flags & 1 UNION"
		" SELECT user_stack, 1 FROM offcpu WHERE tid=?1 AND user_stack > 0 AND NOT flags & 1";
	struct rooting r = { .s = s };
	int failed = db_each(db, e, on_stack, &r, sql, "i", tid);
	u32 k, at = 0;

	ret->n = 0;
	if (failed == 0 && r.differ) {
		calltree_sum(&r.tree);
		/* callees stand after their callers */
		for (k = 1; k <= r.tree.n && ret->n < STACK_DEEP; k++)
			if (r.tree.v[k].parent == at &&
			    r.tree.v[k].a >= NEARLY_ALL * r.tree.v[0].a &&
			    r.tree.v[k].b >= NEARLY_ALL * r.tree.v[0].b) {
				at = k;
				ret->codes[ret->n++] = r.tree.v[k].code;
			}
	}
	calltree_free(&r.tree);
	return failed;
}

static u32 below_root(const struct stack_root *r, const u32 *codes, u32 n)
{
	u32 i = 0;

	while (i < r->n && i < n && codes[n - 1 - i] == r->codes[i])
		i++;
	return n - i;
}

bool stack_root_has(const struct stack_root *r, const struct callstacks *s, const u32 *codes, u32 n)
{
	u32 useful[STACK_DEEP];

	n = n < STACK_DEEP ? n : STACK_DEEP;
	memcpy(useful, codes, n * sizeof(*useful));
	return below_root(r, useful, callstacks_useful(s, useful, n)) == 0;
}

static bool repeats(const u32 *codes, u32 n, u32 i)
{
	u32 k;

	for (k = 0; k < n; k++)
		if (k != i && codes[k] == codes[i])
			return true;
	return false;
}

u32 stack_brief(const struct stack_root *r, const struct callstacks *s, u32 *codes, u32 n,
		bool wait)
{
	u32 all[STACK_DEEP], below, from = 0, own, left = 0, i;

	n = n < STACK_DEEP ? n : STACK_DEEP;
	memcpy(all, codes, n * sizeof(*all));
	below = wait ? below_root(r, all, n) : n;
	while (from < below && s->codes[all[from]].kernel)
		from++;
	own = from;
	while (wait && own < below && s->codes[all[own]].runtime)
		own++;
	if (own == below) { /* of the C library alone: what there is, unless all stacks have it */
		if (below < n)
			return 0;
		own = from;
	}
	/* the innermost one stays: it may be recursive, or an interpreter that calls the C library
	 */
	from = !wait ? 0 : own > from && repeats(all, n, own) ? own - 1 : own;
	for (i = from; i < below; i++)
		if (i <= own || all[i] == callstacks_gap(s) || !repeats(all, n, i))
			codes[left++] = all[i];
	return left;
}

int stack_wait_say(struct buf *out, sqlite3 *db, s64 tid, s64 stack, bool rooted, struct err *e)
{
	struct callstacks stacks = { 0 };
	struct stack_root root = { 0 };
	u32 codes[STACK_DEEP], n;
	int ret = callstacks_load(&stacks, db, e);

	if (ret == 0 && !rooted)
		ret = stack_root_read(&root, &stacks, db, tid, e);
	if (ret == 0) {
		n = callstacks_codes(&stacks, stack, 0, codes);
		n = callstacks_useful(&stacks, codes, n);
		n = stack_brief(&root, &stacks, codes, n, true);
		ret = callstacks_say(out, &stacks, codes, n, e);
	}
	callstacks_free(&stacks);
	return ret;
}
