// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which kernel metrics move with the quality of service? The threads of one name in a process,
 * or in a leader and its workers, are one pool. Every series of a pool, and of a pool and resource,
 * is compared window by window with one series that matters (correlate.h): by Spearman's
 * coefficient, with the effective number of windows, or, where the quality has a step, by the
 * levels before and after it. With many series some move by chance, so Benjamini and Hochberg bound
 * the share of false ones. They are ranked by what they add to time when the service is bad, those
 * of the server first.
 *
 * Sleep and waits for work (receives and accepts of clients' sockets, epoll, poll, queue hand-offs)
 * are the complement of work and excluded, and so are counts of the very events that a rate is made
 * of.
 */
#include "correlate.h"

#include "pools.h"

#include "analyze/stats/stats.h"
#include "analyze/stats/stats_change.h"
#include "analyze/stats/stats_levels.h"
#include "analyze/stats/stats_series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN	     10
#define NAMED	     3 /* in the finding */
#define N_EFF_LEAST  10
#define FALSE_SHARE  0.05
#define LAGS	     3
#define QUARTER	     0.25
#define WINDOWS_MOST 20000
#define STEP_WINDOWS 2000 /* of a longer recording no step is looked for */
#define STEP_LEAST   5	  /* windows of a level */
#define STEP_SIZE    0.05 /* of the median */
#define STEP_SURE    0.001

static const struct metric metrics[] = {
	{ "rho", "", NEITHER_IS_BETTER, "Spearman's coefficient" },
	{ "from", "", NEITHER_IS_BETTER, "lower end of its 95 % interval" },
	{ "to", "", NEITHER_IS_BETTER, "upper end" },
	{ "q", "", LOWER_IS_BETTER, "false discovery rate at which it is accepted" },
	{ "added", "", LOWER_IS_BETTER,
	  "metric when the quality is bad, less when it is good, in the unit after its name" },
	{ "pearson", "", NEITHER_IS_BETTER, "Pearson's coefficient" },
	{ "n_eff", "", NEITHER_IS_BETTER, "effective sample size of the windows" },
	{ "lag", "ns", NEITHER_IS_BETTER,
	  "shift in time at which it is strongest, at most 3 windows; above 0: the metric comes "
	  "first" },
	{ "at low", "", NEITHER_IS_BETTER,
	  "median of the metric, in the unit after its name, in the windows where the quality series "
	  "is in its lowest quarter" },
	{ "at high", "", NEITHER_IS_BETTER, "median where it is in its highest quarter" },
	{ 0 },
};

struct candidate {
	struct pool_series of;
	struct correlation spearman, pearson;
	double p, q, lag, at_low, at_high, added;
	size_t n;
};

struct work {
	struct grid grid;
	struct quality qos;
	double *value; /* of the candidate at hand */
	double *x, *y, *scratch;
	size_t *at;			    /* windows of the pairs x, y */
	size_t edge[LEVELS_MAX + 1], parts; /* levels of the quality, by window; 1: no step */
	bool bad[LEVELS_MAX];
	struct candidate *all;
	size_t n, excluded;
};

/* ---- tests ---- */

/* Pairs of windows, the metric `lag` windows before the quality series; returns how many. */
static size_t pair(struct work *w, size_t from, size_t to, int lag)
{
	size_t i, n = 0;

	for (i = from; i < to; i++) {
		s64 at = (s64)i + lag;

		if (at < (s64)from || at >= (s64)to || w->grid.lossy[i] || w->grid.lossy[at] ||
		    isnan(w->qos.value[at]))
			continue;
		w->x[n] = w->value[i];
		w->at[n] = (size_t)at;
		w->y[n++] = w->qos.value[at];
	}
	return n;
}

/* Levels of the quality, if they differ by more than its own waves. */
static void find_step(struct work *w)
{
	size_t at[CHANGES_MAX], edge[LEVELS_MAX + 1] = { 0 }, i, k, n = pair(w, 0, w->grid.n, 0);
	double mean[LEVELS_MAX], low = INFINITY, high = -INFINITY;
	struct scatter s;

	w->parts = 1;
	if (n < 2 * STEP_LEAST || n > STEP_WINDOWS)
		return;
	memcpy(w->scratch, w->y, n * sizeof(*w->y));
	k = stats_changes(w->y, n, STEP_SIZE * fabs(stats_median(w->scratch, n)), STEP_LEAST, at);
	if (k == 0 || k >= LEVELS_MAX)
		return;
	for (i = 0; i < k; i++)
		edge[i + 1] = at[i];
	edge[k + 1] = n;
	for (i = 0; i <= k; i++) {
		mean[i] = stats_mean(w->y + edge[i], edge[i + 1] - edge[i]);
		low = fmin(low, mean[i]);
		high = fmax(high, mean[i]);
		w->edge[i] = w->at[edge[i]];
	}
	s = stats_levels_scatter(w->y, n, edge, k + 1);
	if (!(stats_levels_p(&s, high - low, (double)edge[1], (double)(n - edge[1])) < STEP_SURE))
		return;
	for (i = 0; i <= k; i++)
		w->bad[i] = (mean[i] > (low + high) / 2) != w->qos.rate;
	w->edge[k + 1] = w->grid.n;
	w->parts = k + 1;
}

/* p of the difference of n pairs' metric between the quality's bad and good levels; NAN: no step.
 */
static double step_p(const struct work *w, size_t n)
{
	size_t edge[LEVELS_MAX + 1] = { 0 }, i, part = 0, parts = 0, count[2] = { 0 };
	double sum[2] = { 0 };
	struct scatter s;

	if (w->parts < 2)
		return NAN;
	for (i = 0; i < n; i++) {
		size_t was = part;

		while (part + 1 < w->parts && w->at[i] >= w->edge[part + 1])
			part++;
		if (i > 0 && part != was)
			edge[++parts] = i;
		sum[w->bad[part]] += w->x[i];
		count[w->bad[part]]++;
	}
	edge[++parts] = n;
	if (count[0] < STEP_LEAST || count[1] < STEP_LEAST)
		return NAN;
	s = stats_levels_scatter(w->x, n, edge, parts);
	return stats_levels_p(&s, sum[1] / (double)count[1] - sum[0] / (double)count[0],
			      (double)count[1], (double)count[0]);
}

static void find_lag(struct work *w, struct candidate *x, size_t from, size_t to)
{
	double best = fabs(x->spearman.r), r;
	int lag;

	x->lag = 0;
	for (lag = -LAGS; lag <= LAGS; lag++) {
		size_t n = pair(w, from, to, lag);

		r = fabs(stats_spearman(w->x, w->y, n, w->scratch).r);
		if (lag && n > 2 * LAGS && r > best + 1e-9) {
			best = r;
			x->lag = (double)lag * (double)w->grid.step;
		}
	}
}

/* Medians of the metric where the quality series is lowest and highest. */
static void find_shift(struct work *w, struct candidate *x, size_t n)
{
	double scale = (x->of.count ? 1e9 : 100.0) / (double)w->grid.step; /* 1/s or % */
	double *low = w->value, *high = w->value + w->grid.n / 2; /* read again when needed */
	size_t i, n_low = 0, n_high = 0;

	if (!stats_ranks(w->y, n, w->scratch))
		return;
	for (i = 0; i < n; i++) {
		if (w->scratch[i] <= QUARTER * (double)n)
			low[n_low++] = w->x[i] * scale;
		else if (w->scratch[i] > (1 - QUARTER) * (double)n)
			high[n_high++] = w->x[i] * scale;
	}
	x->at_low = stats_median(low, n_low);
	x->at_high = stats_median(high, n_high);
	x->added = w->qos.rate ? x->at_low - x->at_high : x->at_high - x->at_low;
}

static void judge(struct analysis_ctx *c, struct work *w, struct candidate *x, bool whole)
{
	size_t from, to;
	double step;

	pools_values(c, &w->grid, &x->of, w->value, &from, &to);
	if (c->err < 0)
		return;
	x->n = pair(w, from, to, 0);
	x->spearman = stats_spearman(w->x, w->y, x->n, w->scratch);
	x->p = x->spearman.n_eff >= N_EFF_LEAST ? x->spearman.p : NAN;
	step = step_p(w, x->n);
	if (!isnan(step)) /* of two tests the better, for which it pays (Bonferroni) */
		x->p = isnan(x->p) ? step : fmin(2 * fmin(step, x->p), 1);
	if (!whole)
		return;
	x->pearson = stats_pearson(w->x, w->y, x->n);
	find_lag(w, x, from, to);
	x->n = pair(w, from, to, 0);
	find_shift(w, x, x->n);
}

/* Times first, by what they add: those of the server before those of others, which may be its
 * clients; then counts, by how they correlate. */
static int by_added(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	double r = x->of.count ? fabs(x->spearman.r) : x->added;
	double s = y->of.count ? fabs(y->spearman.r) : y->added;

	if (x->of.count != y->of.count)
		return x->of.count ? 1 : -1;
	if (!x->of.count && x->of.own != y->of.own)
		return x->of.own ? -1 : 1;
	if (r != s)
		return r > s ? -1 : 1;
	return strcmp(x->of.name, y->of.name);
}

/* Keeps the candidates that can be tested and, of these, fully judged ones that move in front. */
static size_t test_all(struct analysis_ctx *c, struct work *w)
{
	double *p, *q;
	size_t i, n = 0, found = 0;

	for (i = 0; i < w->n && c->err == 0; i++) {
		judge(c, w, &w->all[i], false);
		if (!isnan(w->all[i].p))
			w->all[n++] = w->all[i];
	}
	w->excluded = w->n - n;
	w->n = n;
	p = calloc(n + 1, sizeof(*p));
	q = calloc(n + 1, sizeof(*q));
	for (i = 0; p && q && i < n; i++)
		p[i] = w->all[i].p;
	if (c->err == 0 && (!p || !q || !stats_fdr(p, n, q)))
		c->err = err_set(c->e, ERR_FAIL, "out of memory for correlations");
	for (i = 0; c->err == 0 && i < n; i++) {
		w->all[i].q = q[i];
		if (!(q[i] < FALSE_SHARE))
			continue;
		judge(c, w, &w->all[i], true);
		w->all[found++] = w->all[i];
	}
	free(p);
	free(q);
	qsort(w->all, found, sizeof(*w->all), by_added);
	return found;
}

/* ---- answers ---- */

static void put_candidate(struct analysis_ctx *c, const struct candidate *x)
{
	const struct correlation *s = &x->spearman;
	const double n = (double)x->n;
	const struct number values[] = {
		{ "rho", s->r, NO_INTERVAL, n },
		{ "from", s->low, NO_INTERVAL, n },
		{ "to", s->high, NO_INTERVAL, n },
		{ "q", x->q, NO_INTERVAL, n },
		{ "added", x->added, NO_INTERVAL, n },
		{ "pearson", x->pearson.r, NO_INTERVAL, n },
		{ "n_eff", s->n_eff, NO_INTERVAL, n },
		{ "lag", x->lag, NO_INTERVAL, n },
		{ "at low", x->at_low, NO_INTERVAL, n },
		{ "at high", x->at_high, NO_INTERVAL, n },
	};

	put_all(c, x->of.about, x->of.name, values, sizeof(values) / sizeof(values[0]));
}

static void find_answer(struct analysis_ctx *c, const struct work *w, size_t found)
{
	static const char sql[] =
		"SELECT ts / 1e9 AS second, metric, tid, comm, resource_name, share, n"
		" FROM kernel_metric ORDER BY metric, tid, ts";
	struct value values[12] = {
		VALUE_TEXT("quality", w->qos.what),
		VALUE_NUMBER("found", (double)found, ""),
		VALUE_NUMBER("tested", (double)w->n, ""),
		VALUE_NUMBER("excluded", (double)w->excluded, ""),
		VALUE_NUMBER("step", (double)w->grid.step, "ns"),
		VALUE_NUMBER("windows", (double)w->grid.n, ""),
		VALUE_NUMBER("needed", N_EFF_LEAST, ""),
	};
	struct finding f = { .kind = !w->n   ? FINDING_too_short_to_correlate
				     : found ? FINDING_correlated
					     : FINDING_none_correlated,
			     .evidence = w->n ? CORRELATED : LIMIT,
			     .about = w->qos.about,
			     .sql = w->n ? sql : NULL,
			     .values = values };
	size_t i;

	for (i = 0; i < found && i < NAMED; i++) {
		values[7 + i] = (struct value)VALUE_TEXT("series", w->all[i].of.name);
		values[7 + i].of = w->all[i].of.about;
		values[7 + i].number = w->all[i].of.count ? NAN : w->all[i].added;
		values[7 + i].unit = "%";
	}
	add_finding(c, &f);
}

static int prepare(struct analysis_ctx *c, struct work *w, struct err *e)
{
	size_t n;
	int ret = grid_open(&w->grid, c->db, "syscalls sched", e);

	if (ret < 0)
		return ret;
	if (w->grid.n > WINDOWS_MOST)
		w->grid.n = WINDOWS_MOST;
	n = w->grid.n + 2;
	w->qos.value = calloc(n, sizeof(double));
	w->value = calloc(2 * n, sizeof(double));
	w->x = calloc(n, sizeof(double));
	w->y = calloc(n, sizeof(double));
	w->at = calloc(n, sizeof(*w->at));
	w->scratch = calloc(2 * n, sizeof(double));
	w->all = calloc(POOL_SERIES_MAX, sizeof(*w->all));
	if (!w->qos.value || !w->value || !w->x || !w->y || !w->at || !w->scratch || !w->all)
		return err_set(e, ERR_FAIL, "out of memory for correlations");
	ret = pools_open(c, e);
	return ret < 0 ? ret : pools_read(c, w->grid.step, e);
}

static void answer(struct analysis_ctx *c, struct work *w)
{
	struct pool_series *series = calloc(POOL_SERIES_MAX, sizeof(*series));
	size_t i, found;

	if (!series) {
		c->err = err_set(c->e, ERR_FAIL, "out of memory for correlations");
		return;
	}
	w->n = pools_series(c, series, w->qos.group, w->qos.rate);
	for (i = 0; i < w->n; i++)
		w->all[i].of = series[i];
	free(series);
	find_step(w);
	found = test_all(c, w);
	for (i = 0; i < found && i < SHOWN; i++)
		put_candidate(c, &w->all[i]);
	find_answer(c, w, found);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct work w = { 0 };
	bool found = false;

	c->err = prepare(c, &w, e);
	if (c->err == 0)
		quality_read(c, &w.grid, &w.qos, &found);
	if (c->err == 0 && found)
		answer(c, &w);
	else if (c->err == 0)
		add_limit(c, FINDING_nothing_to_correlate);
	grid_free(&w.grid);
	free(w.qos.value);
	free(w.value);
	free(w.x);
	free(w.y);
	free(w.at);
	free(w.scratch);
	free(w.all);
	return c->err;
}

const struct analysis analysis_correlate = {
	.name = "correlate",
	.doc = "Which kernel metrics move with the quality of service",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = SHOWN,
	.run = run,
};
