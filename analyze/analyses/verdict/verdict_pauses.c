// SPDX-License-Identifier: GPL-2.0-or-later
/* Which pauses count. */
#include "verdict_pauses.h"

#include "analyze/stats/stats.h"

#include <stdlib.h>

#define RECOUNTS     8
#define MOSTLY	     0.5 /* of a request, or of a pause */
#define NEARLY_ALL   0.9 /* of a pause */
#define COUNT_MARGIN 0.5 /* share of requests outside pauses, else pauses are how it serves */

static double length(const struct judged_pause *p)
{
	return (double)(p->end - p->start);
}

/*
 * One request that only waits for input is no pause of the server. Without an answer until the end
 * of the recording several may have none as well, unless such requests had answers before.
 */
static bool serves(const struct analysis_ctx *c, const struct judged *j,
		   const struct judged_pause *p)
{
	/* the first requests of new connections are no sample of how it serves */
	if ((double)p->end <= j->opened && j->opened > j->begins && length(p) < EDGE_LEAST)
		return false;
	return !p->usual && !p->by_name && !p->awaited &&
	       (p->slept < 0.5 || (p->waiting > 1 && (p->end < c->duration || j->overdue > 1)));
}

/* The lower end of the 95 % interval of a number of events, as a share of it. */
static double surely(int events)
{
	return events ? stats_events_low(events) / events : 0;
}

/* held: only those in which others waited and its thread did not serve: its own work is no pause.
 */
static bool is_short(const struct judged_pause *p, const struct limits *l, double usual, bool held)
{
	return length(p) >= SHORT_PAUSE &&
	       (held ? p->waiting > 1 && p->ran < 0.5 && p->slept < 0.5 &&
				length(p) >= l->factor * usual
		     : length(p) >= SHORT_TIMES * usual);
}

/*
 * Between answers that all take long, short times without an answer are no pauses: most requests
 * that touch one would have to end soon after it.
 */
static bool requests_wait_for_pauses(const struct judged *j)
{
	double soon = 0, longer = 0;
	int i;

	for (i = 0; i < j->whole; i++) {
		soon += j->pauses[i].inside.n;
		longer += (double)j->pauses[i].longer;
	}
	return soon >= longer;
}

/* Which of the whole server count: long ones each, short ones if all of them are a share of the
 * time. */
static void count_whole(struct analysis_ctx *c, struct judged *j, const struct limits *l, bool held)
{
	double p99 = verdict_quantile(&j->outside, 0.99), usual = isnan(p99) ? 0 : p99, sum = 0;
	int i, n = 0;

	for (i = 0; i < j->whole; i++) {
		struct judged_pause *p = &j->pauses[i];

		if (serves(c, j, p) && is_short(p, l, usual, held)) {
			sum += length(p);
			n++;
		}
	}
	sum *= requests_wait_for_pauses(j) ? surely(n) : 0;
	for (i = 0; i < j->whole; i++) {
		struct judged_pause *p = &j->pauses[i];
		bool many = sum >= SHORT_SHARE * (double)c->duration && is_short(p, l, usual, held);
		bool is_long = length(p) >= l->pause && length(p) >= l->factor * usual;

		p->counts = serves(c, j, p) && (many || is_long);
	}
}

/* Until the recording ends, while several wait that were due. */
static bool is_hang(const struct analysis_ctx *c, const struct judged *j,
		    const struct judged_pause *p)
{
	return p->end >= c->duration && length(p) >= DUE_LEAST && j->due > 1;
}

/* Where most requests touch pauses, these are how it serves, but for rare ones, and a hang. */
static void count_rare(struct analysis_ctx *c, struct judged *j, const struct limits *l)
{
	int i;

	for (i = 0; i < j->whole; i++) {
		struct judged_pause *p = &j->pauses[i];

		p->counts =
			(p->rare || is_hang(c, j, p)) && serves(c, j, p) && length(p) >= l->pause;
	}
}

/* ns that requests waited in it: what they waited before and afterwards is not its doing. */
static double waited(const struct judged_pause *p)
{
	return fmin(p->part_waited, (double)p->waiting * length(p));
}

/* One of all requests of a name comes before one of some of them that is about as long. */
static double for_choice(const struct judged_pause *p)
{
	return p->stall ? NEARLY_ALL * length(p) : length(p);
}

static int longest_first(const void *a, const void *b)
{
	const struct judged_pause *x = *(struct judged_pause *const *)a,
				  *y = *(struct judged_pause *const *)b;

	if (for_choice(x) != for_choice(y))
		return for_choice(x) > for_choice(y) ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Of parts that pause at the same time, the one that does for longest. */
static void drop_overlaps(struct judged *j)
{
	struct judged_pause *of[JUDGED_PAUSES];
	int i, k, n = 0, kept = 0;

	for (i = j->whole; i < j->n_pauses; i++)
		if (j->pauses[i].counts)
			of[n++] = &j->pauses[i];
	qsort(of, (size_t)n, sizeof(*of), longest_first);
	for (i = 0; i < n; i++) {
		for (k = 0; k < kept; k++)
			if (of[k]->start < of[i]->end && of[i]->start < of[k]->end)
				break;
		of[i]->counts = k == kept;
		if (k == kept)
			of[kept++] = of[i];
	}
}

/* ns of p in other. */
static double within(const struct judged_pause *p, const struct judged_pause *other)
{
	return fmax(0, fmin((double)p->end, (double)other->end) -
			       fmax((double)p->start, (double)other->start));
}

/* A pause of the whole server has most of this one of a part. */
static bool is_covered(const struct judged *j, const struct judged_pause *p)
{
	int i;

	for (i = 0; i < j->whole; i++)
		if (within(p, &j->pauses[i]) > MOSTLY * length(p))
			return true;
	return false;
}

/* All that wait too long in pauses of the whole server have this name; 0: not so. */
static s64 only_harmed(const struct judged *j)
{
	s64 name = 0;
	int i;

	for (i = 0; i < j->whole; i++) {
		const struct judged_pause *p = &j->pauses[i];

		if (!p->counts)
			continue;
		if (p->harmed <= 0 || (name && p->harmed != name))
			return 0;
		name = p->harmed;
	}
	return name;
}

/* A request of another name ended it, which had not waited. */
static bool is_passed(const struct judged_pause *p, s64 name)
{
	return (p->passing[0] && p->passing[0] != name) || (p->passing[1] && p->passing[1] != name);
}

/* Pauses of the whole server are what answers of others left of fewer ones of this name. */
static bool are_of_name(const struct judged *j, s64 name)
{
	int i, k, parts = 0, whole = 0, passed = 0;

	for (i = j->whole; i < j->n_pauses; i++)
		parts += j->pauses[i].counts;
	for (i = 0; i < j->whole; i++) {
		const struct judged_pause *p = &j->pauses[i];

		if (!p->counts)
			continue;
		for (k = j->whole; k < j->n_pauses; k++)
			if (j->pauses[k].counts && within(p, &j->pauses[k]) >= MOSTLY * length(p))
				break;
		if (k == j->n_pauses)
			return false;
		whole++;
		passed += is_passed(p, name);
	}
	return parts && whole > parts && passed >= whole - parts;
}

static void count_long_parts(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			     s64 name)
{
	int i;

	for (i = j->whole; i < j->n_pauses; i++) {
		struct judged_pause *p = &j->pauses[i];

		p->counts = serves(c, j, p) && length(p) >= l->pause &&
			    length(p) >= l->factor * p->part_usual &&
			    (name ? p->name == name : !is_covered(j, p));
	}
	drop_overlaps(j);
}

/* Of parts, long ones; either those or the whole server's, in whichever requests waited longer. */
static void count_parts(struct analysis_ctx *c, struct judged *j, const struct limits *l)
{
	s64 name = only_harmed(j);
	double sum[2] = { 0 };
	int i;

	if (name)
		count_long_parts(c, j, l, name);
	if (name && are_of_name(j, name)) {
		for (i = 0; i < j->whole; i++)
			j->pauses[i].counts = false;
		return;
	}
	count_long_parts(c, j, l, 0);
	for (i = 0; i < j->n_pauses; i++)
		sum[i >= j->whole] += j->pauses[i].counts ? waited(&j->pauses[i]) : 0;
	for (i = 0; i < j->n_pauses; i++)
		j->pauses[i].counts &= (i >= j->whole) == (sum[1] > sum[0]);
}

static bool few_are_outside(const struct judged *j)
{
	return (double)j->outside.n < COUNT_MARGIN * j->requests;
}

/*
 * One pause that happens to end in this recording is no share of the time: events count, with their
 * interval. None counts that is the usual state of a busy host.
 */
static void count(struct analysis_ctx *c, struct judged *j, const struct limits *l, bool held)
{
	int i;

	j->counted = 0;
	j->paused = j->waited = 0;
	j->start = j->end = NAN;
	if (few_are_outside(j)) {
		count_rare(c, j, l);
	} else {
		count_whole(c, j, l, held);
		count_parts(c, j, l);
	}
	for (i = 0; i < j->n_pauses; i++) {
		const struct judged_pause *p = &j->pauses[i];

		if (!p->counts)
			continue;
		j->counted++;
		j->paused += length(p);
		j->waited += (double)p->victims;
		j->start = isnan(j->start) ? (double)p->start : j->start;
		j->end = (double)p->end;
	}
}

/* Without those that are usual, others may count. */
static int recount(struct analysis_ctx *c, struct judged *j, const struct limits *l, bool held,
		   struct err *e)
{
	int i, some = 1;

	for (i = 0; i < RECOUNTS && some > 0; i++) {
		some = verdict_by_name(c, j, l, e);
		if (some > 0)
			count(c, j, l, held);
	}
	return some < 0 ? ERR_FAIL : 0;
}

int verdict_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	int ret = verdict_arrivals(c, j, l, e);

	if (ret == 0 && few_are_outside(j))
		ret = verdict_rare_pauses(c, j, l, e);
	if (ret < 0)
		return ret;
	count(c, j, l, false);
	ret = verdict_busy_pauses(c, j, l, e);
	if (ret == 0 && j->steady)
		count(c, j, l, false);
	if (ret == 0)
		ret = recount(c, j, l, false, e);
	if (ret == 0 && only_harmed(j))
		count(c, j, l, false); /* it is known who waits in them */
	return ret;
}

int verdict_held_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e)
{
	int i, ret;

	count(c, j, l, true);
	ret = recount(c, j, l, true, e);
	if (ret == 0)
		ret = verdict_outside(c, j, MOSTLY, e);
	if (ret == 0 && j->counted && j->p99 - j->p99_outside >= l->latency &&
	    j->p99 >= l->factor * j->p99_outside)
		return 1;
	for (i = 0; i < j->n_pauses; i++)
		j->pauses[i].counts = false;
	j->counted = 0;
	j->paused = j->waited = 0;
	j->start = j->end = NAN;
	j->p99_outside = j->p99;
	return ret;
}

double verdict_added_outside(const struct judged *j)
{
	double added = j->added;
	int i, k;

	for (i = 0; i < j->n_pauses; i++) {
		const struct judged_pause *p = &j->pauses[i];

		for (k = 0; k < j->ranges && p->counts && judged_is_part(p); k++)
			if (j->range[k][0] < (double)p->end && j->range[k][1] > (double)p->start) {
				added -= p->part_waited;
				break;
			}
	}
	return added;
}

double verdict_also_paused(const struct judged *j, double *ret_longest)
{
	double n = 0;
	int i;

	*ret_longest = NAN;
	for (i = 0; i < j->n_pauses; i++)
		if (j->pauses[i].counts && !judged_is_part(&j->pauses[i])) {
			*ret_longest =
				fmax(*ret_longest, (double)(j->pauses[i].end - j->pauses[i].start));
			n++;
		}
	return n > 0 ? n : NAN;
}

void verdict_range_of_pauses(struct judged *j)
{
	int i, first = -1;

	for (i = 0; i < j->n_pauses; i++) {
		if (!j->pauses[i].counts)
			continue;
		first = first < 0 ? i : first;
		j->end = (double)j->pauses[i].end;
	}
	j->start = (double)j->pauses[first].start;
}
