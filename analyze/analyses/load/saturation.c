// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is a server saturated, and from which rate on? The sign comes from its idle share and queueing
 * delay (saturated.c). Next to it stands the spacing of requests (Rezvani et al., ISPASS 2024): the
 * variance of the gaps between receives, and between sends, of all processes of the server
 * together: raw, as a share of its largest window, and as CV^2 = variance / mean^2, which is 1 for
 * random arrivals at any rate. Windows are compared with a baseline: the part that the user names,
 * or the windows of the lowest quarter of rates. The knee is where variance starts to rise with the
 * rate, if below it the variance is level; its interval is a block bootstrap.
 *
 * Windows with fewer than 30 gaps, and those that overlap lost system calls, are excluded.
 */
#include "analyze/analyses/analysis.h"
#include "analyze/analyses/grid.h"
#include "analyze/stats/moments.h"
#include "analyze/stats/stats_boot.h"
#include "analyze/stats/stats_series.h"
#include "saturated.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdio.h>
#include <stdlib.h>

#define GAPS_LEAST    30
#define WINDOWS_LEAST 8
#define LOAD_VARIES                                                                           \
	1.5	     /* 90th percentile of rates over the 10th: less, and no knee can be seen \
		      */
#define EXPLAINS 0.5 /* of the variance between windows: a knee that explains less is none */
/* Of what a line leaves that rises from the lowest rate on; if it leaves more, that is no knee. */
#define LEAVES	   0.8
#define UNSURE	   0.2 /* at most, of the repetitions that find no knee */
#define FINE_MOST  400 /* windows for the knee */
#define FINE_LEAST 0.9 /* of them need enough gaps */
#define NARROW	   0.5 /* of the range of rates: a wider interval finds no knee */
#define QUARTER	   0.25
#define REPS	   1000
#define CV2_LEAST  0.25 /* less is regular */

static const struct metric metrics[] = {
	{ "idle share", "%", HIGHER_IS_BETTER, "of the CPUs that it may use" },
	{ "queueing delay", "ns", LOWER_IS_BETTER, "per request, until its receive" },
	{ "saturated from", "1/s", HIGHER_IS_BETTER,
	  "rate from which the idle share is below 8 %" },
	{ "recv var", "us^2", NEITHER_IS_BETTER,
	  "variance of gaps between receives, median window" },
	{ "recv var/max", "", NEITHER_IS_BETTER, "that over the largest variance of a window" },
	{ "recv CV2", "", LOWER_IS_BETTER,
	  "the same over the squared mean gap: 1 random, 0 regular" },
	{ "recv baseline", "", NEITHER_IS_BETTER, "CV^2 in the baseline, median window" },
	{ "recv ratio", "", LOWER_IS_BETTER, "CV^2 outside the baseline over that in it, medians" },
	{ "recv knee", "1/s", HIGHER_IS_BETTER, "rate from which the variance of receives rises" },
	{ "send var", "us^2", NEITHER_IS_BETTER, "variance of gaps between sends, median window" },
	{ "send var/max", "", NEITHER_IS_BETTER, "that over the largest variance of a window" },
	{ "send CV2", "", LOWER_IS_BETTER, "the same over the squared mean gap" },
	{ "send baseline", "", NEITHER_IS_BETTER, "CV^2 in the baseline" },
	{ "send ratio", "", LOWER_IS_BETTER, "CV^2 outside the baseline over that in it" },
	{ "send knee", "1/s", HIGHER_IS_BETTER, "rate from which the variance of sends rises" },
	{ "windows", "", NEITHER_IS_BETTER, "windows with enough gaps and without loss" },
	{ 0 },
};

/* One direction of a server, by usable window. */
struct spacing {
	size_t n;
	double *rate;	  /* events per second */
	double *variance; /* ns^2 */
	double *cv2;
	double *log_cv2; /* its spread is about the same at all rates */
	bool *base;
};

static int spacing_alloc(struct spacing *x, size_t n, struct err *e)
{
	x->rate = calloc(n + 1, sizeof(double));
	x->variance = calloc(n + 1, sizeof(double));
	x->cv2 = calloc(n + 1, sizeof(double));
	x->log_cv2 = calloc(n + 1, sizeof(double));
	x->base = calloc(n + 1, sizeof(bool));
	if (!x->rate || !x->variance || !x->cv2 || !x->log_cv2 || !x->base)
		return err_set(e, ERR_FAIL, "out of memory for windows");
	return 0;
}

static void spacing_free(struct spacing *x)
{
	free(x->rate);
	free(x->variance);
	free(x->cv2);
	free(x->log_cv2);
	free(x->base);
}

/* Joins the fine windows of table server_window to those of the grid. */
static int read_gaps(struct analysis_ctx *c, const struct grid *g, s64 server, bool send,
		     struct moments *to, struct err *e)
{
	const char *sql = send ? "SELECT ts, send_gaps, send_gap, send_m2 FROM server_window"
				 " WHERE server=? ORDER BY ts"
			       : "SELECT ts, recv_gaps, recv_gap, recv_m2 FROM server_window"
				 " WHERE server=? ORDER BY ts";
	sqlite3_stmt *q;
	s64 at;
	int ret = db_query(&q, c->db, e, sql, "i", server);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct moments part = { sqlite3_column_int64(q, 1), sqlite3_column_double(q, 2),
					sqlite3_column_double(q, 3) };

		at = sqlite3_column_int64(q, 0) / g->step;
		if (at >= 0 && (size_t)at < g->n)
			moments_merge(&to[at], &part);
	}
	return db_end(q, ret);
}

/* Marks the baseline: the named part, or the quarter of windows with the lowest rates. */
static int mark_baseline(struct analysis_ctx *c, const struct grid *g, struct spacing *x,
			 const size_t *window, bool *named, struct err *e)
{
	double *sorted, limit = 0;
	s64 from = 0, to = 0;
	size_t i;
	int ret = db_int(c->db, &from, e, "SELECT value FROM recording WHERE key='baseline_from'",
			 "");

	if (ret == 0)
		ret = db_int(c->db, &to, e, "SELECT value FROM recording WHERE key='baseline_to'",
			     "");
	if (ret < 0)
		return ret;
	*named = to > from;
	sorted = malloc((x->n + 1) * sizeof(*sorted));
	if (!sorted)
		return err_set(e, ERR_FAIL, "out of memory for windows");
	for (i = 0; i < x->n; i++)
		sorted[i] = x->rate[i];
	gsl_sort(sorted, 1, x->n);
	if (x->n)
		limit = gsl_stats_quantile_from_sorted_data(sorted, 1, x->n, QUARTER);
	for (i = 0; i < x->n; i++)
		x->base[i] = *named ? (s64)window[i] * g->step >= from &&
					      ((s64)window[i] + 1) * g->step <= to
				    : x->rate[i] <= limit;
	free(sorted);
	return 0;
}

static int read_spacing(struct analysis_ctx *c, const struct grid *g, s64 server, bool send,
			struct spacing *x, bool *named, struct err *e)
{
	struct moments *all = calloc(g->n + 1, sizeof(*all));
	size_t i, *window = calloc(g->n + 1, sizeof(*window));
	int ret;

	if (!all || !window)
		ret = err_set(e, ERR_FAIL, "out of memory for windows");
	else
		ret = read_gaps(c, g, server, send, all, e);
	for (i = 0; i < g->n && ret == 0; i++) {
		if (g->lossy[i] || all[i].n < GAPS_LEAST)
			continue;
		x->rate[x->n] = all[i].n * 1e9 / g->step;
		x->variance[x->n] = moments_variance(&all[i]);
		x->cv2[x->n] = moments_cv2(&all[i]);
		x->log_cv2[x->n] = log(fmax(x->cv2[x->n], CV2_LEAST));
		window[x->n++] = i;
	}
	if (ret == 0)
		ret = mark_baseline(c, g, x, window, named, e);
	free(all);
	free(window);
	return ret;
}

/* ---- what is made of it ---- */

static double median_of(const double *v, const bool *base, bool want, const size_t *order, size_t n)
{
	double *part = malloc((n + 1) * sizeof(*part)), median;
	size_t i, k = 0;

	for (i = 0; part && i < n; i++)
		if (base[order[i]] == want)
			part[k++] = v[order[i]];
	median = part ? stats_median(part, k) : NAN;
	free(part);
	return median;
}

/* CV^2 outside the baseline over that in it. */
static double ratio(void *arg, const size_t *order, size_t n)
{
	const struct spacing *x = arg;

	return median_of(x->cv2, x->base, false, order, n) /
	       median_of(x->cv2, x->base, true, order, n);
}

static double knee(void *arg, const size_t *order, size_t n)
{
	const struct spacing *x = arg;
	struct hinge h = stats_hinge(x->rate, x->log_cv2, order, n);

	return h.explained >= EXPLAINS && 1 - h.explained <= LEAVES * (1 - h.line) ? h.knee : NAN;
}

static double spread_of_rates(const struct spacing *x, double *range)
{
	double *sorted = malloc((x->n + 1) * sizeof(*sorted)), low, high;
	size_t i;

	*range = 0;
	for (i = 0; sorted && i < x->n; i++)
		sorted[i] = x->rate[i];
	if (!sorted || x->n < 2) {
		free(sorted);
		return NAN;
	}
	gsl_sort(sorted, 1, x->n);
	low = gsl_stats_quantile_from_sorted_data(sorted, 1, x->n, 0.1);
	high = gsl_stats_quantile_from_sorted_data(sorted, 1, x->n, 0.9);
	*range = sorted[x->n - 1] - sorted[0];
	free(sorted);
	return high / low;
}

struct answer {
	size_t n;
	double variance, max, cv2, base;
	struct boot ratio, knee;
	double spread; /* of rates */
	size_t n_fine; /* windows in which the knee was looked for */
	bool named;
};

static void answer_of(struct spacing *x, struct answer *a)
{
	const struct boot none = { NAN, NAN, NAN, 0 };
	size_t i, n_base = 0, block = stats_boot_block(x->n), *all;
	double *copy, range;

	*a = (struct answer){ .n = x->n, .ratio = none, .knee = none, .named = a->named };
	copy = malloc((x->n + 1) * sizeof(*copy));
	all = malloc((x->n + 1) * sizeof(*all));
	for (i = 0; copy && all && i < x->n; i++) {
		copy[i] = x->variance[i];
		all[i] = i;
		n_base += x->base[i];
		a->max = fmax(a->max, x->variance[i]);
	}
	a->variance = copy ? stats_median(copy, x->n) : NAN;
	for (i = 0; copy && i < x->n; i++)
		copy[i] = x->cv2[i];
	a->cv2 = copy ? stats_median(copy, x->n) : NAN;
	a->base = all && n_base ? median_of(x->cv2, x->base, true, all, x->n) : NAN;
	free(copy);
	free(all);
	a->spread = spread_of_rates(x, &range);
	if (x->n < WINDOWS_LEAST || !n_base || n_base == x->n)
		return;
	if (a->named || a->spread >= LOAD_VARIES)
		a->ratio = stats_boot(x->n, block, REPS, ratio, x);
}

/* The knee is looked for in shorter windows: of a load that rises, they see more rates. */
static void find_knee(struct spacing *x, struct answer *a)
{
	double range;

	a->n_fine = x->n;
	if (x->n < WINDOWS_LEAST || !(spread_of_rates(x, &range) >= LOAD_VARIES))
		return;
	a->knee = stats_boot(x->n, stats_boot_block(x->n), REPS, knee, x);
	if (!(a->knee.high - a->knee.low <= NARROW * range) || a->knee.failed > UNSURE)
		a->knee = (struct boot){ NAN, NAN, NAN, 0 };
}

static int split_grid(const struct grid *g, size_t parts, struct grid *ret, struct err *e)
{
	size_t i;

	*ret = (struct grid){ .step = g->step / (s64)parts, .n = g->n * parts };
	ret->lossy = calloc(ret->n + 1, sizeof(bool));
	if (!ret->lossy)
		return err_set(e, ERR_FAIL, "out of memory for windows");
	for (i = 0; i < ret->n; i++)
		ret->lossy[i] = g->lossy[i / parts];
	return 0;
}

/* Windows as short as leaves enough gaps in nearly all of them, at low rates too. */
static int read_fine(struct analysis_ctx *c, const struct grid *g, s64 server, bool send,
		     const struct spacing *coarse, struct answer *a, struct err *e)
{
	static const size_t parts[] = { 10, 5, 2, 1 }; /* of table server_window's windows */
	struct spacing x = { 0 };
	struct grid f;
	bool fits;
	size_t i;
	int ret;

	for (i = 0, fits = false; i < sizeof(parts) / sizeof(parts[0]) && !fits; i++) {
		if (parts[i] > 1 && g->n * parts[i] > FINE_MOST)
			continue;
		ret = split_grid(g, parts[i], &f, e);
		if (ret == 0)
			ret = spacing_alloc(&x, f.n, e);
		if (ret == 0)
			ret = read_spacing(c, &f, server, send, &x, &a->named, e);
		fits = ret < 0 || parts[i] == 1 || x.n >= FINE_LEAST * parts[i] * coarse->n;
		if (ret == 0 && fits)
			find_knee(&x, a);
		spacing_free(&x);
		x = (struct spacing){ 0 };
		grid_free(&f);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void put_side(struct analysis_ctx *c, s64 server, const char *side, const struct answer *a)
{
	const double n = (double)a->n;
	const struct number values[] = {
		{ "var", a->variance / 1e6, NO_INTERVAL, n },
		{ "var/max", a->variance / a->max, NO_INTERVAL, n },
		{ "CV2", a->cv2, NO_INTERVAL, n },
		{ "baseline", a->base, NO_INTERVAL, n },
		{ "ratio", a->ratio.value, a->ratio.low, a->ratio.high, n },
		{ "knee", a->knee.value, a->knee.low, a->knee.high, n },
	};
	char name[32];
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(name, sizeof(name), "%s %s", side, values[i].name);
		put_number(c, ABOUT(server, server), NULL, name, values[i].value, values[i].low,
			   values[i].high, (s64)values[i].n);
	}
}

static void find_limit(struct analysis_ctx *c, s64 server, const struct answer *a,
		       const struct grid *g)
{
	bool few = a->n < WINDOWS_LEAST;
	const struct value values[] = {
		VALUE_NUMBER("windows", (double)a->n, ""),
		VALUE_NUMBER("step", (double)g->step, "ns"),
		VALUE_NUMBER("gaps", GAPS_LEAST, ""),
		VALUE_NUMBER("lossy", g->n_lossy ? (double)g->n_lossy : NAN, ""),
		VALUE_NUMBER("varied", a->spread, "x"),
		VALUE_NUMBER("needed", few ? WINDOWS_LEAST : LOAD_VARIES, few ? "" : "x"),
		{ 0 },
	};
	const struct finding f = { .kind = few ? FINDING_too_few_windows : FINDING_rate_constant,
				   .evidence = LIMIT,
				   .about = ABOUT(server, server),
				   .values = values };

	if (few || (a->spread < LOAD_VARIES && !a->named))
		add_finding(c, &f);
}

static int read_side(struct analysis_ctx *c, const struct grid *g, s64 id, bool send,
		     struct answer *a, struct err *e)
{
	struct spacing x = { 0 };
	int ret = spacing_alloc(&x, g->n, e);

	if (ret == 0)
		ret = read_spacing(c, g, id, send, &x, &a->named, e);
	if (ret == 0)
		answer_of(&x, a);
	if (ret == 0)
		ret = read_fine(c, g, id, send, &x, a, e);
	spacing_free(&x);
	return ret;
}

struct work {
	struct analysis_ctx *c;
	struct grid grid;
};

static int analyse_server(void *arg, sqlite3_stmt *q, struct err *e)
{
	static const char *const sides[] = { "recv", "send" };
	struct work *w = arg;
	struct analysis_ctx *c = w->c;
	struct answer a[2] = { 0 };
	s64 id = sqlite3_column_int64(q, 0);
	int i;

	for (i = 0; i < 2 && c->err == 0; i++)
		c->err = read_side(c, &w->grid, id, i, &a[i], e);
	saturated_put(c, id);
	for (i = 0; i < 2 && (a[0].n || a[1].n); i++)
		put_side(c, id, sides[i], &a[i]);
	if (a[0].n || a[1].n)
		put_number(c, ABOUT(server, id), NULL, "windows", (double)a[0].n, NO_INTERVAL,
			   (s64)a[0].n);
	find_limit(c, id, &a[0], &w->grid);
	return c->err;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	static const struct finding_query crowd = {
		FINDING_servers_beyond,
		NOTE,
		LIMIT,
		NULL,
		"SELECT count(*) AS n FROM service WHERE server=0 AND kind<>'function' HAVING n > 0",
		NULL
	};
	struct work w = { .c = c };

	c->err = grid_open(&w.grid, c->db, "syscalls", e);
	saturated_prepare(c);
	each_row(c, analyse_server, &w,
		 "SELECT id FROM server WHERE recvs>=? ORDER BY requests DESC, id LIMIT 20", "i",
		 (s64)GAPS_LEAST);
	find_rows(c, &crowd, "");
	grid_free(&w.grid);
	return c->err;
}

const struct analysis analysis_saturation = {
	.name = "saturation",
	.doc = "Which servers are saturated, and from which rate on",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 10,
	.run = run,
};
