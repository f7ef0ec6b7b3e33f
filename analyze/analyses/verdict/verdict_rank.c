// SPDX-License-Identifier: GPL-2.0-or-later
/* Which server comes first: the one that harmed its clients most. */
#include "verdict_names.h"

#include "analyze/analyses/failing/verdict_failing.h"

#include <math.h>

static double at_least(double ns)
{
	return ns > 0 ? ns : 0;
}

double verdict_harm(const struct judged *j)
{
	const struct verdict_connect *k = &j->connect;

	switch (j->kind) {
	case VERDICT_pauses:
	case VERDICT_slower:
		return at_least(j->added) + at_least(j->spent);
	case VERDICT_locked:
		return at_least(j->locked.added);
	case VERDICT_tail:
		return at_least(j->late.n * (j->late.p99 - j->late.p99_otherwise));
	case VERDICT_stuck:
		return at_least(j->added);
	case VERDICT_hang:
		return at_least(j->n * j->paused);
	case VERDICT_overload:
	case VERDICT_pool:
		return at_least(j->requests * j->queued);
	case VERDICT_standstill:
		return at_least(j->paused);
	case VERDICT_resent:
		return at_least(j->n * j->resent.late);
	case VERDICT_unacked:
		return at_least(j->unacked.waited);
	case VERDICT_nagle:
		return at_least(j->n * j->nagle.late);
	case VERDICT_connect:
		return isnan(k->latency) ? k->failed / 100 * k->requests * REQUEST_FAILED
					 : k->latency / 100 * k->requests * (j->queued + j->served);
	default:
		return at_least(j->n * REQUEST_FAILED);
	}
}

bool verdict_crash_before(const struct judged *j, double start, double end)
{
	return j->crash.ended > 0 && j->crash.ts <= end && j->crash.ts >= start - CRASH_ENDS;
}

bool verdict_crash_first(const struct judged *j)
{
	return j->crash.faults > 0 && j->kind == VERDICT_slower && !j->given &&
	       j->closed.n * REQUEST_FAILED > verdict_harm(j);
}

/*
 * Whatever the latency did: all answers to requests of a name report errors then, none otherwise;
 * or they end connections, which clients open again.
 */
static bool fails_entirely(const struct verdict_errors *m)
{
	return m->connections || m->of_name ||
	       (m->name_n >= m->n && m->name_n >= m->name_of && !m->name_before);
}

/*
 * All that is slower came before answers of the name ended early: those that do take less time.
 * Else they are said next to it; unless the server itself ends all answers of the name.
 */
static bool complete_take_longer(const struct judged *j)
{
	bool of_name = !j->names || (j->names->n == 1 && j->names->id[0] == j->more.name);
	double end = j->end;
	int i;

	if (j->names && of_name && j->more.kept > 0)
		return true;
	for (i = 0; i < j->ranges; i++)
		end = fmax(end, j->range[i][1]);
	return of_name && end <= j->more.start + j->width;
}

int verdict_errors_first(struct analysis_ctx *c, const struct judged *j, bool *ret_first,
			 struct err *e)
{
	double start = INFINITY;
	int i;

	*ret_first = false;
	if (!(j->more.n > 0) || j->more.refused || j->kind != VERDICT_slower || j->given ||
	    j->more.n * REQUEST_FAILED <= verdict_harm(j))
		return 0;
	if (j->more.cut > 0) {
		*ret_first = complete_take_longer(j);
		return 0;
	}
	for (i = 0; i < j->ranges; i++)
		start = j->range[i][1] > j->more.start ? fmin(start, j->range[i][0]) : start;
	*ret_first = j->more.usual || fails_entirely(&j->more) ||
		     verdict_crash_before(j, j->more.start, j->more.end);
	/* what was slow before may be why connections, and open files, became many */
	return *ret_first || start < j->more.start - 2 * j->width
		       ? 0
		       : verdict_calls_explain(c, j, ret_first, e);
}

static int class_of(const struct judged *j)
{
	return j->status == STATUS_PROBLEM ? 0 : j->status == STATUS_UNCHANGED ? 1 : 2;
}

int verdict_by_rank(const void *a, const void *b)
{
	const struct judged *x = a, *y = b;
	double m = verdict_harm(x), n = verdict_harm(y);

	if (class_of(x) != class_of(y))
		return class_of(x) - class_of(y);
	if (x->status == STATUS_PROBLEM && m != n && !isnan(m) && !isnan(n))
		return m > n ? -1 : 1;
	if (x->requests != y->requests)
		return x->requests > y->requests ? -1 : 1;
	return x->about.id < y->about.id ? -1 : x->about.id > y->about.id;
}
