// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree.h"

#include <stdlib.h>

int calltree_node(struct calltree *t, u32 parent, u32 code, u32 *ret, struct err *e)
{
	u64 key = (u64)parent << 32 | code;
	uintptr_t known = (uintptr_t)idmap_get(&t->index, key);
	struct tree_node *grown;

	*ret = known ? (u32)known : parent;
	if (known || t->n >= CALLTREE_MAX)
		return 0;
	if (!(t->n & (t->n + 1))) {
		grown = realloc(t->v, (2 * (size_t)t->n + 2) * sizeof(*grown));
		if (!grown)
			return err_set(e, ERR_FAIL, "out of memory for stacks");
		if (!t->n)
			grown[0] = (struct tree_node){ 0 };
		t->v = grown;
	}
	t->v[++t->n] = (struct tree_node){ .parent = parent, .code = code };
	*ret = t->n;
	return idmap_put(&t->index, key, (void *)(uintptr_t)t->n, CALLTREE_MAX, e);
}

int calltree_path(struct calltree *t, u32 from, const u32 *codes, u32 n, u32 *ret, struct err *e)
{
	int r = 0;

	*ret = from;
	while (n-- && r == 0)
		r = calltree_node(t, *ret, codes[n], ret, e);
	return r;
}

void calltree_sum(struct calltree *t)
{
	u32 k;

	for (k = t->n; k > 0; k--) {
		t->v[t->v[k].parent].a += t->v[k].a;
		t->v[t->v[k].parent].b += t->v[k].b;
	}
}

u32 calltree_heavy(const struct calltree *t, u32 *codes, double *shares)
{
	u32 k, at = 0, n = 0;

	/* callees stand after their callers */
	for (k = 1; k <= t->n; k++)
		if (t->v[k].parent == at && t->v[k].a > 0 && t->v[k].a >= t->v[0].a / 2)
			at = k;
	for (k = at; k && n < STACK_DEEP; k = t->v[k].parent) {
		shares[n] = t->v[0].a > 0 ? t->v[k].a / t->v[0].a : 0;
		codes[n++] = t->v[k].code;
	}
	return n;
}

void calltree_free(struct calltree *t)
{
	free(t->v);
	idmap_free(&t->index);
}
