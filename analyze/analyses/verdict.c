// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is there a problem? One row a server. A problem needs all of: requests, or a whole process,
 * stood still or became slower; by a material size (the limits in verdict.h); with an interval
 * that excludes no change; and not from the start of the recorder alone. Pauses count as events,
 * never the requests that waited in them. A slowest hundredth always exists and is no problem.
 */
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#define SERVERS_MOST 64
#define SATURATED    2.0 /* %, idle */
#define QUEUE_TIMES  5.0 /* requests wait so many times their service time */
#define COUNT_MARGIN 0.5 /* share of requests outside pauses, else pauses are how it serves */

static const struct metric metrics[] = {
	{ "requests", "", NEITHER_IS_BETTER, "with an answer" },
	{ "rate", "1/s", HIGHER_IS_BETTER, "requests answered" },
	{ "p50", "ns", LOWER_IS_BETTER, "median latency, from arrival to the end of the answer" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "p99 outside", "ns", LOWER_IS_BETTER, "99th percentile outside pauses" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "idle", "%", HIGHER_IS_BETTER, "of the busiest thread" },
	{ "pauses", "", LOWER_IS_BETTER, "that count" },
	{ "paused", "ns", LOWER_IS_BETTER, "their total" },
	{ 0 },
};

static const char *const status_names[] = { "problem", "unknown", "none" };

static int read_limits(struct analysis_ctx *c, struct limits *l, struct err *e)
{
	static const char sql[] =
		"SELECT max(CAST(value AS REAL)) FILTER (WHERE key='limit_pause_ns'),"
		" max(CAST(value AS REAL)) FILTER (WHERE key='limit_latency_ns'),"
		" max(CAST(value AS REAL)) FILTER (WHERE key='limit_factor') FROM recording";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "");

	*l = (struct limits){ LIMIT_PAUSE, LIMIT_LATENCY, LIMIT_FACTOR };
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_double(q, 0) > 0)
		l->pause = sqlite3_column_double(q, 0);
	if (ret > 0 && sqlite3_column_double(q, 1) > 0)
		l->latency = sqlite3_column_double(q, 1);
	if (ret > 0 && sqlite3_column_double(q, 2) > 1)
		l->factor = sqlite3_column_double(q, 2);
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static double length(const struct judged_pause *p)
{
	return (double)(p->end - p->start);
}

/* One request that only waits for input is no pause of the server. */
static bool serves(const struct judged_pause *p)
{
	return p->waiting > 1 || p->slept < 0.5;
}

/* Which pauses count: long ones each, short ones if all of them are a share of the time. */
static void count_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l)
{
	double usual = isnan(j->p99_outside) ? 0 : j->p99_outside, sum = 0;
	int i;

	if ((double)j->outside.n < COUNT_MARGIN * j->requests)
		return;
	for (i = 0; i < j->n_pauses; i++) {
		struct judged_pause *p = &j->pauses[i];

		if (serves(p) && length(p) >= SHORT_PAUSE && length(p) >= SHORT_TIMES * usual)
			sum += length(p);
	}
	for (i = 0; i < j->n_pauses; i++) {
		struct judged_pause *p = &j->pauses[i];
		bool is_short = sum >= SHORT_SHARE * (double)c->duration &&
				length(p) >= SHORT_PAUSE && length(p) >= SHORT_TIMES * usual;
		bool is_long = length(p) >= l->pause && length(p) >= l->factor * usual;

		p->counts = serves(p) && (is_short || is_long);
		if (!p->counts)
			continue;
		j->counted++;
		j->paused += length(p);
		j->waited += (double)p->waiting;
		j->start = isnan(j->start) ? (double)p->start : j->start;
		j->end = (double)p->end;
	}
}

static int judge_server(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e)
{
	s64 lossy = 0;
	int ret = verdict_read(c, j, e), changed;

	if (ret == 0)
		ret = db_int(
			c->db, &lossy, e,
			"SELECT total(lost) > ?1 * total(seen) FROM coverage WHERE grp='syscalls'",
			"d", LOST_MOST);
	if (ret < 0)
		return ret;
	count_pauses(c, j, l);
	changed = verdict_change(c, j, l, e);
	if (changed < 0)
		return changed;
	j->status = STATUS_PROBLEM;
	if (changed && j->counted && j->paused < j->end - j->start)
		j->kind = "slower";
	else if (j->counted)
		j->kind = "pauses";
	else if (changed)
		j->kind = "slower";
	else if (j->idle <= SATURATED && j->queued >= l->latency &&
		 j->queued >= QUEUE_TIMES * j->served && j->requests >= REQUESTS_LEAST)
		j->kind = "overload";
	else
		j->status = lossy || j->requests < REQUESTS_LEAST ? STATUS_UNKNOWN : STATUS_NONE;
	if (j->status == STATUS_UNKNOWN)
		j->kind = lossy ? "loss" : "requests";
	if (strcmp(j->kind, "pauses") == 0)
		j->n = j->counted;
	return 0;
}

/* Without requests: did its busiest thread wait for a CPU or a disk for long? */
static int judge_process(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT count(*) FILTER (WHERE bad), total(dur) FILTER (WHERE bad), min(ts) FILTER (WHERE"
		" bad), max(ts + dur) FILTER (WHERE bad), max(dur) FROM (SELECT ts, dur, dur >= ?1 AND"
		" 2 * (woken + preempted + disk + blocked) > dur AS bad FROM pause WHERE server=0 AND"
		" NOT lossy)";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "d", STANDSTILL);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	j->status = STATUS_UNKNOWN;
	j->kind = "requests";
	j->p50 = j->p99 = j->p99_outside = j->max = j->idle = j->rate = NAN;
	if (ret > 0) {
		j->pause_max = sqlite3_column_double(q, 4);
		j->n = j->counted = sqlite3_column_int(q, 0);
	}
	if (ret > 0 && j->counted) {
		j->status = STATUS_PROBLEM;
		j->kind = "standstill";
		j->paused = sqlite3_column_double(q, 1);
		j->start = sqlite3_column_double(q, 2);
		j->end = sqlite3_column_double(q, 3);
	}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Problems first, by the time that they took; then by requests. */
static int by_rank(const void *a, const void *b)
{
	const struct judged *x = a, *y = b;
	double m = x->counted ? x->paused : x->end - x->start;
	double n = y->counted ? y->paused : y->end - y->start;

	if ((x->status == STATUS_PROBLEM) != (y->status == STATUS_PROBLEM))
		return x->status == STATUS_PROBLEM ? -1 : 1;
	if (x->status == STATUS_PROBLEM && m != n && !isnan(m) && !isnan(n))
		return m > n ? -1 : 1;
	if (x->requests != y->requests)
		return x->requests > y->requests ? -1 : 1;
	return x->about.id < y->about.id ? -1 : x->about.id > y->about.id;
}

static int put_row(struct analysis_ctx *c, const struct judged *j, int rank, struct err *e)
{
	return db_insert(c->db, TABLE_verdict, e, "isissddiidddddndiiiidddddiis", (s64)rank,
			 subject_names[j->about.kind], j->about.id, status_names[j->status],
			 j->kind, j->start, j->end, c->duration, (s64)j->requests, j->rate, j->p50,
			 j->p99, j->p99_outside, j->max, j->idle, (s64)j->counted, (s64)j->paused,
			 (s64)j->pause_max, (s64)j->waited, j->slow, j->baseline, j->ratio,
			 j->ratio_low, j->ratio_high, (s64)j->n, j->finding, c->verdict);
}

static int mark_pauses(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	sqlite3_stmt *q;
	int i, ret = db_query(&q, c->db, e, "UPDATE pause SET counts=1 WHERE rowid=?", "");

	for (i = 0; i < j->n_pauses && ret == 0; i++)
		if (j->pauses[i].counts)
			ret = db_again(q, e, "i", j->pauses[i].id);
	sqlite3_finalize(q);
	return ret;
}

static int put_numbers(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct {
		const char *name;
		double value;
	} values[] = {
		{ "requests", j->requests },
		{ "rate", j->rate },
		{ "p50", j->p50 },
		{ "p99", j->p99 },
		{ "p99 outside", j->p99_outside },
		{ "max", j->max },
		{ "idle", j->idle },
		{ "pauses", j->counted },
		{ "paused", j->paused },
	};
	struct buf name = { 0 };
	size_t i;
	int ret = subject_text(&name, c->db, j->about, e);

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, name.data ? name.data : "", values[i].name, values[i].value,
				 NO_INTERVAL, (s64)j->requests);
	buf_free(&name);
	return ret;
}

static int put_limits(struct analysis_ctx *c, const struct limits *l, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("pause", l->pause, "ns"),
		VALUE_NUMBER("latency", l->latency, "ns"),
		VALUE_NUMBER("factor", l->factor, ""),
		{ 0 },
	};
	struct finding f = {
		FINDING_verdict_limits, NOTE, LIMIT, { SUBJECT_none, 0 }, NULL, values, 0
	};

	return put_finding(c, e, &f);
}

static int read_subjects(struct analysis_ctx *c, struct judged *v, int *ret_n, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(
		&q, c->db, e,
		"SELECT 's', id FROM (SELECT id FROM server WHERE turns > 0 ORDER BY turns DESC, id LIMIT ?1)"
		" UNION ALL SELECT 'p', pid FROM (SELECT pid FROM thread WHERE NOT EXISTS"
		" (SELECT 1 FROM server WHERE turns > 0) ORDER BY run DESC, tid LIMIT 1)",
		"i", (s64)SERVERS_MOST);

	*ret_n = 0;
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		v[(*ret_n)++] = (struct judged){
			.about = { *(const char *)sqlite3_column_text(q, 0) == 's'
					   ? SUBJECT_server
					   : SUBJECT_process,
				   sqlite3_column_int64(q, 1) },
			.kind = "",
			.start = NAN,
			.end = NAN,
			.slow = NAN,
			.baseline = NAN,
			.ratio = NAN,
			.ratio_low = NAN,
			.ratio_high = NAN,
		};
	sqlite3_finalize(q);
	return ret;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct judged *v = calloc(SERVERS_MOST + 1, sizeof(*v));
	struct limits l;
	int i, n = 0, ret = v ? 0 : err_set(e, ERR_FAIL, "out of memory for the verdict");

	if (ret == 0)
		ret = db_exec(c->db, e,
			      "DELETE FROM verdict; UPDATE pause SET counts=0 WHERE counts");
	if (ret == 0)
		ret = read_limits(c, &l, e);
	if (ret == 0)
		ret = read_subjects(c, v, &n, e);
	for (i = 0; i < n && ret == 0; i++)
		ret = v[i].about.kind == SUBJECT_server ? judge_server(c, &v[i], &l, e)
							: judge_process(c, &v[i], e);
	if (ret == 0)
		qsort(v, (size_t)n, sizeof(*v), by_rank);
	for (i = 0; i < n && ret == 0; i++) {
		ret = verdict_say(c, &v[i], e);
		if (ret == 0)
			ret = put_row(c, &v[i], i + 1, e);
		if (ret == 0)
			ret = mark_pauses(c, &v[i], e);
		if (ret == 0 && v[i].requests > 0)
			ret = put_numbers(c, &v[i], e);
	}
	if (ret == 0)
		ret = put_limits(c, &l, e);
	for (i = 0; i < n; i++) {
		hist_free(&v[i].all);
		hist_free(&v[i].outside);
		free(v[i].pauses);
	}
	free(v);
	return ret;
}

const struct analysis analysis_verdict = {
	.name = "verdict",
	.doc = "Is there a problem",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
