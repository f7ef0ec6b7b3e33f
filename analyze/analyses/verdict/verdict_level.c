// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server without a change of latency is not healthy for that: it may be slow from the first
 * second on. What the recording supports without a baseline: waits, or the CPU time of one name,
 * are most of a latency above the limit, or requests wait to be read at nearly all instants. Time
 * in which other requests of the same server have the CPU is its load: it counts by instants only,
 * and where it is most of the latency, waits are not: all requests in the queue have the same one.
 */
#include "verdict_spent.h"

#include "analyze/store/request_rows.h"

#include <stdlib.h>
#include <string.h>

#define SATURATED 2.0	    /* %, of the time: idle, or without a request that waits */
#define MOST	  0.5	    /* of the latency, of the CPU time, of the recording */
#define INSTANTS  (1 << 22) /* that the recording is divided into */

struct level {
	const struct judged *j;
	int *change; /* of the number of requests that wait, by instant */
	double instant, first, last;
	struct spent of; /* all its requests */
};

static double mean_of(const struct judged *j)
{
	return j->queued + j->served;
}

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct level *v = arg;
	double from = ceil((double)(row->ts - row->queued) / v->instant);
	double to = floor((double)row->ts / v->instant);

	(void)e;
	v->first = fmin(v->first, (double)(row->ts - row->queued));
	v->last = fmax(v->last, (double)row->ts);
	if (from >= 0 && from < to && to <= INSTANTS) {
		v->change[(int)from]++;
		v->change[(int)to]--;
	}
	spent_take(&v->of, rowid, row);
	return 0;
}

static int read_level(struct analysis_ctx *c, struct level *v, struct err *e)
{
	int ret = spent_begin(&v->of, c->db, e);

	v->change = calloc(INSTANTS + 1, sizeof(*v->change));
	if (ret == 0 && !v->change)
		ret = err_set(e, ERR_FAIL, "out of memory for the level of latency");
	if (ret == 0)
		ret = requests_each(c->db, COLUMN_OF(request, split),
				    "SELECT id FROM service WHERE server=?1", v->j->about.id,
				    add_request, v, e);
	return ret < 0 ? ret : spent_read(&v->of, c->db, v->j->about.id, 0, (double)c->duration, e);
}

/* Share of the time from the first arrival to the last read in which a request waits, in %. */
static double instants(const struct analysis_ctx *c, const struct level *v)
{
	double from = v->first / v->instant, to = v->last / v->instant;
	int i, waiting = 0, full = 0;

	for (i = 0; i < INSTANTS; i++) {
		waiting += v->change[i];
		full += waiting > 0;
	}
	return to - from >= 1 && v->last - v->first >= MOST * (double)c->duration
		       ? 100 * full / (to - from)
		       : 0;
}

/* The name with most of the CPU time of the server; 0: several share it, or there are no names. */
static int read_name(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	return db_int(
		c->db, &j->name, e,
		"WITH n AS (SELECT name, sum(cpu) AS cpu FROM request_stat WHERE service IN"
		" (SELECT id FROM service WHERE server=?1) GROUP BY name) SELECT coalesce((SELECT"
		" name FROM n WHERE cpu > ?2 * (SELECT sum(cpu) FROM n)), 0)",
		"id", j->about.id, MOST);
}

/* Time of requests besides queueing for others, which consists of the same in proportion. */
static double alone_of(const struct level *v)
{
	return v->of.total - v->of.in[IN_queue] - v->of.in[IN_unknown];
}

static void judge_wait(struct judged *j, const struct level *v, const struct limits *l)
{
	double waits = 0;
	int i, most = IN_runq;

	for (i = 0; i < N_IN; i++) {
		if (i == IN_cpu || i == IN_queue || i == IN_unknown)
			continue;
		waits += v->of.in[i];
		most = v->of.in[i] > v->of.in[most] ? i : most;
	}
	j->part = waits / alone_of(v);
	if (!(j->part >= fmax(MOST, 1 - 1 / l->factor)) || j->part * mean_of(j) < l->latency ||
	    v->of.in[IN_queue] > MOST * v->of.total)
		return;
	j->status = STATUS_UNCHANGED;
	j->kind = VERDICT_wait;
	j->where = spent_says[most];
	j->where_part = v->of.in[most] / waits;
}

static void judge_queue(struct judged *j, const struct limits *l)
{
	bool full = j->idle <= SATURATED && !(j->busy > 0); /* by other programs */

	if (j->waiting < 100 - SATURATED || j->queued < l->latency ||
	    mean_of(j) < l->factor * j->served)
		return;
	j->status = full ? STATUS_PROBLEM : STATUS_UNCHANGED;
	j->kind = full ? VERDICT_overload : VERDICT_queue;
}

static int judge_cost(struct analysis_ctx *c, struct judged *j, const struct level *v,
		      const struct limits *l, struct err *e)
{
	double cpu = v->of.in[IN_cpu];
	int ret;

	j->part = cpu / alone_of(v);
	if (!(j->part >= fmax(MOST, 1 - 1 / l->factor)) ||
	    cpu / v->of.total * mean_of(j) < l->latency)
		return 0;
	ret = read_name(c, j, e);
	if (ret < 0 || !j->name)
		return ret;
	j->status = STATUS_UNCHANGED;
	j->kind = VERDICT_cost;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A level holds in most windows of time: of their means, the median. A few stalls are no level. */
static double typical(const struct judged *j)
{
	double means[WINDOWS];
	int i, n = 0;

	for (i = 0; i < j->n_windows; i++)
		if (j->windows[i].n > 0)
			means[n++] = j->windows[i].sum / j->windows[i].n;
	qsort(means, (size_t)n, sizeof(*means), by_value);
	return n ? means[n / 2] : 0;
}

int verdict_level(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct level v = { .j = j, .first = INFINITY };
	int ret;

	if (fmin(mean_of(j), typical(j)) < l->latency)
		return 0;
	ret = verdict_kept_level(c, j, l, e);
	if (ret == 0)
		ret = verdict_pool_level(c, j, l, e);
	if (ret)
		return ret < 0 ? ret : 0;
	v.instant = (double)(c->duration > 0 ? c->duration : 1) / INSTANTS;
	ret = read_level(c, &v, e);
	if (ret < 0 || v.of.total <= 0)
		goto out;
	j->waiting = instants(c, &v);
	if (!(j->busy > 0)) /* else it is known what they wait for */
		judge_wait(j, &v, l);
	if (j->status == STATUS_NONE)
		judge_queue(j, l);
	if (j->status == STATUS_NONE && !(j->busy > 0))
		ret = judge_cost(c, j, &v, l, e);
out:
	spent_free(&v.of);
	free(v.change);
	return ret;
}
