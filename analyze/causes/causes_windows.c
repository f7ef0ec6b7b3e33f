// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows of time are all as long: a thread without requests (a batch job, a stage of a pipeline)
 * is slow where it is held up more. Parts of the recording with their own mix of states are looked
 * for, at most three: before, during and after. Where the waits for something differ between them,
 * the parts with more of them are the slow ones; where only computing, sleeping and
 * waiting for work do, it is not known which is better, and the first part is called the usual one.
 * What comes and goes more often is no change: then all of the time is split.
 *
 * A recording without a change must stay without: parts differ only if Student's t says so for the
 * windows that are worth something, and by two and a half times what windows scatter (the parts
 * were chosen to differ, which t knows nothing of).
 */
#include "causes_compare.h"

#include "analyze/stats/stats_levels.h"

#include <math.h>

#define PARTS	    3
#define LEAST	    0.1	 /* of the time: a smaller change does not matter */
#define NEAR	    0.05 /* of the time: so near to the lowest level belongs to it */
#define CLEAR	    2.5	 /* times the scatter of windows */
#define SIGNIFICANT 0.00001

/* Not computing, but held up: what it waits for would have to do something. */
static bool is_held(enum category cat)
{
	return cat != CATEGORY_cpu && cat != CATEGORY_timer && cat != CATEGORY_poll &&
	       cat != CATEGORY_server && cat != CATEGORY_other && cat != CATEGORY_unknown;
}

/* The windows that can be used, in order: shares of their time. */
struct mix {
	size_t n;
	int block[UNIT_BLOCKS];
	double share[UNIT_BLOCKS][N_CATEGORIES];
	double value[UNIT_BLOCKS]; /* share of the categories that differ between parts */
};

/* Parts, their levels and how sure it is that these differ. */
struct parts {
	size_t n, edge[LEVELS_MAX + 1];
	double level[PARTS], base, top;
	bool waits;
	double p;
};

static void read_mix(struct mix *m, const struct units *u)
{
	double all;
	int b, i;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		const double *spent = u->blocks[b].all.spent;

		if (u->blocks[b].all.n <= 0)
			continue;
		for (all = 0, i = 0; i < N_SPAN_STATES; i++)
			all += spent[i];
		for (i = 0; i < N_SPAN_STATES && all > 0; i++)
			m->share[m->n][category_of(i)] += spent[i] / all;
		m->block[m->n++] = b;
	}
}

static double mean_of(const double *x, size_t stride, size_t from, size_t to)
{
	double sum = 0;
	size_t i;

	for (i = from; i < to; i++)
		sum += x[i * stride];
	return to > from ? sum / (to - from) : 0;
}

/* The sum of the categories that count, window by window, and its levels. */
static void take_value(struct mix *m, struct parts *p, const bool counts[N_CATEGORIES])
{
	size_t i;
	int c;

	for (i = 0; i < m->n; i++)
		for (m->value[i] = 0, c = 0; c < N_CATEGORIES; c++)
			m->value[i] += counts[c] ? m->share[i][c] : 0;
	p->base = INFINITY;
	p->top = -INFINITY;
	for (i = 0; i < p->n; i++) {
		p->level[i] = mean_of(m->value, 1, p->edge[i], p->edge[i + 1]);
		p->base = fmin(p->base, p->level[i]);
		p->top = fmax(p->top, p->level[i]);
	}
}

/* Waits, if they differ; else whatever the part least like the first has more of than that. */
static void choose_value(struct mix *m, struct parts *p)
{
	bool counts[N_CATEGORIES];
	double more, most = -1, d[N_CATEGORIES];
	size_t k;
	int c;

	for (c = 0; c < N_CATEGORIES; c++)
		counts[c] = is_held(c);
	take_value(m, p, counts);
	p->waits = p->top - p->base >= LEAST;
	if (p->waits)
		return;
	for (k = 1; k < p->n; k++) {
		for (more = 0, c = 0; c < N_CATEGORIES; c++) {
			const double *x = &m->share[0][c];

			d[c] = mean_of(x, N_CATEGORIES, p->edge[k], p->edge[k + 1]) -
			       mean_of(x, N_CATEGORIES, 0, p->edge[1]);
			more += fmax(d[c], 0);
		}
		for (c = 0; c < N_CATEGORIES && more > most; c++)
			counts[c] = d[c] > 0;
		most = fmax(most, more);
	}
	take_value(m, p, counts);
	p->base = p->level[0];
}

static bool is_usual(const struct parts *p, size_t k)
{
	return p->level[k] <= p->base + NEAR;
}

static bool is_slow(const struct parts *p, size_t k)
{
	return !is_usual(p, k) && p->level[k] >= (p->base + p->top) / 2;
}

/* Fills p->p; 1: no difference that matters. */
static void test_parts(const struct mix *m, struct parts *p)
{
	struct scatter s = stats_levels_scatter(m->value, m->n, p->edge, p->n);
	double slow = 0, n_slow = 0, usual = 0, n_usual = 0, w, d;
	size_t k;

	p->p = 1;
	for (k = 0; k < p->n; k++) {
		w = p->edge[k + 1] - p->edge[k];
		slow += is_slow(p, k) ? w * p->level[k] : 0;
		n_slow += is_slow(p, k) ? w : 0;
		usual += is_usual(p, k) ? w * p->level[k] : 0;
		n_usual += is_usual(p, k) ? w : 0;
	}
	if (n_slow <= 0 || n_usual <= 0)
		return;
	d = slow / n_slow - usual / n_usual;
	if (d >= LEAST && d >= CLEAR * s.sd)
		p->p = stats_levels_p(&s, d, n_slow, n_usual);
}

/* Neighbouring parts of one kind are one stretch. */
static int take_stretches(const struct mix *m, const struct parts *p, s64 block,
			  bool (*is)(const struct parts *p, size_t k), struct moment *to)
{
	int n = 0;
	size_t k;

	for (k = 0; k < p->n; k++) {
		s64 end = (m->block[p->edge[k + 1] - 1] + 1) * block;

		if (!is(p, k))
			continue;
		if (n && k && is(p, k - 1))
			to[n - 1].to = end;
		else
			to[n++] = (struct moment){ m->block[p->edge[k]] * block, end };
	}
	return n;
}

static void mark_windows(const struct mix *m, const struct parts *p, const struct units *u,
			 struct comparison *c)
{
	struct found_windows *f = &c->found;
	size_t k, i;

	for (k = 0; k < p->n; k++)
		for (i = p->edge[k]; i < p->edge[k + 1]; i++) {
			c->is_slow[m->block[i]] = is_slow(p, k);
			c->is_usual[m->block[i]] = is_usual(p, k);
		}
	f->waits = p->waits;
	f->n_slow = take_stretches(m, p, u->block, is_slow, f->slow);
	f->n_usual = take_stretches(m, p, u->block, is_usual, f->usual);
}

/* What would have been seen, from the scatter of the waits in all windows. */
static void say_limits(struct mix *m, const struct units *u, struct found_windows *f)
{
	struct parts whole = { .n = 1, .edge = { 0, m->n } };
	bool held[N_CATEGORIES];
	struct scatter s;
	double least;
	int c;

	for (c = 0; c < N_CATEGORIES; c++)
		held[c] = is_held(c);
	take_value(m, &whole, held);
	s = stats_levels_scatter(m->value, m->n, whole.edge, 1);
	least = fmax(LEAST, CLEAR * s.sd);
	f->worth = m->n / s.tau;
	f->brief_ns = WINDOWS_LEAST * u->block;
	f->half = f->brief = INFINITY;
	if (m->n < 2 * WINDOWS_LEAST)
		return;
	f->half = stats_levels_power(&s, least, SIGNIFICANT, m->n / 2.0, m->n / 2.0);
	f->brief = stats_levels_power(&s, least, SIGNIFICANT, WINDOWS_LEAST,
				      (double)m->n - WINDOWS_LEAST);
}

bool causes_replaced(const struct units *u, const struct comparison *c)
{
	double n[2] = { 0 }, wall[2] = { 0 }, spent[2][N_CATEGORIES] = { 0 };
	int b, i;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		const struct unit_sums *s = &u->blocks[b].all;
		bool slow = c->is_slow[b];

		if (!slow && !c->is_usual[b])
			continue;
		n[slow] += s->n;
		wall[slow] += s->wall;
		for (i = 0; i < N_SPENT; i++)
			spent[slow][category_of(i)] += s->spent[i];
	}
	for (i = 0; i < N_CATEGORIES; i++)
		if (is_held(i) && spent[1][i] / n[1] - spent[0][i] / n[0] >= LEAST * wall[0] / n[0])
			return true;
	return false;
}

bool causes_windows(const struct units *u, struct comparison *c)
{
	static const struct mix none;
	struct mix m = none;
	struct parts p, best = { .p = 1 };
	size_t k;

	read_mix(&m, u);
	c->found.n = m.n;
	for (k = 2; k <= PARTS; k++) {
		p = (struct parts){ .n = k };
		if (!stats_levels_cut(&m.share[0][0], m.n, N_CATEGORIES, k, WINDOWS_LEAST, p.edge))
			break;
		choose_value(&m, &p);
		test_parts(&m, &p);
		best = p.p < best.p ? p : best;
	}
	if (best.p < SIGNIFICANT)
		mark_windows(&m, &best, u, c);
	else
		say_limits(&m, u, &c->found);
	return best.p < SIGNIFICANT;
}
