// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections that wait to be accepted because each process of the server keeps another one, on
 * which its client sends nothing: as all workers of a server that serves one connection each, until
 * a limit of idle time. Only of servers whose processes never have two at once; a process for each
 * connection waits for no other.
 */
#include "analyze/store/db.h"
#include "verdict_queues.h"

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
