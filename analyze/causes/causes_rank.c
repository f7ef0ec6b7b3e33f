// SPDX-License-Identifier: GPL-2.0-or-later
/* Which category of time comes first. */
#include "causes.h"

#include <math.h>

bool causes_counts(const struct comparison *c, enum category cat)
{
	const struct excess *x = &c->of[cat];

	return cat != CATEGORY_unknown && x->share >= LEAST_SHARE && (isnan(x->low) || x->low > 0);
}

/* Categories by their value, largest first. */
static void rank(const double value[N_CATEGORIES], enum category order[N_CATEGORIES])
{
	int i, k;

	for (i = 0; i < N_CATEGORIES; i++) {
		for (k = i; k > 0 && value[order[k - 1]] < value[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

/* What many threads share, so that one holds up another while it waits for it. */
static bool is_shared(enum category cat)
{
	return cat == CATEGORY_disk || cat == CATEGORY_runq || cat == CATEGORY_client;
}

int causes_rank(struct drill *d, const struct comparison *c, enum category order[N_CATEGORIES],
		double passed[N_CATEGORIES], struct err *e)
{
	double value[N_CATEGORIES], ends[N_CATEGORIES];
	int i, k, ret = 0;

	for (i = 0; i < N_CATEGORIES; i++) {
		value[i] = c->of[i].value;
		passed[i] = 0;
	}
	for (i = 0; i < N_CATEGORIES && ret == 0; i++) {
		if (!causes_counts(c, i) || is_shared(i) || i == CATEGORY_cpu)
			continue;
		ret = drill_ends(d, i, ends, e);
		for (k = 0; k < N_CATEGORIES; k++)
			if (is_shared(k) && causes_counts(c, k)) {
				value[k] += ends[k] * c->of[i].value;
				value[i] -= ends[k] * c->of[i].value;
				passed[k] += ends[k] * c->of[i].share;
			}
	}
	rank(value, order);
	return ret;
}
