// SPDX-License-Identifier: GPL-2.0-or-later
#include "upstream_ends.h"

#include "format/grow.h"

#include <stdlib.h>

int upstream_ends_add(struct upstream_ends *x, s64 of, s64 ts, const struct fd_row *at,
		      struct err *e)
{
	if (GROW(x->v, x->n, "ends of connections", e) < 0)
		return ERR_FAIL;
	x->v[x->n++] = (struct upstream_end){ of, ts, at->row, at->remote };
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct upstream_end *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

void upstream_ends_sort(struct upstream_ends *x)
{
	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), by_time);
}

const struct upstream_end *upstream_ends_last(const struct upstream_ends *x, s64 of, s64 from,
					      s64 to)
{
	const struct upstream_end key = { .of = of, .ts = to };
	size_t low = 0, high = x->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (by_time(&x->v[mid], &key) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low && x->v[low - 1].of == of && x->v[low - 1].ts >= from ? &x->v[low - 1] : NULL;
}

void upstream_ends_free(struct upstream_ends *x)
{
	free(x->v);
	*x = (struct upstream_ends){ 0 };
}
