// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What most of the latency of slow time ranges is may start later than they do. What was slow
 * before has another reason: the problem starts at its first fact.
 */
#include "verdict_levels.h"

bool verdict_start_at(struct judged *j, double ts, const struct limits *l)
{
	struct levels v = { .n = 0 };
	int i;

	for (i = 0; i < j->n_windows; i++) {
		bool in = verdict_in_ranges(JUDGED_RANGES(j), j->ranges, (i + 0.5) * j->width);

		if (j->windows[i].n <= 0)
			continue;
		v.window[v.n] = i;
		v.slow[v.n] = in && (i + 1) * j->width > ts;
		v.neither[v.n] = in && !v.slow[v.n];
		v.n++;
	}
	return verdict_judge_sides(j, &v, 0, l);
}
