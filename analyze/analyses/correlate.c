// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which kernel metrics move with the quality of service? Every series of a thread, and of a
 * thread and resource, is correlated window by window with one series that matters
 * (correlate.h). Spearman's coefficient; neighbouring windows are not
 * independent, so the effective number of windows counts; with many series some correlate by
 * chance, so Benjamini and Hochberg bound the share of false ones. Sleep is left out (it is the
 * complement of the rest), and so are counts of the very events that a rate is made of.
 *
 * A single step up of everything makes everything correlate: the shift says how much.
 */
#include "correlate.h"

#include "analysis.h"
#include "analyze/stats/stats_series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_MAX   1000
#define SHOWN	     10
#define N_EFF_LEAST  10
#define FALSE_SHARE  0.05
#define LAGS	     3
#define QUARTER	     0.25
#define WINDOWS_MOST 20000

static const struct metric metrics[] = {
	{ "rho", "", NEITHER_IS_BETTER, "Spearman's coefficient" },
	{ "from", "", NEITHER_IS_BETTER, "lower end of its 95 % interval" },
	{ "to", "", NEITHER_IS_BETTER, "upper end" },
	{ "q", "", LOWER_IS_BETTER, "false discovery rate at which it is accepted" },
	{ "pearson", "", NEITHER_IS_BETTER, "Pearson's coefficient" },
	{ "n_eff", "", NEITHER_IS_BETTER, "what the windows are worth if they were independent" },
	{ "lag", "ns", NEITHER_IS_BETTER,
	  "shift in time at which it is strongest, at most 3 windows; above 0: the metric comes "
	  "first" },
	{ "at low", "", NEITHER_IS_BETTER,
	  "median of the metric, in the unit behind its name, in the windows where the quality series "
	  "is in its lowest quarter" },
	{ "at high", "", NEITHER_IS_BETTER, "median where it is in its highest quarter" },
	{ 0 },
};

struct candidate {
	s64 tid, kind, resource; /* resource -1: all */
	bool count;
	char name[160];
	struct correlation spearman, pearson;
	double q, lag, at_low, at_high;
	size_t n;
};

struct work {
	struct grid grid;
	struct quality qos;
	double *value; /* of the candidate at hand */
	double *x, *y, *scratch;
	struct candidate *all;
	size_t n;
};

/* ---- the candidates ---- */

/*
 * Times and counts; all resources of a thread together, and apart where there are several
 * that are not alike.
 */
static const char candidates_sql[] =
	"WITH t AS (SELECT tid, max(pid) AS pid, max(comm) AS comm FROM thread GROUP BY tid),"
	" s AS (SELECT series.kind, tid, min(resource) AS resource, alike, total(time) AS time, total(n) AS n"
	" FROM series LEFT JOIN resource r ON r.id=resource WHERE series.kind NOT IN (5,6,7,8,9,22)"
	" GROUP BY series.kind, tid, alike),"
	" o AS (SELECT kind, tid, count(*) AS several FROM s GROUP BY kind, tid),"
	" a AS (SELECT kind, tid, -1 AS resource, '' AS alike, total(time) AS time, total(n) AS n"
	" FROM s WHERE tid > 0 GROUP BY kind, tid UNION ALL"
	" SELECT kind, tid, resource, ' > ' || alike, time, n FROM s JOIN o USING(kind, tid)"
	" WHERE resource > 0 AND (tid = 0 OR several > 1))"
	" SELECT a.kind, a.tid, a.resource, m.count,"
	" iif(a.tid > 0, coalesce(nullif(t.comm,''),'?') || '[' || a.tid || '] ', '') ||"
	" iif(a.kind=20, 'epoll_file_wait', k.name) ||"
	" iif(m.count AND a.kind NOT IN (17,21), ' count', '') || a.alike"
	" FROM a JOIN series_kind k ON k.id=a.kind LEFT JOIN t USING(tid),"
	" (SELECT 0 AS count UNION ALL SELECT 1) m"
	" WHERE iif(m.count, a.kind >= 10 AND a.n > 0 AND a.kind<>20, a.time > 0)"
	" AND NOT (?1 AND m.count AND a.kind IN (12,13) AND t.pid IN " SERVICE_PIDS(
		"?2") ")"
		      " ORDER BY a.resource >= 0, a.time DESC, a.n DESC, a.kind, a.tid, m.count LIMIT ?3";

static int read_candidates(struct analysis_ctx *c, struct work *w, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, candidates_sql, "isi", (s64)w->qos.rate, w->qos.common,
			   (s64)SERIES_MAX);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0 && w->n < SERIES_MAX) {
		struct candidate *x = &w->all[w->n++];

		x->kind = sqlite3_column_int64(q, 0);
		x->tid = sqlite3_column_int64(q, 1);
		x->resource = sqlite3_column_int64(q, 2);
		x->count = sqlite3_column_int(q, 3);
		snprintf(x->name, sizeof(x->name), "%s", db_text(q, 4));
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* The windows in which the candidate's thread lived; all of them for what has no thread. */
static int life_of(struct analysis_ctx *c, const struct work *w, const struct candidate *x,
		   size_t *from, size_t *to, struct err *e)
{
	s64 start = 0, end = 0;
	int ret = 0;

	*from = 0;
	*to = w->grid.n;
	if (x->tid)
		ret = db_int(c->db, &start, e, "SELECT min(start) FROM thread WHERE tid=?", "i",
			     x->tid);
	if (ret == 0 && x->tid)
		ret = db_int(c->db, &end, e,
			     "SELECT max(coalesce(end, 9e18)) FROM thread WHERE tid=?", "i",
			     x->tid);
	if (start > 0)
		*from = (size_t)(start / w->grid.step) + 1;
	if (x->tid && (size_t)(end / w->grid.step) < *to)
		*to = (size_t)(end / w->grid.step);
	return ret;
}

static int read_value(struct analysis_ctx *c, struct work *w, const struct candidate *x,
		      struct err *e)
{
	static const char *const sql[] = {
		"SELECT ts, time FROM series WHERE kind=?1 AND tid=?2 AND (?3 < 0 OR resource IN ("
		"SELECT id FROM resource WHERE alike=(SELECT alike FROM resource WHERE id=?3)))",
		"SELECT ts, n FROM series WHERE kind=?1 AND tid=?2 AND (?3 < 0 OR resource IN ("
		"SELECT id FROM resource WHERE alike=(SELECT alike FROM resource WHERE id=?3)))",
	};
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql[x->count], "iii", x->kind, x->tid, x->resource);

	if (ret < 0)
		return ret;
	memset(w->value, 0, (w->grid.n + 1) * sizeof(*w->value));
	ret = grid_read(&w->grid, q, &w->value, 1, e);
	sqlite3_finalize(q);
	return ret;
}

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
		w->y[n++] = w->qos.value[at];
	}
	return n;
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
	double scale = x->count ? 1e9 / w->grid.step : 100.0 / w->grid.step; /* 1/s or % */
	double *low = w->value, *high = w->value + w->grid.n / 2; /* read again when needed */
	size_t i, n_low = 0, n_high = 0;

	if (!stats_ranks(w->y, n, w->scratch))
		return;
	for (i = 0; i < n; i++) {
		if (w->scratch[i] <= QUARTER * n)
			low[n_low++] = w->x[i] * scale;
		else if (w->scratch[i] > (1 - QUARTER) * n)
			high[n_high++] = w->x[i] * scale;
	}
	x->at_low = stats_median(low, n_low);
	x->at_high = stats_median(high, n_high);
}

static int judge(struct analysis_ctx *c, struct work *w, struct candidate *x, bool whole,
		 struct err *e)
{
	size_t from, to;
	int ret = life_of(c, w, x, &from, &to, e);

	if (ret == 0)
		ret = read_value(c, w, x, e);
	if (ret < 0)
		return ret;
	x->n = pair(w, from, to, 0);
	x->spearman = stats_spearman(w->x, w->y, x->n, w->scratch);
	if (!whole)
		return 0;
	x->pearson = stats_pearson(w->x, w->y, x->n);
	find_lag(w, x, from, to);
	x->n = pair(w, from, to, 0);
	find_shift(w, x, x->n);
	return 0;
}

static int by_strength(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	double r = fabs(x->spearman.r), s = fabs(y->spearman.r);

	if (r != s)
		return r > s ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Keeps the candidates that can be tested, with their false discovery rates. */
static int test_all(struct analysis_ctx *c, struct work *w, struct err *e)
{
	double *p, *q;
	size_t i, n = 0;
	int ret = 0;

	for (i = 0; i < w->n && ret == 0; i++) {
		ret = judge(c, w, &w->all[i], false, e);
		if (w->all[i].spearman.n_eff >= N_EFF_LEAST && !isnan(w->all[i].spearman.p))
			w->all[n++] = w->all[i];
	}
	w->n = n;
	p = calloc(n + 1, sizeof(*p));
	q = calloc(n + 1, sizeof(*q));
	for (i = 0; p && q && i < n; i++)
		p[i] = w->all[i].spearman.p;
	if (!p || !q || !stats_fdr(p, n, q))
		ret = ret < 0 ? ret : err_set(e, ERR_FAIL, "out of memory for correlations");
	for (i = 0; ret == 0 && i < n; i++)
		w->all[i].q = q[i];
	free(p);
	free(q);
	qsort(w->all, n, sizeof(*w->all), by_strength);
	return ret;
}

static int put_candidate(struct analysis_ctx *c, const struct candidate *x, struct err *e)
{
	const struct correlation *s = &x->spearman;
	char subject[sizeof(x->name) + 8];
	const struct {
		const char *name;
		double value;
	} values[] = {
		{ "rho", s->r },   { "from", s->low },		{ "to", s->high },
		{ "q", x->q },	   { "pearson", x->pearson.r }, { "n_eff", s->n_eff },
		{ "lag", x->lag }, { "at low", x->at_low },	{ "at high", x->at_high },
	};
	size_t i;
	int ret = 0;

	snprintf(subject, sizeof(subject), "%s, %s", x->name, x->count ? "1/s" : "%");
	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 (s64)x->n);
	return ret;
}

static int put_answers(struct analysis_ctx *c, struct work *w, struct err *e)
{
	static const char sql[] =
		"SELECT ts / 1e9 AS second, metric, tid, comm, resource_name, share, n"
		" FROM kernel_metric ORDER BY metric, tid, ts";
	size_t i, shown = 0, found = 0;
	char first[200] = "";
	int ret = 0;

	for (i = 0; i < w->n && ret == 0; i++) {
		if (!(w->all[i].q < FALSE_SHARE))
			continue;
		found++;
		if (shown == SHOWN)
			continue;
		shown++;
		ret = judge(c, w, &w->all[i], true, e);
		if (ret == 0)
			ret = put_candidate(c, &w->all[i], e);
		if (!first[0])
			snprintf(first, sizeof(first), "; strongest: %s, rho %.2f", w->all[i].name,
				 w->all[i].spearman.r);
	}
	if (ret < 0)
		return ret;
	if (!w->n)
		return put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"correlation with %s: no series has the %d independent windows of %.3g s that are "
			"needed (%zu windows in all). Record longer, or use --step.",
			w->qos.what, N_EFF_LEAST, w->grid.step / 1e9, w->grid.n);
	if (!found)
		return put_prose(c, e, NOTE, "CORRELATED", sql,
				 "Of %zu series of kernel metrics, none moves with %s (Spearman, "
				 "false discovery rate 5 %%).",
				 w->n, w->qos.what);
	return put_prose(
		c, e, NOTE, "CORRELATED", sql,
		"Of %zu series of kernel metrics, %zu %s with %s (Spearman, false discovery "
		"rate 5 %%)%s. That they move together does not make one the cause.",
		w->n, found, found == 1 ? "moves" : "move", w->qos.what, first);
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
	w->scratch = calloc(2 * n, sizeof(double));
	w->all = calloc(SERIES_MAX, sizeof(*w->all));
	if (!w->qos.value || !w->value || !w->x || !w->y || !w->scratch || !w->all)
		return err_set(e, ERR_FAIL, "out of memory for correlations");
	return 0;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct work w = { 0 };
	bool found = false;
	int ret = prepare(c, &w, e);

	if (ret == 0)
		ret = quality_read(c->db, &w.grid, &w.qos, &found, e);
	if (ret == 0 && !found)
		ret = put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"no correlations: there are no turns and no calls of probed functions "
			"to correlate metrics with, and no series was given with --qos.");
	if (ret == 0 && found)
		ret = read_candidates(c, &w, e);
	if (ret == 0 && found)
		ret = test_all(c, &w, e);
	if (ret == 0 && found)
		ret = put_answers(c, &w, e);
	grid_free(&w.grid);
	free(w.qos.value);
	free(w.value);
	free(w.x);
	free(w.y);
	free(w.scratch);
	free(w.all);
	return ret;
}

const struct analysis analysis_correlate = {
	.name = "correlate",
	.doc = "Which kernel metrics move with the quality of service",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = SHOWN,
	.run = run,
};
