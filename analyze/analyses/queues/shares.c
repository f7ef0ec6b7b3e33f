// SPDX-License-Identifier: GPL-2.0-or-later
#include "shares.h"

#include "analyze/analyses/verdict/verdict_levels.h"

#include <math.h>

int shares_window(const struct shares *s, double at)
{
	return (int)fmin(fmax(at / s->width, 0), s->n - 1);
}

void shares_add(struct shares *s, double at, double part)
{
	int i = shares_window(s, at);

	s->all[i]++;
	s->part[i] += part;
}

bool shares_range(const struct shares *s, double step, double ret[2])
{
	struct levels v = { .n = 0 };
	double low, high, most = 0;
	int i, first, last = -1;

	for (i = 0; i < s->n; i++) {
		if (s->all[i] <= 0)
			continue;
		v.window[v.n] = i;
		v.x[v.n++] = s->part[i] / s->all[i];
	}
	if (v.n < 4 * LEVELS_SHORTEST)
		return false;
	levels_find(&v, step);
	if (!levels_differ(&v, LEVELS_SHORTEST, LEVELS_ERROR, &low, &high) || low <= 0)
		return false;
	while (levels_range(&v, last + 1, &first, &last)) {
		double part = 0;

		for (i = first; i <= last; i++)
			part += s->part[v.window[i]];
		if (part <= most)
			continue;
		most = part;
		ret[0] = v.window[first] * s->width;
		ret[1] = (v.window[last] + 1) * s->width;
	}
	return most > 0;
}

/* The next window that has some, after as many without as the shortest level; i: none. */
static int next_with(const struct shares *s, int i, int step)
{
	int at, without = 0;

	for (at = i + step; at >= 0 && at < s->n && without < LEVELS_SHORTEST; at += step) {
		if (s->part[at] > 0)
			return at;
		without += s->all[at] > 0;
	}
	return i;
}

void shares_widen(const struct shares *s, int *first, int *last)
{
	int at;

	while ((at = next_with(s, *first, -1)) != *first)
		*first = at;
	while ((at = next_with(s, *last, 1)) != *last)
		*last = at;
}
