// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the added time of a name of requests went. */
#include "verdict_names.h"

/* Where the added time of a slow name went: per request, by state; on a CPU is what is left. */
static const char parts_sql[] =
	"WITH r AS MATERIALIZED (SELECT rowid AS id, ts + dur >= ?2 AND ts + dur < ?3 AS slow, dur, queued FROM"
	" request WHERE name=?4 AND split AND NOT lossy AND service IN (SELECT id FROM service WHERE"
	" server=?1)), n AS (SELECT slow, count(*) AS n FROM r GROUP BY slow),"
	" w AS (SELECT r.id, r.slow, s.id AS label, s.category, w.dur FROM r JOIN request_wait w ON w.request=r.id"
	" JOIN state s ON s.id=w.state), p AS (SELECT slow, label, category, dur FROM w UNION ALL SELECT slow,"
	" -1, 'queue', queued FROM r UNION ALL SELECT slow, -2, 'cpu', dur - (SELECT total(dur) FROM w WHERE"
	" w.id=r.id) FROM r UNION ALL SELECT slow, NULL, NULL, dur + queued FROM r),"
	" d AS (SELECT label, category, total(iif(p.slow, p.dur, 0)) / (SELECT n FROM n WHERE slow=1) -"
	" total(iif(p.slow, 0, p.dur)) / (SELECT n FROM n WHERE slow=0) AS diff FROM p GROUP BY label)"
	" SELECT label, diff, (SELECT diff FROM d WHERE label IS NULL) AS added, category FROM d WHERE label IS NOT NULL"
	" AND diff > 0 AND added > 0 ORDER BY diff DESC LIMIT 1";

/* The other server that slow requests of a name waited for: one answer took half of their time. */
static int slow_upstream(struct analysis_ctx *c, const struct judged *j, s64 name, struct buf *out,
			 struct err *e)
{
	static const char sql[] =
		"WITH r AS MATERIALIZED (SELECT pid, ts, dur FROM request WHERE name=?4 AND ts + dur >= ?2 AND ts + dur"
		" < ?3 AND NOT lossy AND service IN (SELECT id FROM service WHERE server=?1) ORDER BY dur DESC LIMIT"
		" 20) SELECT (SELECT f.remote FROM fd f WHERE f.pid=u.pid AND f.fd=u.fd AND f.ts <= u.ts ORDER BY f.ts"
		" DESC LIMIT 1) AS at, count(*) AS n FROM r JOIN upstream u ON u.pid=r.pid AND u.ts >= r.ts AND u.ts +"
		" u.dur <= r.ts + r.dur AND 2 * u.dur > r.dur WHERE at <> '' GROUP BY at ORDER BY n DESC, at LIMIT 1";

	return db_add_text(out, c->db, e, sql, "iddi", j->about.id, j->start, j->end, name);
}

/* Of parts_sql. */
static const char *part_text(s64 part)
{
	return part == -1		      ? "queueing before the read"
	       : part == STATE_client	      ? "waiting for upstream"
	       : part >= 0 && part < N_STATES ? verdict_does[part]
					      : "on CPU";
}

int verdict_name_part(struct analysis_ctx *c, const struct judged *j, s64 name, struct err *e)
{
	struct buf upstream = { 0 };
	sqlite3_stmt *q;
	int ret;

	if (j->awaited.n > 0 && j->more.name == name)
		return 0; /* it is said */
	ret = db_query(&q, c->db, e, parts_sql, "iddi", j->about.id, j->start, j->end, name);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_int64(q, 0) == STATE_client &&
	    slow_upstream(c, j, name, &upstream, e) < 0)
		ret = ERR_FAIL;
	if (ret > 0) {
		double part = sqlite3_column_double(q, 1), all = sqlite3_column_double(q, 2);
		const struct value values[] = {
			VALUE_SUBJECT("name", request_name, name),
			VALUE_TEXT("where", part_text(sqlite3_column_int64(q, 0))),
			VALUE_TEXT("upstream", upstream.len ? upstream.data : NULL),
			VALUE_NUMBER("share", fmin(100, 100 * part / all), "%"),
			VALUE_NUMBER("added", all, "ns"),
			VALUE_TEXT("category", db_text(q, 3)),
			{ 0 },
		};
		const struct finding f = {
			FINDING_verdict_name_part,
			PROBLEM,
			OBSERVED,
			j->about,
			"SELECT r.name, w.state, avg(w.dur) FROM request r JOIN request_wait w ON"
			" w.request=r.rowid GROUP BY 1, 2",
			values,
			j->finding,
		};

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	sqlite3_finalize(q);
	buf_free(&upstream);
	return ret < 0 ? ret : 0;
}
