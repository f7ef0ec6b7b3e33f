// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which kernel metrics have another distribution in slow windows than in baseline windows, and by
 * how much? (Landau et al., arXiv 2605.25298.) Slow windows are those of the problem that the
 * verdict found, or of --degraded; baseline windows are the others, or those of --baseline. Every
 * series of pools (pools.h) is compared by Cliff's delta; Holm bounds the probability of one false
 * row.
 *
 * Series that follow the load are none: if slow windows have more or fewer requests, a series that
 * moves in the same direction counts only if it does so per request, too.
 */
#include "pools.h"

#include "analyze/stats/stats_compare.h"
#include "analyze/stats/stats_effect.h"
#include "analyze/stats/stats_series.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN	      10
#define NAMED	      3	   /* in the finding */
#define POOLS_MOST    64   /* the threads of the rest are one pool */
#define COMPARED_MOST 2000 /* neighbours are joined */
#define LEAST	      3	   /* independent windows of a side */
#define FALSE_ALARM   0.05

static const struct metric metrics[] = {
	{ "delta", "", NEITHER_IS_BETTER,
	  "Cliff's delta: probability of more in a slow window than in a baseline window, minus that "
	  "of less" },
	{ "from", "", NEITHER_IS_BETTER, "lower end of its 95 % interval" },
	{ "to", "", NEITHER_IS_BETTER, "upper end" },
	{ "p", "", LOWER_IS_BETTER, "of no shift, adjusted by Holm" },
	{ "added", "", LOWER_IS_BETTER,
	  "median of slow windows less that of baseline windows, in the unit after its name" },
	{ "baseline", "", NEITHER_IS_BETTER, "median of baseline windows" },
	{ "slow", "", NEITHER_IS_BETTER, "median of slow windows" },
	{ "per request", "", NEITHER_IS_BETTER,
	  "Cliff's delta of the metric per request, where the request rate shifts in its direction" },
	{ 0 },
};

enum side { NO_SIDE, BASELINE, SLOW };

struct series {
	struct pool_series of;
	struct effect all, each; /* each: per request; NAN: the load does not explain it */
	double p, p_all, q, baseline, slow;
	size_t m, n; /* windows */
};

struct work {
	struct grid grid;
	struct subject about;
	char *side; /* of each window: enum side */
	double *value, *requests, *x, *scratch;
	double load; /* Cliff's delta of the request rate; 0: no shift */
	struct series *all;
	size_t n, tested, windows[SLOW + 1];
};

/* ---- windows ---- */

/* A range takes the windows of which it has half, or which have half of it. */
static int mark_range(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct work *w = arg;
	double from = sqlite3_column_double(q, 0), to = sqlite3_column_double(q, 1);
	double step = (double)w->grid.step, start, part;
	size_t i = from > 0 ? (size_t)fmin(from / step, (double)w->grid.n) : 0;

	(void)e;
	for (; i < w->grid.n && (double)i * step < to; i++) {
		start = (double)i * step;
		part = fmin(to, start + step) - fmax(from, start);
		if (2 * part >= fmin(step, to - from))
			w->side[i] = SLOW;
		else if (part > 0 && w->side[i] == BASELINE)
			w->side[i] = NO_SIDE;
	}
	return 0;
}

/* Where the user named a baseline, nothing else belongs to it. */
static void mark_given(struct work *w, double from, double to, double slow_from, double slow_to)
{
	double step = (double)w->grid.step, start;
	size_t i;

	for (i = 0; i < w->grid.n; i++) {
		start = (double)i * step;
		if (start >= from && start + step <= to)
			w->side[i] = BASELINE;
		else if (slow_to > 0 ? start >= slow_from && start + step <= slow_to
				     : start >= to || start + step <= from)
			w->side[i] = SLOW;
		else
			w->side[i] = NO_SIDE;
	}
}

static void mark_windows(struct analysis_ctx *c, struct work *w)
{
	static const char sql[] = "SELECT CAST(value AS REAL) FROM recording WHERE key=?1";
	double to = query_number(c, sql, "s", "baseline_to");
	size_t i;

	memset(w->side, BASELINE, w->grid.n);
	if (to > 0)
		mark_given(w, query_number(c, sql, "s", "baseline_from"), to,
			   query_number(c, sql, "s", "degraded_from"),
			   query_number(c, sql, "s", "degraded_to"));
	else
		each_row(c, mark_range, w, "SELECT start, end FROM verdict_range WHERE rank=1", "");
	for (i = 0; i < w->grid.n; i++) {
		if (w->grid.lossy[i])
			w->side[i] = NO_SIDE;
		w->windows[(int)w->side[i]]++;
	}
}

/* ---- series ---- */

static void join_windows(struct grid *g, size_t most)
{
	size_t by = (g->n + most - 1) / most, i;

	if (by < 2)
		return;
	for (i = 0; i < g->n; i++)
		g->lossy[i / by] = g->lossy[i] || (i % by && g->lossy[i / by]);
	g->n /= by;
	g->step *= (s64)by;
}

static int add_requests(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct work *w = arg;
	s64 at = sqlite3_column_int64(q, 0) / w->grid.step;

	(void)e;
	if (at >= 0 && (size_t)at < w->grid.n)
		w->requests[at] += sqlite3_column_double(q, 1);
	return 0;
}

/* Compares the windows from..to of both sides. each: per request. */
static struct effect compare(struct work *w, const double *value, size_t from, size_t to, bool each,
			     size_t count[SLOW + 1])
{
	size_t i, n = 0;
	int side;

	for (side = BASELINE; side <= SLOW; side++) {
		count[side] = n;
		for (i = from; i < to; i++)
			if (w->side[i] == side && (!each || w->requests[i] > 0))
				w->x[n++] = each ? value[i] / w->requests[i] : value[i];
		count[side] = n - count[side];
	}
	return stats_effect(w->x, count[BASELINE], count[SLOW], w->scratch);
}

static void read_load(struct analysis_ctx *c, struct work *w)
{
	size_t count[SLOW + 1];
	struct effect f;

	if (w->about.kind != SUBJECT_server)
		return;
	each_row(c, add_requests, w,
		 "SELECT ts, requests FROM request_window WHERE service IN (SELECT id FROM service"
		 " WHERE requests > 0 AND " SERVICE_GROUP "=?1)",
		 "i", w->about.id);
	f = compare(w, w->requests, 0, w->grid.n, false, count);
	if (f.p < FALSE_ALARM)
		w->load = f.delta;
}

static bool is_enough(const struct effect *f)
{
	return f->a >= LEAST && f->b >= LEAST;
}

static void judge(struct analysis_ctx *c, struct work *w, struct series *x)
{
	double scale = (x->of.count ? 1e9 : 100.0) / (double)w->grid.step; /* 1/s or % */
	size_t from, to, count[SLOW + 1], each[SLOW + 1];

	pools_values(c, &w->grid, &x->of, w->value, &from, &to);
	x->each.delta = NAN;
	x->all = compare(w, w->value, from, to, false, count);
	x->m = count[BASELINE];
	x->n = count[SLOW];
	x->p = x->p_all = is_enough(&x->all) ? x->all.p : NAN;
	w->tested += is_enough(&x->all);
	if (isnan(x->p))
		return;
	if (x->all.low <= 0 && x->all.high >= 0)
		x->p = x->p_all = 1;
	x->baseline = scale * stats_median(w->x, x->m);
	x->slow = scale * stats_median(w->x + x->m, x->n);
	if (x->all.delta * w->load <= 0)
		return;
	x->each = compare(w, w->value, from, to, true, each);
	if (is_enough(&x->each) && x->each.delta * x->all.delta > 0)
		x->p = fmax(x->p, x->each.p); /* both must shift */
	else
		x->p = 1;
}

/* Times first, by what they add; then counts, by their shift. */
static int by_added(const void *a, const void *b)
{
	const struct series *x = a, *y = b;
	double r = fabs(x->of.count ? x->all.delta : x->slow - x->baseline);
	double s = fabs(y->of.count ? y->all.delta : y->slow - y->baseline);

	if (x->of.count != y->of.count)
		return x->of.count ? 1 : -1;
	if (r != s)
		return r > s ? -1 : 1;
	return strcmp(x->of.name, y->of.name);
}

/* Moves the series that shift to the front. *ret_load: how many more follow the request rate. */
static size_t choose(struct analysis_ctx *c, struct work *w, size_t *ret_load)
{
	double *p = calloc(w->n + 1, sizeof(*p)), *q = calloc(w->n + 1, sizeof(*q));
	double *all = calloc(w->n + 1, sizeof(*all));
	size_t i, n = 0;

	if (!p || !q || !all)
		c->err = err_set(c->e, ERR_FAIL, "out of memory for shifts");
	for (i = 0; c->err == 0 && i < w->n; i++)
		p[i] = w->all[i].p_all;
	if (c->err == 0 && !stats_holm(p, w->n, all))
		c->err = err_set(c->e, ERR_FAIL, "out of memory for shifts");
	for (i = 0; c->err == 0 && i < w->n; i++)
		p[i] = w->all[i].p;
	if (c->err == 0 && !stats_holm(p, w->n, q))
		c->err = err_set(c->e, ERR_FAIL, "out of memory for shifts");
	for (i = 0; c->err == 0 && i < w->n; i++) {
		w->all[i].q = q[i];
		if (q[i] < FALSE_ALARM)
			w->all[n++] = w->all[i];
		else
			*ret_load += all[i] < FALSE_ALARM;
	}
	free(p);
	free(q);
	free(all);
	qsort(w->all, n, sizeof(*w->all), by_added);
	return n;
}

/* ---- answers ---- */

static void put_series(struct analysis_ctx *c, const struct series *x)
{
	const struct effect *f = &x->all, *each = &x->each;
	double n = floor(f->a + f->b);
	const struct number values[] = {
		{ "delta", f->delta, NO_INTERVAL, n },
		{ "from", f->low, NO_INTERVAL, n },
		{ "to", f->high, NO_INTERVAL, n },
		{ "p", x->q, NO_INTERVAL, n },
		{ "added", x->slow - x->baseline, NO_INTERVAL, n },
		{ "baseline", x->baseline, NO_INTERVAL, floor(f->a) },
		{ "slow", x->slow, NO_INTERVAL, floor(f->b) },
		{ "per request", each->delta, NO_INTERVAL, floor(each->a + each->b) },
	};

	put_all(c, x->of.about, x->of.name, values, sizeof(values) / sizeof(values[0]));
}

static void find_answer(struct analysis_ctx *c, const struct work *w, size_t found, size_t load)
{
	static const char sql[] =
		"SELECT ts / 1e9 AS second, metric, tid, comm, resource_name, share, n"
		" FROM kernel_metric ORDER BY metric, tid, ts";
	struct value values[12] = {
		VALUE_NUMBER("found", (double)found, ""),
		VALUE_NUMBER("tested", (double)w->tested, ""),
		VALUE_NUMBER("excluded", (double)(w->n - w->tested), ""),
		VALUE_NUMBER("load", load ? (double)load : NAN, ""),
		VALUE_NUMBER("slow", (double)w->windows[SLOW], ""),
		VALUE_NUMBER("baseline", (double)w->windows[BASELINE], ""),
		VALUE_NUMBER("step", (double)w->grid.step, "ns"),
		VALUE_NUMBER("needed", LEAST, ""),
	};
	struct finding f = { .kind = !w->tested ? FINDING_too_short_to_shift
				     : found	? FINDING_shifted
						: FINDING_none_shifted,
			     .evidence = w->tested ? CORRELATED : LIMIT,
			     .about = w->about,
			     .sql = w->tested ? sql : NULL,
			     .values = values };
	size_t i;

	for (i = 0; i < found && i < NAMED; i++) {
		const struct series *x = &w->all[i];

		values[8 + i] = (struct value)VALUE_TEXT("series", x->of.name);
		values[8 + i].of = x->of.about;
		values[8 + i].number = x->of.count ? NAN : x->slow - x->baseline;
		values[8 + i].unit = "%";
	}
	add_finding(c, &f);
}

static void answer(struct analysis_ctx *c, struct work *w)
{
	struct pool_series *series = calloc(POOL_SERIES_MAX, sizeof(*series));
	bool server = w->about.kind == SUBJECT_server;
	size_t i, found, load = 0;

	w->all = calloc(POOL_SERIES_MAX, sizeof(*w->all));
	if (!series || !w->all) {
		c->err = err_set(c->e, ERR_FAIL, "out of memory for shifts");
		free(series);
		return;
	}
	pools_keep(c, server ? w->about.id : 0, server ? 0 : w->about.id, POOLS_MOST);
	if (c->err == 0)
		c->err = pools_read(c, w->grid.step, c->e);
	w->n = pools_series(c, series, 0, false);
	read_load(c, w);
	for (i = 0; i < w->n && c->err == 0; i++) {
		w->all[i].of = series[i];
		judge(c, w, &w->all[i]);
	}
	found = choose(c, w, &load);
	for (i = 0; i < found && i < SHOWN; i++)
		put_series(c, &w->all[i]);
	find_answer(c, w, found, load);
	free(series);
}

static int prepare(struct analysis_ctx *c, struct work *w, struct err *e)
{
	size_t n;
	int ret = grid_open(&w->grid, c->db, "syscalls sched", e);

	if (ret < 0)
		return ret;
	join_windows(&w->grid, COMPARED_MOST);
	n = w->grid.n + 2;
	w->side = calloc(n, sizeof(*w->side));
	w->value = calloc(n, sizeof(double));
	w->requests = calloc(n, sizeof(double));
	w->x = calloc(n, sizeof(double));
	w->scratch = calloc(n, sizeof(double));
	if (!w->side || !w->value || !w->requests || !w->x || !w->scratch)
		return err_set(e, ERR_FAIL, "out of memory for shifts");
	return pools_open(c, e);
}

static int read_subject(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct subject *about = arg;

	(void)e;
	about->kind = subject_kind_of(db_text(q, 0));
	about->id = sqlite3_column_int64(q, 1);
	return 1;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct work w = { 0 };

	c->err = prepare(c, &w, e);
	each_row(c, read_subject, &w.about,
		 "SELECT subject_kind, subject FROM verdict WHERE rank=1", "");
	if (c->err == 0)
		mark_windows(c, &w);
	if (c->err == 0 && w.windows[SLOW] && w.about.kind != SUBJECT_none)
		answer(c, &w);
	grid_free(&w.grid);
	free(w.side);
	free(w.value);
	free(w.requests);
	free(w.x);
	free(w.scratch);
	free(w.all);
	return c->err;
}

const struct analysis analysis_shift = {
	.name = "shift",
	.doc = "Which kernel metrics differ between slow and baseline windows",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = SHOWN,
	.nothing = "no slow time range found; --degraded and --baseline set the time ranges",
	.run = run,
};
