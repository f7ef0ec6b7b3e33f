// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do requests wait for connections to another server that no request gives back? All connections of
 * a process to an address are open and idle until the recording ends; the requests that used them
 * last were answered. Since then requests wait for a futex, and no thread ends that wait: their
 * timeout does, or nothing. While a request uses a connection, it has an unanswered question, or
 * its thread waits for something else. Requests that wait for a lock leave connections idle as
 * well: that none was given back is the likelier, the fewer requests are of the name that used all
 * of them last.
 */
#include "analyze/analyses/verdict/fd_rows.h"
#include "verdict_queues.h"

#include "analyze/store/request_rows.h"

#include <math.h>
#include <stdlib.h>

#define CONNECTIONS_LEAST 2
#define CONNECTIONS_MOST  1024
#define ASKED_LEAST	  0.5 /* questions per request */
#define NEARLY_ALL	  0.9 /* of the time of requests: such waits */
#define HANDED_MOST	  0.1 /* of the requests: another thread reads them */
#define CHANCE		  0.01

/* The last use of a connection. */
struct use {
	s64 from, to, tid; /* of a question; 0: none in the recording */
	s64 name;	   /* of the request; -1: of none that is known */
	bool failed;
	double questions;
};

struct leak {
	const struct fd_row *on; /* one of its connections; NULL: none */
	double n, used;		 /* connections; in the recording */
	double questions;
	s64 since; /* the last answer on one of them */
	bool busy; /* a connection was closed, or has a question */
};

struct waits {
	double time, ended, open; /* ns: of requests; of waits that a timeout ended, or nothing */
	double n, longest;	  /* that a timeout ended */
};

struct leaks {
	struct fd_rows fds;
	struct use *last; /* by index of fds */
	s64 duration;
};

static int on_question(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	struct leaks *x = arg;
	const struct fd_row *f = fd_rows_at(&x->fds, row->pid, row->fd, row->ts);
	struct use *u = f ? &x->last[f - x->fds.v] : NULL;

	(void)rowid;
	(void)e;
	if (!u)
		return 0;
	u->questions++;
	if (row->ts + row->dur >= u->to) {
		u->from = row->first_send > 0 ? row->first_send : row->ts;
		u->to = row->ts + row->dur;
		u->tid = row->tid;
	}
	return 0;
}

/* The request that a connection was used for last. */
static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct leaks *x = arg;
	size_t i;

	(void)rowid;
	(void)e;
	for (i = 0; i < x->fds.n; i++) {
		struct use *u = &x->last[i];

		if (u->tid != row->tid || x->fds.v[i].pid != row->pid || u->from < row->ts ||
		    u->to > row->ts + row->dur)
			continue;
		u->name = row->name;
		u->failed = row->errors > 0;
	}
	return 0;
}

static int on_asked(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct leaks *x = arg;
	const struct fd_row *f = fd_rows_at(&x->fds, sqlite3_column_int64(q, 0),
					    sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2));

	(void)e;
	if (f)
		x->last[f - x->fds.v].to = INT64_MAX;
	return 0;
}

static int read_all(struct leaks *x, struct analysis_ctx *c, s64 server, struct err *e)
{
	size_t i;
	int ret = fd_rows_read(&x->fds, c->db, server, "connected", e);

	if (ret < 0 || x->fds.n < CONNECTIONS_LEAST)
		return ret;
	x->last = calloc(x->fds.n, sizeof(*x->last));
	if (!x->last)
		return err_set(e, ERR_FAIL, "out of memory for connections");
	for (i = 0; i < x->fds.n; i++)
		x->last[i].name = -1;
	ret = rows_each(c->db, TABLE_upstream, COLUMNS_ALL, on_question, x, e);
	if (ret == 0)
		ret = db_each(c->db, e, on_asked, x,
			      "SELECT pid, fd, ts FROM upstream_unanswered WHERE NOT closed", "");
	return ret;
}

static bool is_same(const struct fd_row *x, const struct fd_row *y)
{
	return x->pid == y->pid && x->remote == y->remote;
}

/* The connections of one process to one address. */
static struct leak leak_of(const struct leaks *x, const struct fd_row *on)
{
	struct leak k = { .on = on };
	size_t i;

	for (i = 0; i < x->fds.n; i++) {
		const struct fd_row *f = &x->fds.v[i];
		const struct use *u = &x->last[i];

		if (!is_same(f, on))
			continue;
		k.questions += u->questions;
		if (f->end < x->duration) {
			k.since = f->end > k.since ? f->end : k.since;
			continue;
		}
		k.n++;
		k.used += u->questions > 0;
		k.busy |= u->to == INT64_MAX;
		k.since = u->to > k.since ? u->to : k.since;
		k.since = f->ts > k.since ? f->ts : k.since;
	}
	return k;
}

/* ?1 server, ?2 process, ?3 since, ?4 duration, ?5 %, handed requests. */
static int read_waits(struct waits *w, sqlite3 *db, const struct leak *k, s64 server, s64 duration,
		      struct err *e)
{
	static const char sql[] =
		"WITH own AS MATERIALIZED (SELECT id FROM service WHERE server=?1), q AS MATERIALIZED (SELECT"
		" tid, max(ts, ?3) AS ts, ts + dur AS till FROM request WHERE service IN own AND pid=?2 AND ts +"
		" dur > ?3 UNION ALL SELECT tid, max(read, ?3), ?4 FROM unanswered WHERE service IN own AND pid=?2"
		" AND read NOT NULL AND tid > 0), w AS MATERIALIZED (SELECT s.tid AS tid, s.ts AS ts, s.ts + s.dur"
		" AS till, s.ts + s.dur >= ?4 AS open, h.holder FROM thread_state s LEFT JOIN futex_holder h ON"
		" h.tid=s.tid AND h.futex=s.object AND h.ts BETWEEN s.ts - 1000000 AND s.ts + s.dur WHERE"
		" s.state=state_id('futex') AND s.waker IS NULL AND s.ts + s.dur > ?3 AND (s.context=2 OR s.ts +"
		" s.dur >= ?4) AND s.tid IN (SELECT tid FROM q)), p AS MATERIALIZED (SELECT w.open AS open,"
		" min(w.till, q.till) - max(w.ts, q.ts) AS ns, w.till - w.ts AS dur FROM q JOIN w USING(tid) WHERE w.ts < q.till AND"
		" w.till > q.ts AND w.holder IS NULL) SELECT (SELECT total(till - ts) FROM q), total(ns) FILTER"
		" (WHERE NOT open), total(ns) FILTER (WHERE open), count(*) FILTER (WHERE NOT open), max(dur)"
		" FILTER (WHERE NOT open) FROM p WHERE NOT EXISTS (SELECT 1 FROM process WHERE pid=?2 AND green"
		" NOT NULL) AND (SELECT count(receiver) <= ?5 * count(*) FROM request WHERE service IN own)";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iiiid", server, k->on->pid, k->since, duration,
			   HANDED_MOST);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		*w = (struct waits){
			.time = sqlite3_column_double(q, 0),
			.ended = sqlite3_column_double(q, 1),
			.open = sqlite3_column_double(q, 2),
			.n = sqlite3_column_double(q, 3),
			.longest = sqlite3_column_double(q, 4),
		};
	return db_end(q, ret);
}

/* What the requests that used its connections last have in common. */
struct users {
	s64 name;
	double times, failed; /* of that name; of these, with an error */
	double share;	      /* of all requests until then: of that name */
	double requests;
};

static struct users users_of(const struct leaks *x, const struct leak *k)
{
	struct users best = { 0 };
	size_t i, m;

	for (i = 0; i < x->fds.n; i++) {
		struct users u = { .name = x->last[i].name };

		for (m = 0; m < x->fds.n && u.name >= 0 && is_same(&x->fds.v[i], k->on); m++) {
			if (!is_same(&x->fds.v[m], k->on) || x->fds.v[m].end < x->duration ||
			    x->last[m].name != u.name)
				continue;
			u.times++;
			u.failed += x->last[m].failed;
		}
		best = u.times > best.times ? u : best;
	}
	return best;
}

static int read_users(struct users *u, struct leaks *x, const struct leak *k, sqlite3 *db,
		      s64 server, struct err *e)
{
	static const char sql[] =
		"SELECT count(*), avg(coalesce(name, 0)=?3) FROM request WHERE ts < ?2 AND pid=?4 AND service IN"
		" (SELECT id FROM service WHERE server=?1)";
	sqlite3_stmt *q;
	int ret = requests_each(
		db, COLUMN_OF(request, pid) | COLUMN_OF(request, tid) | COLUMN_OF(request, errors),
		"SELECT id FROM service WHERE server=?1", server, on_request, x, e);

	*u = users_of(x, k);
	if (ret == 0)
		ret = db_query(&q, db, e, sql, "iiii", server, k->since, u->name, k->on->pid);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		u->requests = sqlite3_column_double(q, 0);
		u->share = sqlite3_column_double(q, 1);
	}
	return db_end(q, ret);
}

static bool is_leak(enum evidence *ret_evidence, const struct leak *k, const struct users *u,
		    const struct waits *w)
{
	bool rare = k->used > 0 && u->times >= k->used && pow(u->share, k->used) < CHANCE;

	if (w->time <= 0 || w->ended + w->open < NEARLY_ALL * w->time)
		return false;
	if (k->used > 0 && k->questions < ASKED_LEAST * u->requests)
		return false;
	*ret_evidence = rare ? OVERLAP : CORRELATED;
	return rare || w->n > 0;
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct leak *k,
	       const struct users *u, const struct waits *w, enum evidence evidence, struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("n", k->n, ""),
		VALUE_SUBJECT("upstream", upstream, k->on->row),
		VALUE_NUMBER("since", k->since > 0 ? (double)k->since : NAN, "at"),
		VALUE_TEXT("always", k->since > 0 ? NULL : "the whole recording"),
		VALUE_NUMBER("times", u->times > 0 ? u->times : NAN, ""),
		VALUE_MAYBE("name", request_name, u->name > 0 ? u->name : 0),
		VALUE_NUMBER("failed", u->failed > 0 ? u->failed : NAN, ""),
		VALUE_NUMBER("timeouts", w->n > 0 ? w->n : NAN, ""),
		VALUE_NUMBER("timeout", w->n > 0 ? w->longest : NAN, "ns"),
		{ 0 },
	};

	return verdict_queues_put(
		c, j, FINDING_verdict_leaked, evidence,
		"SELECT pid, fd, count(*), max(ts + dur) FROM upstream GROUP BY 1, 2", values, e);
}

/* The one with most connections. */
static struct leak find_leak(const struct leaks *x, const struct verdict_when *w)
{
	struct leak best = { 0 };
	size_t i;

	for (i = 0; i < x->fds.n && x->fds.n <= CONNECTIONS_MOST; i++) {
		struct leak k = leak_of(x, &x->fds.v[i]);

		if (k.n >= CONNECTIONS_LEAST && k.n > best.n && !k.busy &&
		    verdict_when_within(w, (double)k.since, (double)x->duration) >=
			    SIDE_MOST * verdict_when_length(w))
			best = k;
	}
	return best;
}

int verdict_leaked(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct leaks x = { .duration = c->duration };
	struct verdict_when when = { 0 };
	struct leak k = { 0 };
	struct waits w = { 0 };
	struct users u = { 0 };
	enum evidence evidence;
	int ret = 0;

	if (j->about.kind != SUBJECT_server || !j->finding ||
	    (j->status != STATUS_PROBLEM && j->status != STATUS_UNCHANGED))
		return 0;
	ret = verdict_when(c, j, &when, e);
	if (ret == 0)
		ret = read_all(&x, c, j->about.id, e);
	if (ret == 0 && x.last)
		k = find_leak(&x, &when);
	if (ret == 0 && k.on)
		ret = read_waits(&w, c->db, &k, j->about.id, c->duration, e);
	if (ret == 0 && k.on && w.time > 0)
		ret = read_users(&u, &x, &k, c->db, j->about.id, e);
	if (ret == 0 && k.on && is_leak(&evidence, &k, &u, &w))
		ret = put(c, j, &k, &u, &w, evidence, e);
	verdict_when_free(&when);
	fd_rows_free(&x.fds);
	free(x.last);
	return ret;
}
