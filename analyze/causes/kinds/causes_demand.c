// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Run-queue latency that a service makes itself: of its threads, the share of their CPU time that
 * is new. While other threads of the service have the CPU, that share of the waits is made by it. A
 * thread that is preempted waits for others because it needs the CPU for longer: of these waits,
 * too, that share, as far as the others use no more CPU time than before. The rest is made by
 * others.
 */
#include "analyze/causes/causes.h"

#include <math.h>

/* ns of a mean unit, by the process that had the CPU. */
struct queueing {
	double own, others, preempted; /* preempted: by others, of these */
};

static struct queueing queueing_of(struct samples *d, bool baseline)
{
	struct queueing q = { 0 };
	struct pieces p = { 0 };
	size_t i;

	samples_pieces(d, baseline, CATEGORY_runq, &p);
	for (i = 0; i < p.n; i++) {
		const struct piece *x = &p.v[i];
		double ns = x->weight * (x->to - x->from);

		if (x->object > 0 && samples_is_own(d, names_of(&d->names, x->object).pid)) {
			q.own += ns;
			continue;
		}
		q.others += ns;
		/* 0: the CPU was idle, so no demand for it made the thread wait */
		q.preempted += x->state == SPAN_preempted && x->object ? ns : 0;
	}
	pieces_free(&p);
	return q;
}

int causes_demand(struct samples *d, const struct load *l, struct demand *ret, struct err *e)
{
	struct queueing slow, baseline;
	double own, others, preempted, all;
	struct quota quota;
	int r;

	*ret = (struct demand){ 0 };
	if (d->cmp->of[CATEGORY_runq].value <= 0 || load_new(l) <= 0)
		return 0;
	r = samples_quota(d, &quota, e);
	if (r < 0 || quota.explains)
		return r;
	slow = queueing_of(d, false);
	baseline = queueing_of(d, true);
	own = fmax(slow.own - baseline.own, 0);
	others = fmax(slow.others - baseline.others, 0);
	preempted = fmin(fmax(slow.preempted - baseline.preempted, 0), others);
	all = own + others;
	if (all <= 0)
		return 0;
	ret->own = load_new(l) * own / all;
	if (l->others > 0)
		ret->others = load_new(l) * preempted / fmax(l->others, 1) / all;
	return 0;
}
