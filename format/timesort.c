// SPDX-License-Identifier: GPL-2.0-or-later
#include "timesort.h"

#include "planes.h"

#include <stdlib.h>

struct by_time {
	u64 ts;
	u32 at;
};

static int compare_times(const void *a, const void *b)
{
	const struct by_time *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

int timesort(u32 *at, u32 n, const u8 *data, struct err *e)
{
	struct by_time *list = malloc((n + 1) * sizeof(*list));
	u32 i;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for sorting a block");
	for (i = 0; i < n; i++)
		list[i] = (struct by_time){ planes_load(data + at[i]), at[i] };
	qsort(list, n, sizeof(*list), compare_times);
	for (i = 0; i < n; i++)
		at[i] = list[i].at;
	free(list);
	return 0;
}
