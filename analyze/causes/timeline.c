// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What happened while a slow unit of work lasted: its thread, the threads that woke it or had
 * the CPU that it waited for, and the same of these. The rows are in tables timeline_unit and
 * timeline, for pictures and exports; the units are the examples of causes and the
 * slowest of all.
 */
#include "analyze/analyses/analysis.h"
#include "analyze/causes/request/request_path.h"
#include "analyze/causes/units/spans.h"
#include "analyze/store/columns/columns.h"

#include <stdio.h>
#include <string.h>

#define UNITS_MAX    6
#define EXAMPLES_MAX 3
#define THREADS_MAX  16
#define ROWS_MAX     2000 /* of one unit */
#define HOPS_MAX     4
#define SLOWEST	     3

static const struct metric metrics[] = {
	{ "at", "ns", NEITHER_IS_BETTER, "start, since the start of the recording" },
	{ "wall", "ns", LOWER_IS_BETTER, "length" },
	{ "run", "ns", NEITHER_IS_BETTER, "on a CPU" },
	{ "runq", "ns", LOWER_IS_BETTER, "in the run queue" },
	{ "asleep", "ns", LOWER_IS_BETTER, "waiting" },
	{ "sleeps", "", NEITHER_IS_BETTER, "waits" },
	{ "threads", "", NEITHER_IS_BETTER, "threads in its timeline" },
	{ 0 },
};

struct shown {
	s64 ts, dur;
	u32 tid;
	char what[160];
	struct {
		u32 tid;
		int hop;
	} threads[THREADS_MAX];
	int n_threads;
	int rows;
	bool cut;
};

struct drawing {
	struct analysis_ctx *c;
	struct shown units[UNITS_MAX];
	int n;
	struct spans spans;
	struct names names;
};

/* 1: it was added; 0: it is there, or there is no room. */
static int add_unit(struct drawing *d, const struct shown *s)
{
	int i;

	for (i = 0; i < d->n; i++)
		if (d->units[i].ts == s->ts && d->units[i].dur == s->dur)
			return 0;
	if (d->n == UNITS_MAX || !s->tid || s->dur <= 0)
		return 0;
	d->units[d->n++] = *s;
	return 1;
}

static int add_row(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct shown s = { .ts = sqlite3_column_int64(q, 1),
			   .dur = sqlite3_column_int64(q, 2),
			   .tid = sqlite3_column_int64(q, 3) };

	(void)e;
	snprintf(s.what, sizeof(s.what), "%s", sqlite3_column_text(q, 0));
	add_unit(arg, &s);
	return 0;
}

/* The examples of causes. */
static int add_examples(struct drawing *d, struct err *e)
{
	static const char sql[] =
		"SELECT unit_kind || 's of ', rank, subject_kind, subject, example_ts, example_dur,"
		" example_tid FROM cause WHERE example_dur > 0 ORDER BY rank, rowid";
	struct buf what = { 0 };
	sqlite3_stmt *q;
	int most = EXAMPLES_MAX, ret = db_query(&q, d->c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0 && most > 0) {
		struct shown s = { .ts = sqlite3_column_int64(q, 4),
				   .dur = sqlite3_column_int64(q, 5),
				   .tid = sqlite3_column_int64(q, 6) };
		const char *kind = (const char *)sqlite3_column_text(q, 2);
		struct subject of = { subject_kind_of(kind ? kind : ""),
				      sqlite3_column_int64(q, 3) };

		buf_clear(&what);
		ret = buf_printf(&what, e, "%s", sqlite3_column_text(q, 0));
		if (ret == 0)
			ret = subject_text(&what, d->c->db, of, e);
		if (ret == 0)
			ret = buf_printf(&what, e, ": example of cause %lld",
					 sqlite3_column_int64(q, 1));
		if (ret < 0)
			break;
		snprintf(s.what, sizeof(s.what), "%s", what.data);
		most -= add_unit(d, &s);
	}
	sqlite3_finalize(q);
	buf_free(&what);
	return ret < 0 ? ret : 0;
}

static int keep_slowest(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct row_request *slowest = arg;
	int i;

	(void)rowid;
	(void)e;
	if (row->lossy || row->split != 1 ||
	    row->dur + row->queued <= slowest[SLOWEST - 1].dur + slowest[SLOWEST - 1].queued)
		return 0;
	for (i = SLOWEST - 1;
	     i > 0 && row->dur + row->queued > slowest[i - 1].dur + slowest[i - 1].queued; i--)
		slowest[i] = slowest[i - 1];
	slowest[i] = *row;
	return 0;
}

static int add_slowest(struct drawing *d, struct err *e)
{
	static const char sql[] =
		"SELECT 'request of ' || coalesce((SELECT nullif(max(comm),'') FROM process p WHERE"
		" p.pid=?1),'?') || '[' || ?1 || '], the slowest', ?2, ?3, ?4";
	struct row_request slowest[SLOWEST] = { 0 };
	int i, ret;

	ret = rows_each(d->c->db, TABLE_request, COLUMNS_ALL, keep_slowest, slowest, e);
	for (i = 0; i < SLOWEST && ret == 0 && slowest[i].dur + slowest[i].queued > 0; i++)
		ret = db_each(d->c->db, e, add_row, d, sql, "iiii", slowest[i].pid,
			      slowest[i].ts - slowest[i].queued, slowest[i].dur + slowest[i].queued,
			      slowest[i].tid);
	return ret;
}

static int choose(struct drawing *d, struct err *e)
{
	static const char calls[] =
		"SELECT 'call of ' || s.function || ', the slowest', c.ts, c.dur, c.tid FROM call c JOIN"
		" site s ON s.id=c.site WHERE c.lossy=0 AND c.run IS NOT NULL AND c.site=(SELECT site"
		" FROM call_stat WHERE NOT counted ORDER BY total DESC LIMIT 1) ORDER BY c.dur DESC LIMIT 3";
	int ret = add_examples(d, e);

	if (ret == 0)
		ret = db_each(d->c->db, e, add_row, d, calls, "");
	return ret < 0 ? ret : add_slowest(d, e);
}

static void add_thread(struct shown *s, u32 tid, int hop)
{
	int i;

	for (i = 0; i < s->n_threads; i++)
		if (s->threads[i].tid == tid)
			return;
	s->cut |= s->n_threads == THREADS_MAX;
	if (!tid || s->n_threads == THREADS_MAX)
		return;
	s->threads[s->n_threads].tid = tid;
	s->threads[s->n_threads++].hop = hop;
}

/* Those who woke one of the threads, or had its CPU, follow it; they stand after it in the list.
 */
static void gather(const struct drawing *d, struct shown *s)
{
	const struct span *p;
	int i;

	add_thread(s, s->tid, 0);
	for (i = 0; i < s->n_threads && s->threads[i].hop < HOPS_MAX; i++)
		for (p = spans_at(&d->spans, s->threads[i].tid, s->ts); p && p->ts < s->ts + s->dur;
		     p = spans_next(&d->spans, p)) {
			if (p->state == SPAN_woken || p->state == SPAN_preempted)
				add_thread(s, p->object > 0 ? p->object : 0, s->threads[i].hop + 1);
			else if (p->waker && p->context == CONTEXT_TASK &&
				 p->ts + p->dur <= s->ts + s->dur)
				add_thread(s, p->waker, s->threads[i].hop + 1);
		}
}

static int put_span(struct drawing *d, int unit, const struct shown *s, int hop, const char *thread,
		    const struct span *p, struct err *e)
{
	s64 from = p->ts > s->ts ? p->ts : s->ts, ns = span_within(p, s->ts, s->ts + s->dur);

	return db_run(
		d->c->db, e,
		"INSERT INTO timeline SELECT ?,?,?,?,?,?,?,(SELECT name FROM state WHERE id=?),"
		"(SELECT name FROM syscall_name WHERE nr=? LIMIT 1),nullif(?,-1),nullif(?,0),"
		"nullif(?,255)",
		"iiisiiiiiiii", (s64)unit, (s64)hop, (s64)p->tid, thread, from, ns, (s64)p->cpu,
		(s64)p->state, (s64)p->nr, p->object, (s64)p->waker, (s64)p->context);
}

static int put_thread(struct drawing *d, int unit, struct shown *s, int k, struct err *e)
{
	struct who w = names_of(&d->names, s->threads[k].tid);
	const struct span *p;
	char thread[40];
	int ret = 0;

	snprintf(thread, sizeof(thread), "%s[%u]", w.comm[0] ? w.comm : "?", s->threads[k].tid);
	for (p = spans_at(&d->spans, s->threads[k].tid, s->ts);
	     p && p->ts < s->ts + s->dur && ret == 0; p = spans_next(&d->spans, p)) {
		if (s->rows++ == ROWS_MAX) {
			s->cut = true;
			break;
		}
		ret = put_span(d, unit, s, s->threads[k].hop, thread, p, e);
	}
	return ret;
}

static int put_numbers(struct drawing *d, const struct shown *s, struct err *e)
{
	s64 run = 0, runq = 0, asleep = 0, sleeps = 0, ns;
	const struct span *p;
	char subject[200];
	size_t i;
	int ret = 0;

	for (p = spans_at(&d->spans, s->tid, s->ts); p && p->ts < s->ts + s->dur;
	     p = spans_next(&d->spans, p)) {
		ns = span_within(p, s->ts, s->ts + s->dur);
		run += p->state == SPAN_run ? ns : 0;
		runq += p->state == SPAN_woken || p->state == SPAN_preempted ? ns : 0;
		asleep += p->state > SPAN_preempted && p->state != SPAN_unknown ? ns : 0;
		sleeps += p->state > SPAN_preempted && p->state != SPAN_unknown;
	}
	const struct {
		const char *name;
		s64 value;
	} values[] = {
		{ "at", s->ts },
		{ "wall", s->dur },
		{ "run", run },
		{ "runq", runq },
		{ "asleep", asleep },
		{ "sleeps", sleeps },
		{ "threads", s->n_threads },
	};

	snprintf(subject, sizeof(subject), "%s, at %.6f s", s->what, s->ts / 1e9);
	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(d->c, e, subject, values[i].name, values[i].value, NO_INTERVAL, 1);
	return ret;
}

static int put_unit(struct drawing *d, int unit, struct shown *s, struct err *e)
{
	int k, ret = 0;

	gather(d, s);
	for (k = 0; k < s->n_threads && ret == 0; k++)
		ret = put_thread(d, unit, s, k, e);
	if (ret == 0)
		ret = db_insert(d->c->db, TABLE_timeline_unit, e, "isiiii", (s64)unit, s->what,
				s->ts, s->dur, (s64)s->tid, (s64)s->cut);
	return ret < 0 ? ret : put_numbers(d, s, e);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	struct drawing d = { .c = c };
	struct moment moments[UNITS_MAX];
	int i, ret = db_exec(c->db, e, "DELETE FROM timeline; DELETE FROM timeline_unit");

	if (ret == 0)
		ret = request_paths_put(c->db, e);
	if (ret == 0)
		ret = choose(&d, e);
	if (ret < 0 || !d.n)
		return ret;
	for (i = 0; i < d.n; i++)
		moments[i] = (struct moment){ d.units[i].ts, d.units[i].ts + d.units[i].dur };
	ret = spans_load(&d.spans, c->db, moments, d.n, e);
	if (ret == 0)
		ret = names_load(&d.names, c->db, e);
	for (i = 0; i < d.n && ret == 0; i++)
		ret = put_unit(&d, i + 1, &d.units[i], e);
	spans_free(&d.spans);
	names_free(&d.names);
	return ret;
}

const struct analysis analysis_timeline = {
	.name = "timeline",
	.doc = "What happened in the slowest units",
	.needs = "sched",
	.metrics = metrics,
	.rows = UNITS_MAX,
	.run = run,
};
