// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Slow units against usual ones. Which are slow: those of windows that the user names; else those
 * of the verdict's; else those after a change of level (of windows of time: in what they are spent
 * on); else the tail, against the middle half; and if units are all comparable, all of them,
 * against nothing. What they spend more time on has an interval from a bootstrap of blocks of time,
 * because neighbours in time share their fate.
 */
#include "causes_compare.h"

#include "analyze/stats/stats_boot.h"
#include "analyze/stats/stats_change.h"

#include <math.h>
#include <string.h>

#define REPETITIONS 1000
#define LEAST_SLOW  10	 /* units */
#define LEAST_USUAL 10	 /* units */
#define RISE	    1.3	 /* a level so much above the lowest is called degraded */
#define NEAR	    1.15 /* a level so near to the lowest belongs to the baseline */
#define SHORTEST    4	 /* blocks of one level */
#define GAP_MOST    3	 /* blocks without slow units within one stretch */
#define SPANS	    0.5	 /* of the time looked at: a unit so long is none of the slow ones in it */
#define SPANS_MOST  0.1	 /* of the units; if more are so long, that is how they are */
#define LONG_TAIL   1.5	 /* the tail's mean in the middle's: from here on there is a tail */

/* Sums of one block as categories; [N_CATEGORIES] is the wall time. */
struct part {
	double n;
	double queued;
	double sum[N_CATEGORIES + 1];
};

struct resampling {
	struct part slow[UNIT_BLOCKS], usual[UNIT_BLOCKS];
	int category; /* N_CATEGORIES: wall time */
	bool share;
	bool against_nothing;
};

static void fill(struct part *p, const struct unit_sums *s)
{
	int i;

	*p = (struct part){ .n = s->n, .queued = s->queued };
	for (i = 0; i < N_SPENT; i++)
		p->sum[category_of(i)] += s->spent[i];
	p->sum[N_CATEGORIES] = s->wall;
}

/* Mean of the slow units minus mean of the usual ones, from the blocks that were drawn. */
static double difference(const struct resampling *r, const size_t *order, size_t n, int category)
{
	double slow = 0, n_slow = 0, usual = 0, n_usual = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		slow += r->slow[order[i]].sum[category];
		n_slow += r->slow[order[i]].n;
		usual += r->usual[order[i]].sum[category];
		n_usual += r->usual[order[i]].n;
	}
	if (n_slow <= 0 || (n_usual <= 0 && !r->against_nothing))
		return NAN;
	return slow / n_slow - (r->against_nothing ? 0 : usual / n_usual);
}

static double estimate(void *arg, const size_t *order, size_t n)
{
	const struct resampling *r = arg;
	double d = difference(r, order, n, r->category), whole = 0;
	int i;

	if (!r->share)
		return d;
	/* of all that became more: what became less is no cause, and shares stay below 1 */
	for (i = 0; i < N_CATEGORIES; i++)
		whole += fmax(difference(r, order, n, i), 0);
	return whole > 0 && d > -whole ? d / whole : NAN;
}

/* The blocks whose middle lies in the window. */
static void mark(const struct units *u, const struct moment *window, bool *marks)
{
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		s64 middle = b * u->block + u->block / 2;

		marks[b] = middle >= window->from && middle < window->to;
	}
}

static double units_in(const struct units *u, const bool *marks)
{
	double n = 0;
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++)
		n += marks[b] ? u->blocks[b].all.n : 0;
	return n;
}

static double mean_in(const struct units *u, const bool *marks)
{
	double wall = 0, n = 0;
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++)
		if (marks[b]) {
			wall += u->blocks[b].all.wall;
			n += u->blocks[b].all.n;
		}
	return n > 0 ? wall / n : 0;
}

/*
 * Levels of the typical duration (the geometric mean: a few slow units are a tail, no level) in
 * time; true if some windows are clearly above the lowest level. */
static bool find_change(const struct units *u, struct comparison *c)
{
	double x[UNIT_BLOCKS], level[CHANGES_MAX + 1], lowest = INFINITY, highest = 0, bar;
	size_t at[UNIT_BLOCKS + 1], changes[CHANGES_MAX], n = 0, k, i, parts;
	size_t edge[CHANGES_MAX + 2];
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++)
		if (u->blocks[b].all.n > 0) {
			x[n] = u->blocks[b].logs / u->blocks[b].all.n;
			at[n++] = b;
		}
	parts = stats_changes(x, n, log(NEAR), SHORTEST, changes) + 1;
	if (parts < 2)
		return false;
	edge[0] = 0;
	edge[parts] = n;
	memcpy(edge + 1, changes, (parts - 1) * sizeof(*changes));
	for (k = 0; k < parts; k++) {
		for (level[k] = 0, i = edge[k]; i < edge[k + 1]; i++)
			level[k] += x[i] / (edge[k + 1] - edge[k]);
		lowest = fmin(lowest, level[k]);
		highest = fmax(highest, level[k]);
	}
	/* nearer to the highest level than to the lowest, as ratios */
	bar = fmax(lowest + log(RISE), (lowest + highest) / 2);
	for (k = 0; k < parts; k++)
		for (i = edge[k]; i < edge[k + 1]; i++) {
			c->is_usual[at[i]] = level[k] <= lowest + log(NEAR);
			c->is_slow[at[i]] = level[k] >= bar;
		}
	/* a typical unit may be shorter while many wait: a server that is stopped now and then
	 * finds its requests in batches; what is then slow is the tail */
	return units_in(u, c->is_slow) >= LEAST_SLOW && units_in(u, c->is_usual) >= LEAST_USUAL &&
	       mean_in(u, c->is_slow) > NEAR * mean_in(u, c->is_usual);
}

/* The slow windows of the verdict, and of the others those of the lowest level. */
static enum basis take_judged(const struct units *u, const struct windows *w, struct comparison *c)
{
	bool slow[UNIT_BLOCKS] = { false }, one[UNIT_BLOCKS];
	bool levels = !w->tail && find_change(u, c);
	int i, b;

	c->when = w->judged[0];
	for (i = 0; i < w->n_judged; i++) {
		c->when.from = fmin(c->when.from, w->judged[i].from);
		c->when.to = fmax(c->when.to, w->judged[i].to);
		mark(u, &w->judged[i], one);
		for (b = 0; b < UNIT_BLOCKS; b++)
			slow[b] |= one[b];
	}
	for (b = 0; b < UNIT_BLOCKS; b++) {
		c->is_usual[b] = !slow[b] && (!levels || c->is_usual[b]);
		c->is_slow[b] = slow[b];
	}
	c->n_slow = units_in(u, c->is_slow);
	c->n_usual = units_in(u, c->is_usual);
	if (c->n_slow < LEAST_SLOW || c->n_usual < LEAST_USUAL)
		return BASIS_FEW;
	return w->tail || mean_in(u, c->is_slow) > NEAR * mean_in(u, c->is_usual) ? BASIS_CHANGE
										  : BASIS_SAME;
}

static void choose(const struct units *u, const struct windows *w, struct comparison *c)
{
	double slow = 0, n_slow = 0, middle = 0, n_middle = 0;
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		slow += u->blocks[b].tail.wall;
		n_slow += u->blocks[b].tail.n;
		middle += u->blocks[b].middle.wall;
		n_middle += u->blocks[b].middle.n;
	}
	c->basis = BASIS_NOTHING;
	if (u->n < LEAST_SLOW)
		return;
	if (w->degraded.to) {
		mark(u, &w->degraded, c->is_slow);
		mark(u, &w->baseline, c->is_usual);
		if (units_in(u, c->is_slow) > 0 && units_in(u, c->is_usual) > 0)
			c->basis = BASIS_GIVEN;
		return;
	}
	if (w->n_judged) { /* what other units spent their time on says nothing of these */
		c->basis = take_judged(u, w, c);
		return;
	}
	if (w->all) {
		/* one wait may replace another */
		c->replaced = w->waits && causes_windows(u, c) && causes_replaced(u, c);
		c->basis = c->replaced ? BASIS_CHANGE : BASIS_ALL;
		c->waits = w->waits && !c->replaced;
		return;
	}
	if (u->kind == UNIT_WINDOW ? causes_windows(u, c) : find_change(u, c)) {
		c->basis = BASIS_CHANGE;
		return;
	}
	c->basis = n_slow >= LEAST_SLOW && n_middle >= LEAST_USUAL &&
				   slow / n_slow >= LONG_TAIL * middle / n_middle
			   ? BASIS_TAIL
			   : BASIS_ALL;
}

static void fill_blocks(const struct units *u, const struct comparison *c, struct resampling *r)
{
	static const struct unit_sums none;
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		const struct unit_block *k = &u->blocks[b];

		if (c->basis == BASIS_TAIL) {
			fill(&r->slow[b], &k->tail);
			fill(&r->usual[b], &k->middle);
		} else if (c->basis == BASIS_ALL) {
			fill(&r->slow[b], &k->all);
			if (c->waits)
				r->slow[b].sum[CATEGORY_cpu] = r->slow[b].sum[CATEGORY_queue] = 0;
		} else {
			fill(&r->slow[b], c->is_slow[b] ? &k->all : &none);
			fill(&r->usual[b], c->is_usual[b] ? &k->all : &none);
		}
	}
	r->against_nothing = c->basis == BASIS_ALL;
}

/* The stretch of slow windows with most slow time, for people; short gaps do not end it. */
static struct moment worst_stretch(const struct units *u, const struct comparison *c)
{
	struct moment best = { 0 };
	double sum = 0, most = 0;
	int b, start = -1, last = -1;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		if (!c->is_slow[b] || u->blocks[b].all.n <= 0)
			continue;
		if (last < 0 || b - last > GAP_MOST) {
			start = b;
			sum = 0;
		}
		last = b;
		sum += u->blocks[b].all.wall;
		if (sum > most) {
			most = sum;
			best = (struct moment){ start * u->block, (b + 1) * u->block };
		}
	}
	return best;
}

static void sum_up(const struct units *u, struct comparison *c, const struct resampling *r)
{
	struct part slow = { 0 }, usual = { 0 };
	int b, i;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		slow.n += r->slow[b].n;
		usual.n += r->usual[b].n;
		slow.queued += r->slow[b].queued;
		usual.queued += r->usual[b].queued;
		for (i = 0; i <= N_CATEGORIES; i++) {
			slow.sum[i] += r->slow[b].sum[i];
			usual.sum[i] += r->usual[b].sum[i];
		}
	}
	c->when = worst_stretch(u, c);
	c->n_slow = slow.n;
	c->n_usual = usual.n;
	c->slow = slow.n > 0 ? slow.sum[N_CATEGORIES] / slow.n : 0;
	c->usual = usual.n > 0 ? usual.sum[N_CATEGORIES] / usual.n : 0;
	c->slow_queued = slow.n > 0 ? slow.queued / slow.n : 0;
	c->usual_queued = usual.n > 0 ? usual.queued / usual.n : 0;
	for (i = 0; i < N_CATEGORIES; i++) {
		c->of[i].slow = slow.n > 0 ? slow.sum[i] / slow.n : 0;
		c->of[i].usual = usual.n > 0 ? usual.sum[i] / usual.n : 0;
	}
}

/* Without units so long, the slow ones are slow no more: the long ones are what is slow. */
static bool are_the_slow(const struct units *u, const struct comparison *c, double least)
{
	double wall = 0, n = 0;
	int b, i;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		const struct unit_block *k = &u->blocks[b];

		if (!c->is_slow[b])
			continue;
		wall += k->all.wall;
		n += k->all.n;
		for (i = 0; i < UNIT_SAMPLES; i++)
			if (k->longest[i].unit.dur >= least) {
				wall -= (double)k->longest[i].unit.dur;
				n--;
			}
	}
	return n <= 0 || wall / n <= NEAR * mean_in(u, c->is_usual);
}

/*
 * A unit that lasts through the time looked at (a transaction that holds what others wait for, a
 * request that subscribes) would outweigh all others in their means.
 */
static void exclude(struct units *u, const struct comparison *c)
{
	struct moment all = { 0, UNIT_BLOCKS * u->block };
	double least;
	int b, i, n = 0;

	if (c->basis == BASIS_GIVEN || c->basis == BASIS_CHANGE)
		all = worst_stretch(u, c);
	least = SPANS * (all.to - all.from);
	for (b = 0; b < UNIT_BLOCKS; b++)
		for (i = 0; i < UNIT_SAMPLES; i++)
			n += u->blocks[b].longest[i].unit.dur >= least;
	if (least <= 0 || n > SPANS_MOST * u->n ||
	    (c->basis == BASIS_CHANGE && are_the_slow(u, c, least)))
		return;
	u->too_long = least;
	for (b = 0; b < UNIT_BLOCKS; b++)
		units_exclude(u, b, least);
}

void causes_compare(struct units *u, const struct windows *w, struct comparison *c)
{
	static struct resampling none;
	struct resampling r = none;
	struct boot boot;
	int i;

	*c = (struct comparison){ 0 };
	choose(u, w, c);
	if (c->basis >= BASIS_FEW)
		return;
	if (c->basis == BASIS_TAIL || c->basis == BASIS_ALL) {
		memset(c->is_slow, 0, sizeof(c->is_slow));
		memset(c->is_usual, 0, sizeof(c->is_usual));
	}
	if (u->kind != UNIT_WINDOW)
		exclude(u, c);
	fill_blocks(u, c, &r);
	sum_up(u, c, &r);
	for (i = 0; i < N_CATEGORIES; i++) {
		struct excess *x = &c->of[i];

		x->value = x->slow - x->usual;
		if (x->slow <= 0 && x->usual <= 0)
			continue;
		r.category = i;
		r.share = false;
		boot = stats_boot(UNIT_BLOCKS, stats_boot_block(UNIT_BLOCKS), REPETITIONS, estimate,
				  &r);
		x->low = boot.low;
		x->high = boot.high;
		r.share = true;
		boot = stats_boot(UNIT_BLOCKS, stats_boot_block(UNIT_BLOCKS), REPETITIONS, estimate,
				  &r);
		x->share = boot.value;
		x->share_low = boot.low;
		x->share_high = boot.high;
	}
}
