// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Durations of requests (from arrival: queueing and service), of service alone, of calls and of
 * block requests: their quantiles by window, their distribution.
 */
#include "compare.h"

#include "analyze/stats/sorted.h"
#include "analyze/stats/stats_levels.h"
#include "analyze/store/columns/columns.h"
#include "format/grow.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST	     30		/* durations: fewer are no basis */
#define KEPT_MOST    (1u << 20) /* of a subject; of more, every 2nd, 4th, ... is kept */
#define SOURCES_MOST 64
#define BLOCK_TAUS   3	 /* length of a bootstrap's block */
#define LEVEL_STEPS  60	 /* windows in which changes of level are looked for */
#define LEVEL_NEAR   1.2 /* closer levels are one */
#define LEVEL_SHORT  6	 /* windows of one level */
#define LEVEL_PARTS  3
#define LEVEL_P	     0.001

const double compare_shape_at[SHAPE_POINTS] = { 0.1, 0.2, 0.3, 0.4,  0.5,  0.6,
						0.7, 0.8, 0.9, 0.95, 0.99, 0.999 };

double compare_cdf_at(int i)
{
	static const double upper[] = { 0.92,  0.94, 0.95,  0.96,  0.97,  0.975, 0.98,
					0.985, 0.99, 0.993, 0.995, 0.997, 0.998, 0.999 };
	int even = CDF_POINTS - (int)(sizeof(upper) / sizeof(upper[0]));

	return i < even ? 0.9 * (i + 0.5) / even : upper[i - even];
}

struct series {
	struct compared_subject subject;
	s64 *ts;
	double *x; /* ln ns */
	size_t n, seen;
	unsigned int every;
};

struct kind {
	const char *subjects;	   /* id, then a subject; at most SOURCES_MOST */
	const char *rows;	   /* id, end, duration; NULL: those of the table of requests */
	bool named;		   /* requests: only those with a name */
	bool service;		   /* requests: without the wait before the service */
	enum compare_metric first; /* of its quantiles */
	enum compare_metric rate;  /* N_COMPARE_METRICS: none */
};

#define SERVICES                                                                                      \
	"SELECT s.id, 0, (SELECT comm FROM process p WHERE p.pid=s.pid ORDER BY start DESC LIMIT 1)," \
	" s.kind, nullif(s.port, 0), NULL FROM service s WHERE s.kind<>'function' AND s.requests>=30" \
	" ORDER BY s.requests DESC, s.id LIMIT 64"

static const struct kind kinds[] = {
	{ SERVICES, NULL, false, false, COMPARE_request_p50, COMPARE_request_rate },
	{ SERVICES, NULL, false, true, COMPARE_service_p50, N_COMPARE_METRICS },
	{ "SELECT s.service << 16 | s.name, 5, (SELECT comm FROM process p JOIN service v USING(pid) WHERE"
	  " v.id=s.service ORDER BY p.start DESC LIMIT 1), NULL, NULL, n.name FROM request_stat s JOIN"
	  " request_name n ON n.id=s.name WHERE s.exchanges>=30 AND readable(n.protocol)"
	  " ORDER BY s.exchanges DESC, 1 LIMIT 64",
	  NULL, true, false, COMPARE_request_p50, COMPARE_request_rate },
	{ "SELECT s.id, 3, NULL, NULL, NULL, s.function FROM call_stat c JOIN site s ON s.id=c.site"
	  " WHERE c.n>=30 AND NOT c.counted ORDER BY c.total DESC, s.id LIMIT 64",
	  "SELECT site, ts + dur, dur FROM call WHERE dur IS NOT NULL AND NOT lossy", false, false,
	  COMPARE_call_p50, COMPARE_call_rate },
	{ "SELECT b.dev << 8 | b.op & 255, 4, NULL, CASE b.op & 255 WHEN 0 THEN 'read' WHEN 1 THEN 'write'"
	  " WHEN 2 THEN 'flush' WHEN 3 THEN 'discard' ELSE 'other' END, NULL,"
	  " coalesce(d.name, 'device ' || b.dev)"
	  " FROM block_io b LEFT JOIN disk d ON d.dev=b.dev GROUP BY 1 HAVING count(b.dur)>=30"
	  " ORDER BY count(b.dur) DESC, 1 LIMIT 64",
	  "SELECT dev << 8 | op & 255, ts + dur, dur FROM block_io WHERE dur IS NOT NULL", false,
	  false, COMPARE_block_p50, N_COMPARE_METRICS },
};

struct reading {
	const struct kind *kind;
	struct series series[SOURCES_MOST];
	size_t n_series;
	struct {
		s64 id;
		struct series *series;
	} sources[SOURCES_MOST];
	size_t n_sources;
	size_t last; /* source of the row before */
};

static struct series *series_of(struct reading *r, const struct compared_subject *subject)
{
	size_t i;

	for (i = 0; i < r->n_series; i++)
		if (compare_same(&r->series[i].subject, subject))
			return &r->series[i];
	r->series[i].subject = *subject;
	r->series[i].every = 1;
	r->n_series++;
	return &r->series[i];
}

static int read_sources(struct reading *r, sqlite3 *db, struct err *e)
{
	struct compared_subject subject;
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, r->kind->subjects, "");

	while ((ret = db_step(q, e)) > 0 && r->n_sources < SOURCES_MOST) {
		compare_subject_row(&subject, q, 1);
		r->sources[r->n_sources].id = sqlite3_column_int64(q, 0);
		r->sources[r->n_sources++].series = series_of(r, &subject);
	}
	return db_end(q, ret);
}

static int append(struct series *s, s64 ts, double dur, struct err *e)
{
	size_t i;

	if (s->seen++ % s->every)
		return 0;
	if (s->n == KEPT_MOST) {
		for (i = 0; i < KEPT_MOST / 2; i++) {
			s->ts[i] = s->ts[2 * i];
			s->x[i] = s->x[2 * i];
		}
		s->n = KEPT_MOST / 2;
		s->every *= 2;
	}
	if (GROW(s->ts, s->n, "durations", e) < 0 || GROW(s->x, s->n, "durations", e) < 0)
		return ERR_FAIL;
	s->ts[s->n] = ts;
	s->x[s->n++] = log(dur < 1 ? 1 : dur);
	return 0;
}

static int take(struct reading *r, s64 id, s64 end, double dur, struct err *e)
{
	size_t i;

	if (r->sources[r->last].id != id) {
		for (i = 0; i < r->n_sources && r->sources[i].id != id; i++)
			;
		if (i == r->n_sources)
			return 0;
		r->last = i;
	}
	return append(r->sources[r->last].series, end, dur, e);
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct reading *r = arg;
	s64 id = row->service;

	(void)rowid;
	if (row->lossy || (r->kind->named && row->name == BULK_NULL))
		return 0;
	if (r->kind->named)
		id = (s64)((u64)id << 16 | (u64)row->name);
	return take(r, id, row->ts + row->dur, row->dur + (r->kind->service ? 0 : row->queued), e);
}

static int read_rows(struct reading *r, sqlite3 *db, struct err *e)
{
	sqlite3_stmt *q;
	int ret;

	if (!r->kind->rows)
		return rows_each(db, TABLE_request,
				 COLUMN_OF(request, service) | COLUMN_OF(request, ts) |
					 COLUMN_OF(request, dur) | COLUMN_OF(request, queued) |
					 COLUMN_OF(request, lossy) | COLUMN_OF(request, name),
				 on_request, r, e);
	ret = db_query(&q, db, e, r->kind->rows, "");
	while ((ret = db_step(q, e)) > 0) {
		ret = take(r, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			   sqlite3_column_double(q, 2), e);
		if (ret < 0)
			break;
	}
	return db_end(q, ret);
}

/* Arrays of one series in order of time. */
struct ordered {
	const s64 *ts;
	const double *x;
	double *sorted;
	double *windowed; /* by window of time, sorted in each */
	size_t edges[LEVEL_STEPS + 1];
	int windows; /* so many; 0: not yet */
	size_t n;
	double tau;
	double scale; /* durations for one that was kept */
};

static int window_quantiles(struct ordered *o, int k, double q, double *ret)
{
	if (o->windows != k)
		stats_window_sort(o->ts, o->x, o->n, k, o->windowed, o->edges);
	o->windows = k;
	return stats_window_quantiles(o->windowed, o->edges, k, q, ret);
}

static void put_quantile(struct ordered *o, struct sample *s)
{
	double w[WINDOWS_MOST], q = compare_metrics[s->metric].quantile;
	int k = stats_window_count(o->n, o->tau, q);

	s->value = exp(gsl_stats_quantile_from_sorted_data(o->sorted, 1, o->n, q));
	s->n = o->n * o->scale;
	s->tau = o->tau;
	k = k ? window_quantiles(o, k, q, w) : 0;
	s->windows = k >= WINDOWS_LEAST / 2 ? k : 0;
	s->log = stats_mean_of(w, s->windows);
	s->wander = stats_wander(w, s->windows);
}

static void put_rate(const struct ordered *o, struct sample *s)
{
	double num[WINDOWS_MOST] = { 0 }, den[WINDOWS_MOST], span = o->ts[o->n - 1] - o->ts[0];
	int k = stats_window_count(o->n, o->tau, 0.5), w;
	size_t i;

	k = span > 0 ? k : 0;
	for (i = 1; i < o->n && k; i++) { /* the first one starts the time */
		w = (int)((o->ts[i] - o->ts[0]) / span * k);
		num[w < k ? w : k - 1] += o->scale;
	}
	for (w = 0; w < k; w++)
		den[w] = span / k / 1e9;
	s->value = span > 0 ? (o->n - 1) * o->scale / span * 1e9 : NAN;
	s->n = o->n * o->scale;
	s->tau = o->tau;
	s->windows = k;
	s->log = stats_log_ratio(num, den, k, false);
	s->wander = compare_wander(num, den, k);
}

/*
 * Where the level changes, and by how much: in at most LEVEL_PARTS parts, the segmentation that
 * causes use for windows, each edge proved against what scatters around the levels.
 */
static void put_levels(struct shape *s, const double *steps, size_t n)
{
	size_t edge[LEVELS_MAX + 1], k, i;
	double level, low, high, last = 0;
	struct scatter left;
	bool proved;

	for (s->levels = 1, k = 2; k <= LEVEL_PARTS; k++) {
		if (!stats_levels_cut(steps, n, 1, k, LEVEL_SHORT, edge))
			break;
		left = stats_levels_scatter(steps, n, edge, k);
		low = INFINITY;
		high = -INFINITY;
		for (proved = true, i = 0; i < k; i++, last = level) {
			level = gsl_stats_mean(steps + edge[i], 1, edge[i + 1] - edge[i]);
			low = fmin(low, level);
			high = fmax(high, level);
			proved &= i == 0 ||
				  (fabs(level - last) >= log(LEVEL_NEAR) &&
				   stats_levels_p(&left, level - last, edge[i] - edge[i - 1],
						  edge[i + 1] - edge[i]) < LEVEL_P);
		}
		if (!proved)
			continue;
		s->levels = (int)k;
		s->range = high - low;
	}
}

static int put_shape(struct measured *m, const struct reading *r, const struct series *v,
		     struct ordered *o, struct err *e)
{
	struct shape *s;
	size_t bytes = sizeof(double) * SHAPE_REPS * SHAPE_POINTS;
	double steps[LEVEL_STEPS];
	int i;

	if (GROW(m->shapes, m->n_shapes, "distributions", e) < 0)
		return ERR_FAIL;
	s = &m->shapes[m->n_shapes++];
	*s = (struct shape){ .subject = v->subject,
			     .what = compare_metrics[r->kind->first].what,
			     .n = o->n * o->scale,
			     .tau = o->tau };
	s->boot = malloc(bytes);
	if (!s->boot)
		return err_set(e, ERR_FAIL, "out of memory for distributions");
	if (!stats_quantile_boot(o->x, o->sorted, o->n, BLOCK_TAUS * o->tau, compare_shape_at,
				 SHAPE_POINTS, SHAPE_REPS, 1000 + m->n_shapes, s->at, s->boot)) {
		free(s->boot);
		s->boot = NULL;
	}
	for (i = 0; i < SHAPE_POINTS; i++)
		s->at[i] = exp(s->at[i]);
	for (i = 0; i < CDF_POINTS; i++)
		s->cdf[i] = exp(
			gsl_stats_quantile_from_sorted_data(o->sorted, 1, o->n, compare_cdf_at(i)));
	i = window_quantiles(o, LEVEL_STEPS, 0.5, steps);
	put_levels(s, steps, i);
	return 0;
}

static int put_series(struct measured *m, const struct reading *r, const struct series *v,
		      struct ordered *o, struct err *e)
{
	struct sample *s;
	const char *what = compare_metrics[r->kind->first].what;
	int i;

	for (i = r->kind->first;
	     compare_metrics[i].form == FORM_QUANTILE && strcmp(compare_metrics[i].what, what) == 0;
	     i++) {
		s = compare_add(m, &v->subject, i, e);
		if (!s)
			return ERR_FAIL;
		put_quantile(o, s);
	}
	if (r->kind->rate < N_COMPARE_METRICS) {
		s = compare_add(m, &v->subject, r->kind->rate, e);
		if (!s)
			return ERR_FAIL;
		put_rate(o, s);
	}
	return put_shape(m, r, v, o, e);
}

static int measure(struct measured *m, const struct reading *r, struct series *v, struct err *e)
{
	struct ordered o = { .ts = v->ts, .x = v->x, .n = v->n, .scale = v->every };
	int ret = ERR_FAIL;

	if (v->n < LEAST)
		return 0;
	o.sorted = malloc(v->n * sizeof(*o.sorted));
	o.windowed = malloc(v->n * sizeof(*o.windowed));
	if (!o.sorted || !o.windowed || !sort_keys(v->ts, v->x, v->n)) {
		ret = err_set(e, ERR_FAIL, "out of memory for durations");
		goto out;
	}
	memcpy(o.sorted, v->x, v->n * sizeof(*o.sorted));
	sort_numbers(o.sorted, o.n);
	o.tau = stats_tau(o.x, o.n);
	ret = put_series(m, r, v, &o, e);
out:
	free(o.sorted);
	free(o.windowed);
	return ret;
}

int compare_latencies(struct measured *m, sqlite3 *db, struct err *e)
{
	struct reading *r = malloc(sizeof(*r));
	size_t k, i;
	int ret = r ? 0 : err_set(e, ERR_FAIL, "out of memory for durations");

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && ret == 0; k++) {
		memset(r, 0, sizeof(*r));
		r->kind = &kinds[k];
		ret = read_sources(r, db, e);
		if (ret == 0 && r->n_sources)
			ret = read_rows(r, db, e);
		for (i = 0; i < r->n_series; i++) {
			if (ret == 0)
				ret = measure(m, r, &r->series[i], e);
			free(r->series[i].ts);
			free(r->series[i].x);
		}
	}
	free(r);
	return ret;
}
