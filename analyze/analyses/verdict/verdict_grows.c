// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A queue that grows until the recording ends has no level: a server that gets more requests than
 * it answers. What is recorded of it: from some instant on one or more requests wait to be read
 * until the last one is. A queue that drains has that too, after a pause or a burst: its last
 * request waits for less than the pauses took, and latency falls.
 */
#include "verdict_levels.h"

bool verdict_outlasts(const struct judged *j, double ts)
{
	double paused = 0;
	int i;

	for (i = 0; i < j->n_pauses; i++)
		if (j->pauses[i].counts)
			paused += (double)(j->pauses[i].end - j->pauses[i].start);
	return j->chance.full <= ts && j->chance.last_wait > paused;
}

int verdict_grows(const struct judged *j, struct levels *v)
{
	int first, last = -1, high = 0, i;

	while (levels_range(v, last + 1, &first, &last))
		high = first;
	if (last != v->n - 1 || !verdict_outlasts(j, v->window[last] * j->width))
		return -1;
	for (i = 0; i < v->n; i++) {
		bool full = v->window[i] * j->width >= j->chance.full;

		v->slow[i] = i >= high && full;
		v->neither[i] = (i >= high) != full;
	}
	v->grows = true;
	return high;
}
