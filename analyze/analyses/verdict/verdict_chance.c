// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server that uses nearly all of its CPU time has long queues by chance: some more requests than
 * usual arrive, and the queue takes long to drain. A slow time range is one of these if requests
 * wait in it for those before them, and nothing else differs from the rest by more than its chance:
 * neither arrivals nor CPU time per request, nor what other programs take. So it is as well for
 * the CPU time that was used in it: else the rest has room that no chance uses up.
 */
#include "verdict_work.h"

#define MOST 0.5 /* of the added latency */

/*
 * The slow windows are those in the ranges. What waited at the start is on no side, nor is the time
 * without load before the first arrival or after the last one.
 */
static void take_ranges(const struct judged *j, struct levels *v)
{
	int i, first = 0, last = j->n_windows - 1;

	while (first < last && !(j->traffic[first].arrived > 0))
		first++;
	while (last > first && !(j->traffic[last].arrived > 0))
		last--;
	for (i = 0; i < j->n_windows; i++) {
		v->window[v->n] = i;
		v->slow[v->n] =
			verdict_in_ranges(JUDGED_RANGES(j), j->ranges, (i + 0.5) * j->width);
		v->neither[v->n++] = i * j->width < j->chance.drained || i < first || i > last;
	}
}

static bool waits_for_others(const struct work *l)
{
	const struct work_side *in = &l->in, *out = &l->out;

	return in->queued / in->answered - out->queued / out->answered >=
	       MOST * (in->waited / in->answered - out->waited / out->answered);
}

/* By windows: more in them than elsewhere, or too few to know. */
static bool is_more(struct levels *v)
{
	double low, high;

	return !levels_differ(v, LEVELS_SHORTEST, LEVELS_CHOSEN, &low, &high) || low > 0;
}

/* CPU time beyond that of all requests on average; run-queue latency beyond that of all CPU time.
 */
static bool is_dearer(const struct work *l, const struct judged *j, struct levels *v)
{
	double each = (l->in.run + l->out.run) / (l->in.answered + l->out.answered);
	double runq = (l->in.runq + l->out.runq) / (l->in.run + l->out.run);
	bool dearer;
	int i;

	for (i = 0; i < v->n; i++)
		v->x[i] = l->run[v->window[i]] - each * j->traffic[v->window[i]].exchanges;
	dearer = is_more(v);
	for (i = 0; i < v->n; i++)
		v->x[i] = l->runq[v->window[i]] - runq * l->run[v->window[i]];
	return dearer || is_more(v);
}

int verdict_chance(struct analysis_ctx *c, struct judged *j, bool *ret_chance, struct err *e)
{
	struct work l = { 0 };
	struct levels v = { .n = 0 };
	const struct work_side *in = &l.in, *out = &l.out;
	double more;
	int ret = work_read(&l, c, j, e);

	take_ranges(j, &v);
	work_divide(&l, j, &v);
	more = in->run + in->runq - (out->run + out->runq) * in->time / out->time;
	*ret_chance = ret == 0 && in->run > 0 && out->run > 0 && work_is_full(&l, j, &v) &&
		      work_is_usual(&l, 0, 0) && waits_for_others(&l) &&
		      more <= work_by_chance(&l) && !is_dearer(&l, j, &v);
	if (*ret_chance)
		j->chance.used = 100 * (in->run + out->run) / (l.threads * (in->time + out->time));
	return ret;
}

void verdict_chance_take(struct judged *j)
{
	bool level = j->status == STATUS_UNCHANGED &&
		     (j->kind == VERDICT_cost || j->kind == VERDICT_queue);

	if (!(j->chance.used > 0) || !(j->status == STATUS_NONE || level))
		return;
	j->status = STATUS_UNCHANGED;
	j->kind = VERDICT_capacity;
}
