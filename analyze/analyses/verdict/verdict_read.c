// SPDX-License-Identifier: GPL-2.0-or-later
/* The numbers of one server: one pass over its requests. */
#include "verdict.h"

#include "analyze/store/request_rows.h"

#include <stdlib.h>

struct at_quantile {
	u64 above;
	double value;
};

static void on_bucket(void *arg, u64 low, u64 high, u64 n)
{
	struct at_quantile *q = arg;

	if (isnan(q->value) && n > q->above)
		q->value = (double)low +
			   ((double)high - 1 - (double)low) * (double)q->above / (double)n;
	q->above = n > q->above ? 0 : q->above - n;
}

double verdict_quantile(const struct hist *h, double q)
{
	struct at_quantile at = { (u64)(q * (double)h->n), NAN };

	hist_each(h, on_bucket, &at);
	return at.value > (double)h->max ? (double)h->max : at.value;
}

/* Those of parts that are shorter than the limit never count: none takes the place of another. */
static int read_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e)
{
	static const char sql[] =
		"SELECT id, ts, ts + dur, waiting, victim_wait, edge, 1.0 * (poll + socket) / dur,"
		" 1.0 * (woken + preempted) / dur, service, name, usual, waited, stall,"
		" 1.0 * run / dur, 1.0 * poll / dur, victims FROM (SELECT * FROM pause WHERE server=?1 AND NOT lossy"
		" AND (service + name=0 OR dur >= ?3) ORDER BY id LIMIT ?2)"
		" ORDER BY service + name > 0, ts"; /* ids are by length */
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iid", j->about.id, (s64)JUDGED_PAUSES, l->pause);

	if (ret < 0)
		return ret;
	j->pauses = calloc(JUDGED_PAUSES, sizeof(*j->pauses));
	ret = j->pauses ? 0 : err_set(e, ERR_FAIL, "out of memory for pauses");
	while (ret >= 0 && j->n_pauses < JUDGED_PAUSES && (ret = db_step(q, e)) > 0) {
		struct judged_pause *p = &j->pauses[j->n_pauses];
		double dur;

		p->id = sqlite3_column_int64(q, 0);
		p->start = sqlite3_column_int64(q, 1);
		p->end = sqlite3_column_int64(q, 2);
		p->waiting = sqlite3_column_int64(q, 3);
		p->victim_wait = sqlite3_column_int64(q, 4);
		p->slept = sqlite3_column_double(q, 6);
		p->queued = sqlite3_column_double(q, 7);
		dur = (double)(p->end - p->start);
		if (sqlite3_column_int(q, 5) && dur < EDGE_LEAST)
			continue;
		p->service = sqlite3_column_int64(q, 8);
		p->name = sqlite3_column_int64(q, 9);
		p->part_usual = sqlite3_column_double(q, 10);
		p->part_waited = sqlite3_column_double(q, 11);
		p->stall = sqlite3_column_int(q, 12);
		p->ran = sqlite3_column_double(q, 13);
		p->polled = sqlite3_column_double(q, 14);
		p->victims = sqlite3_column_int64(q, 15);
		j->n_pauses++;
		if (judged_is_part(p))
			continue;
		j->whole = j->n_pauses;
		j->pause_max = dur > j->pause_max ? dur : j->pause_max;
	}
	return db_end(q, ret);
}

bool verdict_in_pause(const struct judged *j, double from, double to)
{
	double start, end;
	int i;

	for (i = 0; i < j->n_pauses; i++) {
		start = fmax((double)j->pauses[i].start, from);
		end = fmin((double)j->pauses[i].end, to);
		if (j->pauses[i].counts && 2 * (end - start) >= to - from)
			return true;
	}
	return false;
}

int verdict_pause_after(const struct judged *j, s64 ts)
{
	int low = 0, high = j->whole, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (j->pauses[mid].end <= ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The longest pause of SHORT_PAUSE or more that touches it; NULL: none. */
static struct judged_pause *pause_at(const struct judged *j, s64 from, s64 to)
{
	struct judged_pause *longest = NULL, *p;
	s64 most = SHORT_PAUSE - 1;
	int low = verdict_pause_after(j, from);

	for (; low < j->whole && j->pauses[low].start < to; low++) {
		p = &j->pauses[low];
		if (p->end - p->start <= most)
			continue;
		most = p->end - p->start;
		longest = p;
	}
	return longest;
}

/* A recording may claim times far from its own, which no int holds. */
int verdict_window_at(const struct judged *j, double ts)
{
	return (int)fmin(fmax(ts / j->width, 0), j->n_windows - 1);
}

/* A request that lasts longer than twice its longest pause is slow by more than that. */
static void add(struct judged *j, s64 arrival, s64 ts, s64 end, bool quick)
{
	u64 took = end > arrival ? (u64)(end - arrival) : 0;
	struct judged_pause *p = pause_at(j, arrival, end);
	bool most = p && (u64)(p->end - p->start) >= took / 2;
	struct verdict_window *w =
		most ? &p->inside : &j->windows[verdict_window_at(j, (double)end)];

	hist_add(&j->all, took);
	j->queued += (double)(ts - arrival);
	j->served += (double)(end - ts);
	if (p && !most)
		p->longer++;
	if (!p)
		hist_add(&j->outside, took);
	if (quick && !most)
		return;
	w->n++;
	w->sum += (double)took;
	w->logs += log((double)took + 1);
	if ((double)took > w->longest) {
		w->longest = (double)took;
		w->from = (double)arrival;
	}
}

void verdict_take_pauses(struct judged *j)
{
	struct verdict_window *w;
	int i;

	for (i = 0; i < j->whole; i++) {
		const struct judged_pause *p = &j->pauses[i];

		if (p->counts)
			continue;
		w = &j->windows[verdict_window_at(j, (double)p->end)];
		w->n += p->inside.n;
		w->sum += p->inside.sum;
		w->logs += p->inside.logs;
		if (p->inside.longest > w->longest) {
			w->longest = p->inside.longest;
			w->from = p->inside.from;
		}
	}
}

static void add_traffic(struct judged *j, const struct row_request *row)
{
	struct verdict_traffic *t =
		&j->traffic[verdict_window_at(j, (double)row->ts + (double)row->dur)];
	struct verdict_traffic *first =
		&j->traffic[verdict_window_at(j, (double)row->ts - (double)row->queued)];
	double answers = row->requests > 1 ? (double)row->requests : 1,
	       took = (double)row->dur + (double)row->queued;

	first->arrived++;
	first->took += took;
	first->logs += log(took + 1);
	first->longest = fmax(first->longest, took);
	t->exchanges++;
	t->waited += took;
	t->queued += (double)row->queued;
	t->answers += answers;
	t->errors += fmin((double)row->errors, answers);
}

struct reading {
	struct judged *j;
	struct opening *opening;
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct reading *r = arg;

	(void)rowid;
	(void)e;
	r->j->begins = fmin(r->j->begins, (double)(row->ts - row->queued));
	add_traffic(r->j, row);
	add(r->j, row->ts - row->queued, row->ts, row->ts + row->dur,
	    verdict_is_quick(r->j, row->name, row->errors, row->requests));
	verdict_opening_add(r->opening, row);
	return 0;
}

static int read_requests(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	struct reading r = { .j = j };
	int ret = verdict_opening_new(&r.opening, c, j->about.id, e);

	if (ret == 0)
		ret = requests_each(c->db,
				    COLUMN_OF(request, errors) | COLUMN_OF(request, requests) |
					    COLUMN_OF(request, name) | COLUMN_OF(request, pid) |
					    COLUMN_OF(request, fd),
				    "SELECT id FROM service WHERE server=?1", j->about.id,
				    add_request, &r, e);
	verdict_opening_end(r.opening, j);
	return ret;
}

/* Errors that no request has: the server ends a connection. Each is an answer of its own. */
static int add_ended(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct judged *j = arg;
	struct verdict_traffic *t = &j->traffic[verdict_window_at(j, sqlite3_column_double(q, 0))];

	(void)e;
	t->answers++;
	t->errors++;
	return 0;
}

static int read_ended(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT id FROM service WHERE server=?1), x AS MATERIALIZED (SELECT ts, tid"
		" FROM request_error WHERE protocol IN (6, 7) AND name IS NULL AND status<>0 AND service IN s), r AS"
		" MATERIALIZED (SELECT tid, ts, ts + dur AS end FROM request WHERE EXISTS (SELECT 1 FROM x) AND errors"
		" > 0 AND service IN s) SELECT ts FROM x WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.tid=x.tid AND x.ts"
		" BETWEEN r.ts AND r.end)";

	return db_each(c->db, e, add_ended, j, sql, "i", j->about.id);
}

/* Known of servers with requests that have a name. */
static int read_errors(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char read[] = "SELECT CAST(total(received) AS INT) FROM service WHERE"
				   " server=?1";
	static const char errors[] =
		"SELECT CAST(total(errors) AS INT) FROM request_stat WHERE service IN (SELECT id FROM service"
		" WHERE server=?1)";
	s64 n = 0, failed = 0;
	int ret = db_int(c->db, &n, e, read, "i", j->about.id);

	if (ret == 0)
		ret = db_int(c->db, &failed, e, errors, "i", j->about.id);
	j->read = n > 0 ? (double)n : NAN;
	j->errors = n > 0 ? (double)failed : NAN;
	return ret;
}

/*
 * Requests without an answer at the end, whose name always had answers before, in far less time. A
 * command that awaits something, or without any answer yet, is none.
 */
static int read_overdue(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH a AS (SELECT name, max(max) AS longest, total(exchanges) AS n FROM request_stat WHERE service IN"
		" (SELECT id FROM service WHERE server=?1) AND name > 0 GROUP BY name) SELECT count(*) FILTER (WHERE n >= ?3"
		" AND ?2 - u.ts > ?4 * a.longest), count(*) FILTER (WHERE n >= ?5 AND u.read NOT NULL AND ?2 - u.ts >="
		" ?6 AND ?2 - u.ts > ?7 * a.longest) FROM unanswered u JOIN a USING(name) WHERE u.rest IS NULL AND u.service IN (SELECT id"
		" FROM service WHERE server=?1) AND NOT EXISTS (SELECT 1 FROM request_name n WHERE n.id=u.name AND"
		" awaits(n.protocol, n.name))";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iiididd", j->about.id, c->duration,
			   (s64)OVERDUE_ANSWERS, OVERDUE_TIMES, (s64)DUE_ANSWERS, DUE_LEAST,
			   DUE_TIMES);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		j->overdue = sqlite3_column_int64(q, 0);
		j->due = sqlite3_column_int64(q, 1);
	}
	return db_end(q, ret);
}

/* Whether all connections that the server accepted were closed, and when. */
static int read_end(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	s64 end = 0;
	int ret = db_int(c->db, &end, e,
			 "SELECT iif(count(*) AND count(*)=count(end), max(end), 0) FROM fd WHERE"
			 " role='accepted' AND pid IN (SELECT pid FROM service WHERE server=?1)",
			 "i", j->about.id);

	j->ends = end > 0 ? (double)end : INFINITY;
	return ret;
}

bool verdict_at_edge(const struct judged *j, int first, int last)
{
	return (last + 1) * j->width <= fmax(j->begins, 0) + START_NS ||
	       verdict_is_opening(j, first, last) || first * j->width >= j->ends - START_NS;
}

/* Of each process the thread that ran most; mean over the processes. */
static int read_idle(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT avg(idle) FROM (SELECT 1 - 1.0 * (run + woken + preempted) / wall AS idle,"
		" row_number() OVER (PARTITION BY pid ORDER BY run DESC, tid) AS k FROM thread"
		" WHERE wall > 0 AND pid IN (SELECT pid FROM service WHERE server=?1)) WHERE k=1 AND EXISTS"
		" (SELECT 1 FROM coverage WHERE grp='sched' AND records > 0)";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "i", j->about.id);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	j->idle = ret > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL
			  ? 100 * sqlite3_column_double(q, 0)
			  : NAN;
	return db_end(q, ret);
}

int verdict_read(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	double duration = (double)(c->duration > 0 ? c->duration : 1);
	int ret;

	j->n_windows = (int)fmin(WINDOWS, fmax(1, floor(duration / WINDOW_LEAST)));
	j->width = duration / j->n_windows;
	j->begins = duration;
	ret = read_pauses(c, j, l, e);
	if (ret == 0)
		ret = read_overdue(c, j, e);
	if (ret == 0)
		ret = read_end(c, j, e);
	if (ret == 0)
		ret = verdict_quick_read(c, j, l, e);
	if (ret == 0)
		ret = read_requests(c, j, e);
	if (ret == 0)
		ret = read_ended(c, j, e);
	if (ret == 0)
		ret = read_errors(c, j, e);
	if (ret == 0)
		ret = read_idle(c, j, e);
	j->requests = (double)j->all.n;
	j->rate = j->requests * 1e9 / duration;
	j->queued = j->all.n ? j->queued / j->requests : NAN;
	j->served = j->all.n ? j->served / j->requests : NAN;
	j->p50 = verdict_quantile(&j->all, 0.5);
	j->p99 = verdict_quantile(&j->all, 0.99);
	/* what is usual, until it is known which pauses count: verdict_outside.c */
	j->p99_outside = verdict_quantile(&j->outside, 0.99);
	j->max = j->all.n ? (double)j->all.max : NAN;
	return ret;
}
