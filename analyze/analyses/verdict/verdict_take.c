// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clients also wait for answers on their way, which is in no latency of the server. It comes first
 * where it is more time, over all requests, than pauses or a change added.
 */
#include "verdict.h"

#include <math.h>

bool verdict_outweighs(const struct judged *j, double harm)
{
	if (j->given || j->finding)
		return false;
	if (j->status == STATUS_NONE || j->status == STATUS_UNCHANGED)
		return true;
	if (j->status != STATUS_PROBLEM)
		return false;
	return (j->kind == VERDICT_slower || j->kind == VERDICT_pauses ||
		j->kind == VERDICT_tail) &&
	       harm > verdict_harm(j);
}

void verdict_take(struct judged *j, enum verdict_kind kind, double start, double end, double n)
{
	if (j->status == STATUS_PROBLEM)
		j->outweighed = j->kind;
	j->slower_from = j->start;
	j->slower_to = j->end;
	j->slower_ratio = j->names ? NAN : j->ratio;
	verdict_forget_change(j);
	j->status = STATUS_PROBLEM;
	j->kind = kind;
	j->start = start;
	j->end = end;
	j->n = n;
}
