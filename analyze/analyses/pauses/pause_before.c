// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests wait for a lock of the server that no thread releases: a session may hold it. Or a
 * runtime with threads of its own (goroutines) shows no wait that explains them. Between the last
 * answer of their names and the first wait, something was answered for the first time in the
 * recording, and its connection stays open without another request. Or a request of a name that
 * occurs once was read, none that was read later was answered before it, and it lasts as long.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/db.h"
#include "pause_root.h"

/* Before any other that waits, and after requests that had answers. */
static int put_unanswered(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT id FROM service WHERE pid IN (SELECT pid FROM service WHERE"
		" server=?1)), r AS MATERIALIZED (SELECT name, client, ts - queued AS ts, ts AS read, ts + dur AS end,"
		" 0 AS open FROM request WHERE service IN s UNION ALL SELECT name, client, ts, read, ?4, 1 FROM"
		" unanswered WHERE service IN s), k AS MATERIALIZED (SELECT max(end) AS answered FROM r WHERE end <="
		" ?2 AND NOT open), f AS MATERIALIZED (SELECT min(ts) AS ts FROM r WHERE ts <= ?2 AND end >= ?3)"
		" SELECT r.name, coalesce(r.client, 0), r.ts, open FROM r JOIN f ON f.ts=r.ts JOIN request_name n ON"
		" n.id=r.name, k WHERE r.end >= ?3 AND r.ts > 0 AND k.answered NOT NULL AND NOT awaits(n.protocol,"
		" n.name) AND (SELECT count(*) FROM r o WHERE o.name=r.name)=1 AND EXISTS (SELECT 1 FROM r o WHERE"
		" o.read > r.read) AND NOT EXISTS (SELECT 1 FROM r o WHERE o.read > r.read AND o.end < ?3) LIMIT 1";
	const struct judged_pause *p = judged_longest(j);
	sqlite3_stmt *q;
	int failed = 0;
	int ret = db_query(&q, c->db, e, sql, "iiii", j->about.id, p->start, p->end, c->duration);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		const struct value values[] = {
			VALUE_MAYBE("name", request_name, sqlite3_column_int64(q, 0)),
			VALUE_MAYBE("client", client, sqlite3_column_int64(q, 1)),
			VALUE_NUMBER("arrived", sqlite3_column_double(q, 2), "at"),
			VALUE_TEXT("open", sqlite3_column_int(q, 3) ? "without" : NULL),
			{ 0 },
		};
		const struct finding f = { FINDING_pause_unanswered,
					   PROBLEM,
					   CORRELATED,
					   j->about,
					   NULL,
					   values,
					   j->finding };

		failed = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	ret = db_end(q, ret);
	return failed < 0 ? failed : ret;
}

int pause_before_put(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT id FROM service WHERE pid IN (SELECT pid FROM service WHERE"
		" server=?1)), w AS MATERIALIZED (SELECT name FROM unanswered WHERE service IN s AND ts < ?3 AND"
		" name NOT NULL UNION SELECT name FROM request WHERE service IN s AND ts < ?3 AND ts + dur >= ?3"
		" AND name NOT NULL), n AS MATERIALIZED (SELECT name, min(ts + dur) AS first, max(iif(ts + dur <="
		" ?2, ts + dur, NULL)) AS last FROM request WHERE service IN s AND name NOT NULL GROUP BY 1), l AS"
		" MATERIALIZED (SELECT max(last) AS ts FROM n WHERE name IN w), f AS MATERIALIZED (SELECT n.name,"
		" first FROM n, l WHERE first > l.ts AND first <= ?2 AND n.name NOT IN w), k AS MATERIALIZED"
		" (SELECT rowid AS id, pid, fd, ts FROM request r WHERE name IN (SELECT name FROM f) AND service"
		" IN s AND ts + dur=(SELECT first FROM f WHERE f.name=r.name) ORDER BY ts DESC LIMIT 8) SELECT"
		" k.id FROM k WHERE NOT EXISTS (SELECT 1 FROM request q WHERE q.ts > k.ts AND q.ts < ?3 AND"
		" q.pid=k.pid AND q.fd=k.fd) AND NOT EXISTS (SELECT 1 FROM unanswered u WHERE u.pid=k.pid AND"
		" u.fd=k.fd AND (u.name NOT NULL OR u.read IS NULL)) AND NOT EXISTS (SELECT 1 FROM request_closed x WHERE x.pid=k.pid AND x.fd=k.fd AND"
		" x.ts > k.ts) AND EXISTS (SELECT 1 FROM fd WHERE fd.pid=k.pid AND fd.fd=k.fd AND fd.ts <= k.ts"
		" AND coalesce(fd.end, ?3) >= ?3) ORDER BY k.ts DESC LIMIT 1";
	const struct judged_pause *p = judged_longest(j);
	s64 request = 0;
	int ret = 0;

	if (!p || j->about.kind != SUBJECT_server)
		return 0;
	ret = db_int(c->db, &request, e, sql, "iii", j->about.id, p->start, p->end);
	if (ret < 0 || !request)
		return ret < 0 ? ret : put_unanswered(c, j, e);
	const struct value values[] = { VALUE_SUBJECT("request", request, request), { 0 } };
	const struct finding f = {
		FINDING_pause_before, PROBLEM, CORRELATED, j->about, NULL, values, j->finding
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}
