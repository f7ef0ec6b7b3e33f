// SPDX-License-Identifier: GPL-2.0-or-later
/* Which category of time comes first. */
#include "causes.h"

#include <math.h>

#define PASSED_LEAST 0.02 /* of the added latency: less stays with the first wait */

static bool is_more(const struct comparison *c, enum category cat)
{
	const struct excess *x = &c->of[cat];

	return cat != CATEGORY_unknown && x->share >= LEAST_SHARE && (isnan(x->low) || x->low > 0);
}

bool causes_counts(const struct comparison *c, const struct ranking *r, enum category cat)
{
	double share = isnan(c->of[cat].share) ? 0 : fmax(0, c->of[cat].share);
	double got = r->passed[cat].share + r->moved[cat].share;

	return (is_more(c, cat) && share + got >= LEAST_SHARE) ||
	       (got >= PASSED_LEAST && share + got >= LEAST_SHARE);
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

/* A part of what a category added, with the same part of its interval. */
static void take(struct portion *p, const struct excess *x, double part)
{
	p->share += part * x->share;
	p->low += part * (isnan(x->share_low) ? 0 : x->share_low);
	p->high += part * (isnan(x->share_high) ? x->share : x->share_high);
}

/* Moves what the waits of a category end with to these ends. */
static void pass_on(const struct comparison *c, struct ranking *r, const struct slept *s,
		    enum category cat, double value[N_CATEGORIES])
{
	const struct excess *x = &c->of[cat];
	double share[N_CATEGORIES] = { 0 };
	u32 i;
	int k;

	for (i = 0; i < s->chain.n; i++)
		if (chain_is_end(&s->chain.links[i]))
			share[category_of(s->chain.links[i].state)] +=
				(double)s->chain.links[i].ns / s->chain.total;
	for (k = 0; k < N_CATEGORIES; k++) {
		if (!category_is_shared(k) || share[k] * x->share < PASSED_LEAST)
			continue;
		value[k] += share[k] * x->value;
		value[cat] -= share[k] * x->value;
		take(&r->passed[k], x, share[k]);
	}
}

/* This part of what a category added counts as of another one. Returns its share of all. */
static double move(struct ranking *r, const struct comparison *c, enum category from,
		   enum category to, double part, double value[N_CATEGORIES])
{
	const struct excess *x = &c->of[from];

	if (isnan(x->share) || part * x->share < PASSED_LEAST)
		return 0;
	value[to] += part * x->value;
	value[from] -= part * x->value;
	take(&r->moved[to], x, part);
	take(&r->moved[from], x, -part);
	return part * x->share;
}

/* What an event loop waits for while threads of its own process are on a CPU. */
static void move_pool(struct samples *d, const struct load *l, struct ranking *r,
		      const struct slept *s, double value[N_CATEGORIES])
{
	double part = 0;
	u32 i;

	for (i = 0; i < s->chain.n && d->u->processes <= 1; i++) {
		const struct link *k = &s->chain.links[i];

		if (chain_is_end(k) && k->state == SPAN_run &&
		    samples_is_own(d, names_of(&d->names, k->tid).pid))
			part += (double)k->ns / s->chain.total;
	}
	r->queued += move(r, d->cmp, CATEGORY_poll, CATEGORY_cpu, part * load_new(l), value);
}

/* Moves the run-queue latency that the service itself makes to its time on a CPU. */
static int move_demand(struct samples *d, const struct load *l, struct ranking *r,
		       double value[N_CATEGORIES], struct err *e)
{
	int ret = causes_demand(d, l, &r->demand, e);

	if (ret == 0)
		r->queued += move(r, d->cmp, CATEGORY_runq, CATEGORY_cpu,
				  r->demand.own + r->demand.others, value);
	return ret;
}

/* Moves the CPU time of reading from a disk to the waits for it. */
static int move_reads(struct samples *d, struct ranking *r, double value[N_CATEGORIES],
		      struct err *e)
{
	double part;
	int ret = 0;

	if (!is_more(d->cmp, CATEGORY_disk))
		return 0;
	ret = causes_reads(d, &part, e);
	if (ret == 0)
		r->reads = move(r, d->cmp, CATEGORY_cpu, CATEGORY_disk, part, value);
	return ret;
}

/*
 * Moves the run-queue latency right after a stop: a tracer that stops the thread at each call makes
 * it wait for a CPU each time as well.
 */
static void move_stops(struct samples *d, struct ranking *r, double value[N_CATEGORIES])
{
	double after = 0, all = 0, ns;
	const struct span *p;
	size_t i;
	u8 last;

	/* each may be short */
	if (!(d->cmp->of[CATEGORY_stopped].value > 0) || d->cmp->of[CATEGORY_stopped].low <= 0)
		return;
	for (i = 0; i < d->n; i++) {
		const struct unit *u = &d->slow[i];

		last = SPAN_unknown;
		for (p = spans_at(&d->spans, u->tid, u->ts); p && p->ts < unit_sent(u);
		     p = spans_next(&d->spans, p)) {
			ns = span_within(p, u->ts, unit_sent(u));
			all += category_of(p->state) == CATEGORY_runq ? ns : 0;
			after += p->state == SPAN_woken && last == SPAN_stopped ? ns : 0;
			last = p->state;
		}
	}
	if (all > 0)
		move(r, d->cmp, CATEGORY_runq, CATEGORY_stopped, after / all, value);
}

/*
 * Waits of a category, along their wakers. A green thread that waits has no thread: the one that
 * goes on with it was idle until another gave it work, which may have waited for a disk.
 */
static int follow_waits(struct samples *d, enum category cat, struct slept *s, struct pieces *ends,
			struct err *e)
{
	struct buf green = { 0 };
	int ret = cat == CATEGORY_other ? samples_green(d, &green, e) : 0;

	if (green.len)
		slept_follow_idle(s, d, ends);
	else
		slept_follow(s, d, cat, ends);
	buf_free(&green);
	return ret;
}

int causes_rank(struct samples *d, const struct load *l, struct ranking *r, struct err *e)
{
	const struct comparison *c = d->cmp;
	double value[N_CATEGORIES];
	struct slept s;
	int i, ret = 0;

	*r = (struct ranking){ 0 };
	for (i = 0; i < N_CATEGORIES; i++)
		value[i] = c->of[i].value;
	for (i = 0; i < N_CATEGORIES && ret == 0; i++) {
		if (!is_more(c, i) || category_is_shared(i) || i == CATEGORY_cpu ||
		    i == CATEGORY_queue)
			continue;
		ret = follow_waits(d, i, &s, &r->ends, e);
		pass_on(c, r, &s, i, value);
		if (i == CATEGORY_poll)
			move_pool(d, l, r, &s, value);
		slept_free(&s);
	}
	move_stops(d, r, value);
	if (ret == 0)
		ret = move_reads(d, r, value, e);
	if (ret == 0)
		ret = move_demand(d, l, r, value, e);
	rank(value, r->order);
	return ret;
}
