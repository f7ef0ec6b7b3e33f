// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections that wait to be accepted because each process of the server keeps another one, on
 * which its client sends nothing: as all workers of a server that serves one connection each, until
 * a limit of idle time. Only of servers whose processes never have two at once; a process for each
 * connection waits for no other.
 */
#include "analyze/analyses/verdict/fd_rows.h"
#include "verdict_queues.h"

#include "analyze/stats/sorted.h"
#include "analyze/store/db.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"

#include <stdlib.h>

#define BUSY_MOST  0.1 /* of the open time: requests on the connections that are kept */
#define EACH_LEAST 2   /* connections of a process, on average: it takes one after the other */

struct kept {
	double processes, most; /* of the server; connections at once in one of them */
	double full;		/* ns in which all processes had one */
	double open, served;	/* ns of all connections; of their requests, after the read */
	double waited;		/* ns from the arrival of requests to accept, of all */
	double latency, n;	/* of all requests */
	s64 client;	  /* process at the other end of most of the open time; 0: not recorded */
	double of_client; /* ns of that */
};

static int on_kept(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct kept *k = arg;

	(void)e;
	*k = (struct kept){ .processes = sqlite3_column_double(q, 0),
			    .most = sqlite3_column_double(q, 1),
			    .full = sqlite3_column_double(q, 2),
			    .open = sqlite3_column_double(q, 3),
			    .waited = sqlite3_column_double(q, 4),
			    .served = sqlite3_column_double(q, 5),
			    .latency = sqlite3_column_double(q, 6),
			    .n = sqlite3_column_double(q, 7) };
	return 0;
}

static int on_client(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct kept *k = arg;

	(void)e;
	k->client = sqlite3_column_int64(q, 0);
	k->of_client = sqlite3_column_double(q, 1);
	return 0;
}

/* Its connections. */
#define CONNECTIONS                                                                              \
	"WITH p AS MATERIALIZED (SELECT pid FROM service WHERE server=?1), f AS MATERIALIZED"    \
	" (SELECT pid, fd, local, remote, ts, min(coalesce(end, ?2), ?2) AS till FROM fd WHERE"  \
	" role='accepted' AND remote<>'' AND port=(SELECT port FROM server WHERE id=?1) AND pid" \
	" IN (SELECT pid FROM p))"

/* Requests without an answer keep a process as well: why is another question. */
static int read_stuck(s64 *ret_n, sqlite3 *db, const struct judged *j, struct err *e)
{
	return db_int(
		db, ret_n, e,
		"SELECT (SELECT count(*) FROM unanswered WHERE read NOT NULL AND service IN (SELECT id FROM"
		" service WHERE server=?1)) + (SELECT count(*) FROM request_before WHERE service IN (SELECT id"
		" FROM service WHERE server=?1))",
		"i", j->about.id);
}

static int read_kept(struct kept *k, struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	/* h: how many are open, until the next opens or closes; y: when that of a request was
	 * accepted */
	static const char sql[] = CONNECTIONS
		", g AS (SELECT pid, ts AS at, 1 AS d FROM f UNION ALL SELECT pid, till, -1 FROM f), h AS MATERIALIZED"
		" (SELECT at, sum(d) OVER (ORDER BY at, d ROWS UNBOUNDED PRECEDING) AS n, sum(d) OVER (PARTITION BY"
		" pid ORDER BY at, d ROWS UNBOUNDED PRECEDING) AS own, lead(at) OVER (ORDER BY at, d) - at AS ns FROM"
		" g), x AS (SELECT pid, fd, ts AS at, 0 AS request, 0 AS arrival, 0 AS dur FROM f UNION ALL SELECT"
		" pid, fd, ts, 1, ts - queued, dur FROM request WHERE service IN (SELECT id FROM service WHERE"
		" server=?1)), y AS (SELECT *, max(iif(request, NULL, at)) OVER (PARTITION BY pid, fd ORDER BY at,"
		" request ROWS UNBOUNDED PRECEDING) AS accepted FROM x) SELECT (SELECT count(DISTINCT pid) FROM f),"
		" (SELECT max(own) FROM h), (SELECT total(ns) FROM h WHERE n=(SELECT count(DISTINCT pid) FROM f)),"
		" (SELECT total(till - ts) FROM f), total(max(coalesce(accepted, 0) - arrival, 0)), total(dur),"
		" total(at + dur - arrival), count(*) FROM y WHERE request";
	static const char client[] = CONNECTIONS
		" SELECT o.pid, total(f.till - f.ts) FROM f JOIN fd o ON o.local=f.remote AND o.remote=f.local AND"
		" o.role='connected' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1";
	int ret = db_each(c->db, e, on_kept, k, sql, "ii", j->about.id, c->duration);

	if (ret < 0 || k->processes < 2 || k->most > 1)
		return ret;
	return db_each(c->db, e, on_client, k, client, "ii", j->about.id, c->duration);
}

int verdict_kept_level(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e)
{
	struct kept k = { 0 };
	s64 stuck = 0;
	int ret = read_stuck(&stuck, c->db, j, e);

	if (ret == 0 && !stuck)
		ret = read_kept(&k, c, j, e);
	double full = percent(k.full, (double)c->duration);
	if (ret < 0 || k.processes < 2 || k.most > 1 || full < 100 * SIDE_MOST ||
	    k.waited < SIDE_MOST * k.latency || k.waited < l->latency * k.n ||
	    k.served > SIDE_MOST * k.open)
		return ret;
	j->status = full >= POOL_ALWAYS ? STATUS_PROBLEM : STATUS_UNCHANGED;
	j->kind = VERDICT_pool;
	const struct value values[] = {
		VALUE_NUMBER("processes", k.processes, ""),
		VALUE_NUMBER("full", fmin(100, full), "%"),
		VALUE_NUMBER("idle", percent(k.open - k.served, k.open), "%"),
		VALUE_MAYBE("client", process, k.of_client > SIDE_MOST * k.open ? k.client : 0),
		VALUE_NUMBER("of_client", percent(k.of_client, k.open), "%"),
		VALUE_NUMBER("latency", k.latency / k.n, "ns"),
		VALUE_NUMBER("accept", k.waited / k.n, "ns"),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_kept,
				   j->status == STATUS_UNCHANGED ? WARNING : PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT pid, remote, ts, end FROM fd WHERE role='accepted'",
				   values,
				   0 };

	ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	return ret < 0 ? ret : 1;
}

/* ---- the same in the time of a problem ---- */

/* From one time on, until the next: more or fewer connections, and processes. */
struct change {
	s32 open, alive;
};
_Static_assert(sizeof(struct change) == 8, "a value of sort_keys");

struct then {
	const struct verdict_when *when;
	s64 duration;
	struct fd_rows rows;
	struct verdict_side side[2];
	double busy, open;			  /* ns in that time: requests; connections */
	double full, processes, longest_full, at; /* the middle of the longest full time */
	double waited, longest;			  /* requests that waited for accept; ns */
	double queue; /* connections in the accept queue, the most; NAN: not known */
	struct buf client;
	double of_client;
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct then *t = arg;
	const struct fd_row *f = fd_rows_at(&t->rows, row->pid, row->fd, row->ts);
	double arrival = (double)row->ts - (double)row->queued,
	       end = (double)row->ts + (double)row->dur;
	double wait = f ? fmax(0, (double)f->ts - arrival) : 0;
	bool in = verdict_when_has(t->when, arrival, end);

	(void)rowid;
	(void)e;
	t->side[in].n++;
	t->side[in].latency += end - arrival;
	t->side[in].part += wait;
	t->busy += in ? verdict_when_within(t->when, (double)row->ts, end) : 0;
	t->waited += in && wait > SIDE_MOST * (end - arrival);
	t->longest = in ? fmax(t->longest, wait) : t->longest;
	return 0;
}

struct changes {
	s64 *at;
	struct change *v;
	size_t n, room;
};

static void add_change(struct changes *k, s64 from, s64 to, struct change c)
{
	if (k->n + 2 > k->room)
		return;
	k->at[k->n] = from;
	k->v[k->n++] = c;
	k->at[k->n] = to;
	k->v[k->n++] = (struct change){ -c.open, -c.alive };
}

/* Each process has a connection: how long, in that time. */
static void walk_full(struct then *t, const struct changes *k)
{
	s64 open = 0, alive = 0;
	double ns;
	size_t i;

	for (i = 0; i + 1 < k->n; i++) {
		open += k->v[i].open;
		alive += k->v[i].alive;
		if (open < alive || open < 2)
			continue;
		ns = verdict_when_within(t->when, (double)k->at[i], (double)k->at[i + 1]);
		t->full += ns;
		if (ns <= t->longest_full)
			continue;
		t->longest_full = ns;
		t->processes = (double)alive;
		t->at = ((double)k->at[i] + (double)k->at[i + 1]) / 2;
	}
}

static int add_processes(struct changes *k, struct analysis_ctx *c, s64 server, struct err *e)
{
	static const char sql[] =
		"SELECT max(start), coalesce(end, ?2) FROM process WHERE pid IN (SELECT pid FROM service WHERE"
		" server=?1) GROUP BY pid LIMIT ?3";
	sqlite3_stmt *q;
	int ret =
		db_query(&q, c->db, e, sql, "iii", server, c->duration, (s64)(k->room - k->n) / 2);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		add_change(k, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			   (struct change){ 0, 1 });
	return db_end(q, ret);
}

static int read_full(struct then *t, struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct changes k = { 0 };
	s64 services = 0;
	size_t i;
	int ret = db_int(c->db, &services, e, "SELECT count(*) FROM service WHERE server=?1", "i",
			 j->about.id);

	if (ret < 0)
		return ret;
	k.room = 2 * (t->rows.n + (size_t)services);
	k.at = calloc(k.room, sizeof(*k.at));
	k.v = calloc(k.room, sizeof(*k.v));
	ret = k.at && k.v ? 0 : err_set(e, ERR_FAIL, "out of memory for connections");
	for (i = 0; i < t->rows.n && ret == 0; i++) {
		const struct fd_row *f = &t->rows.v[i];
		s64 end = f->end < t->duration ? f->end : t->duration;

		add_change(&k, f->ts, end, (struct change){ 1, 0 });
		t->open += verdict_when_within(t->when, (double)f->ts, (double)end);
	}
	if (ret == 0)
		ret = add_processes(&k, c, j->about.id, e);
	if (ret == 0 && !sort_keys(k.at, k.v, k.n))
		ret = err_set(e, ERR_FAIL, "out of memory for connections");
	if (ret == 0)
		walk_full(t, &k);
	free(k.at);
	free(k.v);
	return ret;
}

static int on_host(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct then *t = arg;

	t->of_client = sqlite3_column_double(q, 1);
	return buf_printf(&t->client, e, "%s", db_text(q, 0));
}

/* Of the longest of these times, whose connections; how many wait in the queue. */
static int read_clients(struct then *t, struct analysis_ctx *c, const struct judged *j,
			struct err *e)
{
	static const char host[] = CONNECTIONS
		" SELECT rtrim(rtrim(remote, '0123456789'), ':'), count(*) FROM f WHERE ts <= ?3 AND till > ?3"
		" GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1";
	static const char queue[] =
		"SELECT max(queue) FROM accept_queue WHERE port=(SELECT port FROM server"
		" WHERE id=?1) AND ts + dur > ?2 AND ts + dur <= ?3";
	double first = t->when->v[0][0], last = t->when->v[t->when->n - 1][1];
	s64 most = 0;
	int ret = db_each(c->db, e, on_host, t, host, "iid", j->about.id, c->duration, t->at);

	if (ret == 0)
		ret = db_int(c->db, &most, e, queue, "idd", j->about.id, first, last);
	t->queue = most > 0 ? (double)most : NAN;
	return ret;
}

static int put_then(struct analysis_ctx *c, const struct judged *j, const struct then *t,
		    struct err *e)
{
	double length = verdict_when_length(t->when);
	const struct value values[] = {
		VALUE_NUMBER("processes", t->processes, ""),
		VALUE_NUMBER("full", fmin(100, percent(t->full, length)), "%"),
		VALUE_NUMBER("of_client", t->of_client > 0 ? t->of_client : NAN, ""),
		VALUE_TEXT("client", t->client.len ? t->client.data : "a Unix socket"),
		VALUE_NUMBER("waited", t->waited, ""),
		VALUE_NUMBER("of", t->side[1].n, ""),
		VALUE_NUMBER("longest", t->longest, "ns"),
		VALUE_NUMBER("queue", t->queue, ""),
		{ 0 },
	};

	return verdict_queues_put(c, j, FINDING_verdict_kept_then, OBSERVED,
				  "SELECT pid, remote, ts, end FROM fd WHERE role='accepted'",
				  values, e);
}

int verdict_kept_then(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		      const struct limits *l, struct err *e)
{
	struct then t = { .when = w, .duration = c->duration };
	struct kept k = { 0 };
	s64 stuck = 0;
	int said = 0, ret = read_stuck(&stuck, c->db, j, e);

	if (ret == 0 && !stuck && !w->all)
		ret = fd_rows_read(&t.rows, c->db, j->about.id, "accepted", e);
	if (ret == 0 && t.rows.n)
		ret = requests_each(c->db,
				    COLUMN_OF(request, pid) | COLUMN_OF(request, fd) |
					    COLUMN_OF(request, paced),
				    "SELECT id FROM service WHERE server=?1", j->about.id,
				    add_request, &t, e);
	if (ret == 0 && t.waited > 0 && side_is_most(t.side, l->latency))
		ret = read_full(&t, c, j, e);
	if (ret == 0 && t.full >= SIDE_MOST * verdict_when_length(w) &&
	    t.busy <= BUSY_MOST * t.open)
		ret = read_kept(&k, c, j, e);
	if (ret == 0 && k.processes >= 2 && k.most <= 1 &&
	    (double)t.rows.n >= EACH_LEAST * k.processes) {
		ret = read_clients(&t, c, j, e);
		if (ret == 0)
			ret = put_then(c, j, &t, e);
		said = 1;
	}
	fd_rows_free(&t.rows);
	buf_free(&t.client);
	return ret < 0 ? ret : said;
}
