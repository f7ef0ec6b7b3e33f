// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does the spacing of requests show that a server is saturated? The variance of the
 * gaps between receives, and between sends, on a server socket (Rezvani et al., ISPASS 2024), of
 * all processes together that answer there, be they workers or a process for each connection: raw,
 * as a share of its largest window, and as CV^2 = variance / mean^2, which is 1 for random arrivals
 * at any rate. Windows are compared with a baseline: the part that the user names, or the windows
 * of the lowest quarter of rates. The knee is where variance begins to rise with the rate, if the
 * rate varies enough to see it and if below it the variance is level; its interval is a block
 * bootstrap.
 *
 * Windows with fewer than 30 gaps, and those that overlap lost system calls, are left out.
 */
#include "analysis.h"
#include "analyze/stats/moments.h"
#include "analyze/stats/stats_boot.h"
#include "analyze/stats/stats_series.h"
#include "grid.h"

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
#define CV2_LEAST  0.25 /* less is regular: how regular tells nothing of saturation */
#define CHANGE	   1.5	/* times the baseline's: worth a sentence */
#define TIMES_MOST 100	/* a number above that says no more */

static const struct metric metrics[] = {
	{ "recv var", "us^2", NEITHER_IS_BETTER,
	  "variance of gaps between receives, median window" },
	{ "recv var/max", "", NEITHER_IS_BETTER, "that over the largest variance of a window" },
	{ "recv CV2", "", LOWER_IS_BETTER,
	  "the same over the squared mean gap: 1 random, 0 regular" },
	{ "recv base", "", NEITHER_IS_BETTER, "CV^2 in the baseline, median window" },
	{ "recv ratio", "", LOWER_IS_BETTER, "CV^2 outside the baseline over that in it, medians" },
	{ "recv knee", "1/s", HIGHER_IS_BETTER, "rate from which the variance of receives rises" },
	{ "send var", "us^2", NEITHER_IS_BETTER, "variance of gaps between sends, median window" },
	{ "send var/max", "", NEITHER_IS_BETTER, "that over the largest variance of a window" },
	{ "send CV2", "", LOWER_IS_BETTER, "the same over the squared mean gap" },
	{ "send base", "", NEITHER_IS_BETTER, "CV^2 in the baseline" },
	{ "send ratio", "", LOWER_IS_BETTER, "CV^2 outside the baseline over that in it" },
	{ "send knee", "1/s", HIGHER_IS_BETTER, "rate from which the variance of sends rises" },
	{ "windows", "", NEITHER_IS_BETTER, "windows with enough gaps and without loss" },
	{ 0 },
};

/* One direction of a server, by usable window. */
struct spacing {
	size_t n;
	double *rate;	  /* events a second */
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
	sqlite3_finalize(q);
	return ret;
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

static int put_side(struct analysis_ctx *c, const char *name, const char *side,
		    const struct answer *a, struct err *e)
{
	const struct {
		const char *metric;
		double value, low, high;
	} values[] = {
		{ "var", a->variance / 1e6, NO_INTERVAL },
		{ "var/max", a->variance / a->max, NO_INTERVAL },
		{ "CV2", a->cv2, NO_INTERVAL },
		{ "base", a->base, NO_INTERVAL },
		{ "ratio", a->ratio.value, a->ratio.low, a->ratio.high },
		{ "knee", a->knee.value, a->knee.low, a->knee.high },
	};
	char metric[32];
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++) {
		snprintf(metric, sizeof(metric), "%s %s", side, values[i].metric);
		ret = put_metric(c, e, name, metric, values[i].value, values[i].low, values[i].high,
				 (s64)a->n);
	}
	return ret;
}

static const char evidence_sql[] =
	"SELECT s.name, w.ts / g.step AS window, sum(w.recv_gaps) AS gaps,"
	" sum(w.recv_gap * w.recv_gaps) / sum(w.recv_gaps) AS mean_gap, sum(w.recv_m2) AS within"
	" FROM server_window w JOIN server s ON s.id=w.server,"
	" (SELECT value + 0 AS step FROM recording WHERE key='step_ns') g GROUP BY s.id, window";

static int put_sentences(struct analysis_ctx *c, const char *name, const char *side,
			 const struct answer *a, struct err *e)
{
	char times[80];
	int ret = 0;

	if (!isnan(a->knee.value) && !isnan(a->knee.low))
		ret = put_prose(
			c, e, WARNING, "OBSERVED", evidence_sql,
			"%s: the spacing of %s becomes irregular from %.0f a second on (95 %% "
			"interval %.0f to %.0f; %zu windows): the knee of saturation.",
			name, side, a->knee.value, a->knee.low, a->knee.high, a->n_fine);
	if (ret == 0 && (a->ratio.low >= CHANGE || a->ratio.high <= 1 / CHANGE)) {
		bool more = a->ratio.low >= CHANGE;

		if (a->ratio.low >= TIMES_MOST)
			snprintf(times, sizeof(times), "more than %d times that (", TIMES_MOST);
		else
			snprintf(times, sizeof(times),
				 "%.2f times that (95 %% interval %.2f to %.2f; ", a->ratio.value,
				 a->ratio.low, a->ratio.high);
		ret = put_prose(
			c, e, more ? WARNING : NOTE, "OBSERVED", evidence_sql,
			"%s: the gaps between %s are %s irregular than in %s: their CV^2 is %s%zu "
			"windows).",
			name, side, more ? "more" : "less",
			a->named ? "the baseline" : "the quarter of windows with the lowest rates",
			times, a->n);
	}
	return ret;
}

static int put_limit(struct analysis_ctx *c, const char *name, const struct answer *a,
		     const struct grid *g, struct err *e)
{
	char lossy[48] = "";

	if (g->n_lossy)
		snprintf(lossy, sizeof(lossy), ", %zu overlap loss", g->n_lossy);
	if (a->n < WINDOWS_LEAST)
		return put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"%s: no knee of saturation and no baseline: %zu windows of %.3g s have %d gaps "
			"and no loss%s; %d are needed. Record longer, or use --step.",
			name, a->n, g->step / 1e9, GAPS_LEAST, lossy, WINDOWS_LEAST);
	if (a->spread < LOAD_VARIES && !a->named)
		return put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"%s: no knee of saturation: its rate varied only %.2f-fold between windows "
			"(%.1f-fold is needed).",
			name, a->spread, LOAD_VARIES);
	return 0;
}

static int analyse_server(struct analysis_ctx *c, const struct grid *g, s64 id, const char *name,
			  struct err *e)
{
	static const char *const sides[] = { "recv", "send" }, *const words[] = { "receives",
										  "sends" };
	struct spacing x[2] = { 0 };
	struct answer a[2] = { 0 };
	int i, ret = 0;

	for (i = 0; i < 2 && ret == 0; i++) {
		ret = spacing_alloc(&x[i], g->n, e);
		if (ret == 0)
			ret = read_spacing(c, g, id, i, &x[i], &a[i].named, e);
		if (ret == 0)
			answer_of(&x[i], &a[i]);
		if (ret == 0)
			ret = read_fine(c, g, id, i, &x[i], &a[i], e);
	}
	for (i = 0; i < 2 && ret == 0 && (a[0].n || a[1].n); i++) {
		ret = put_side(c, name, sides[i], &a[i], e);
		if (ret == 0)
			ret = put_sentences(c, name, words[i], &a[i], e);
	}
	if (ret == 0 && (a[0].n || a[1].n))
		ret = put_metric(c, e, name, "windows", (double)a[0].n, NO_INTERVAL, (s64)a[0].n);
	if (ret == 0)
		ret = put_limit(c, name, &a[0], g, e);
	spacing_free(&x[0]);
	spacing_free(&x[1]);
	return ret;
}

static int put_crowd(struct analysis_ctx *c, struct err *e)
{
	s64 n = 0;
	int ret = db_int(c->db, &n, e,
			 "SELECT count(*) FROM service WHERE server=0 AND kind<>'function'", "");

	return ret < 0 || !n
		       ? ret
		       : put_prose(
				 c, e, NOTE, "LIMIT", NULL,
				 "no spacing of requests on %lld sockets: more than 50,000 servers.",
				 (long long)n);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct grid g;
	sqlite3_stmt *q;
	int ret = grid_open(&g, c->db, "syscalls", e);

	if (ret == 0)
		ret = db_query(&q, c->db, e,
			       "SELECT id, name FROM server WHERE recvs>=?"
			       " ORDER BY turns DESC, id LIMIT 20",
			       "i", (s64)GAPS_LEAST);
	if (ret == 0) {
		while ((ret = db_step(q, e)) > 0)
			if (analyse_server(c, &g, sqlite3_column_int64(q, 0), db_text(q, 1), e) <
			    0) {
				ret = ERR_FAIL;
				break;
			}
		sqlite3_finalize(q);
	}
	grid_free(&g);
	return ret < 0 ? ret : put_crowd(c, e);
}

const struct analysis analysis_saturation = {
	.name = "saturation",
	.doc = "Does the spacing of requests show saturation",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 10,
	.run = run,
};
