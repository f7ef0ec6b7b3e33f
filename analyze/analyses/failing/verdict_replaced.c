// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Was a server that this one asks replaced? All processes that listened on the socket that accepted
 * its connections have closed it, and one listened on another socket of that port later: in
 * between, attempts to connect were refused, and those that waited in the accept queue were reset.
 * A reload keeps the socket; where old and new overlap, there is no such time.
 */
#include "verdict_failing.h"

#include "analyze/store/signal_names.h"

static int put(struct analysis_ctx *c, const struct judged *j, sqlite3_stmt *q, struct err *e)
{
	double start = sqlite3_column_double(q, 1), end = sqlite3_column_double(q, 2);
	const char *signal = signal_name(sqlite3_column_int(q, 4));
	const struct value values[] = {
		VALUE_TEXT("address", db_text(q, 0)),
		VALUE_NUMBER("start", start, "at"),
		VALUE_NUMBER("end", end, "at"),
		VALUE_NUMBER("length", end - start, "ns"),
		VALUE_SUBJECT("next", process, sqlite3_column_int64(q, 3)),
		VALUE_MAYBE("process", process, signal ? sqlite3_column_int64(q, 5) : 0),
		VALUE_TEXT("signal", signal),
		VALUE_TEXT("sender", signal && *db_text(q, 6) ? db_text(q, 6) : NULL),
		VALUE_NUMBER("at", signal ? sqlite3_column_double(q, 7) : NAN, "at"),
		{ 0 },
	};
	const struct finding f = { FINDING_upstream_replaced,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM fd WHERE role='listening'",
				   values,
				   j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_replaced_say(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	/* g: sockets that were closed, and the next one; u: of these, what the server was connected
	 * to */
	static const char sql[] =
		"WITH ears AS MATERIALIZED (SELECT pid, ino, port, ts, coalesce(end, ?2) AS end FROM fd WHERE"
		" role='listening' AND ino > 0 AND port > 0), s AS MATERIALIZED (SELECT ino, port, min(ts) AS ts,"
		" max(end) AS end FROM ears GROUP BY 1, 2 LIMIT 2000), g AS MATERIALIZED (SELECT * FROM (SELECT ino, port, max(end) OVER w AS"
		" start, lead(ts) OVER w AS end, lead(ino) OVER w AS next FROM s WINDOW w AS (PARTITION BY port ORDER"
		" BY ts, ino)) WHERE start < end LIMIT 64), u AS MATERIALIZED (SELECT g.*, f.remote, count(*) AS n FROM g JOIN fd o ON"
		" o.role='accepted' AND o.port=g.port AND o.pid IN (SELECT pid FROM ears WHERE ino=g.ino) JOIN fd f ON"
		" f.role='connected' AND f.local=o.remote AND f.remote=o.local AND f.pid IN (SELECT pid FROM service"
		" WHERE server=?1) AND f.ts < g.start GROUP BY g.ino, f.remote), t AS (SELECT u.ino, n.signal, n.pid,"
		" coalesce(nullif(n.sender, ''), '') || iif(n.sender_pid, '[' || n.sender_pid || ']', '') AS sender,"
		" min(n.ts) AS at FROM u JOIN signal_sent n ON n.code <= 0 AND n.ts < u.end AND n.pid IN (SELECT pid"
		" FROM ears WHERE ino=u.ino) GROUP BY u.ino) SELECT u.remote, u.start, u.end, (SELECT pid FROM ears"
		" WHERE ino=u.next ORDER BY ts LIMIT 1), t.signal, t.pid, t.sender, t.at FROM u LEFT JOIN t USING(ino)"
		" WHERE coalesce(t.at, u.start) < ?4 AND u.end > ?3 ORDER BY u.n DESC, u.start LIMIT 1";
	bool whole = isnan(j->start);
	sqlite3_stmt *q;
	int ret;

	if (j->about.kind != SUBJECT_server || !j->finding)
		return 0;
	ret = db_query(&q, c->db, e, sql, "iidd", j->about.id, c->duration, whole ? 0 : j->start,
		       whole || isnan(j->end) ? (double)c->duration : j->end);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		ret = put(c, j, q, e);
	return db_end(q, ret);
}
