// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A request that is the only one of its name in the recording, and began or ended as requests
 * became slower or failed: a cache that is emptied, an index that is dropped, a server that becomes
 * a replica. Before a pause it ended: what lasts for the pause is its cause. Of the server, or of a
 * recorded one that it asks. When the change began is known to a window; the one before counts,
 * too. Of many names that occur once, one does so then by chance: nothing is said.
 */
#include "verdict.h"

#include "analyze/store/db.h"

#define CHANCE_MOST 0.05 /* of such a request at that time; the reports' intervals have 95 % */

struct just_then {
	s64 request, server;
	double once; /* names */
};

static int on_request(void *arg, sqlite3_stmt *q, struct err *e)
{
	(void)e;
	*(struct just_then *)arg =
		(struct just_then){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				    sqlite3_column_double(q, 2) };
	return 0;
}

int verdict_just_then(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH own AS MATERIALIZED (SELECT pid FROM service WHERE server=?1), s AS MATERIALIZED (SELECT id,"
		" server FROM service WHERE pid IN (SELECT pid FROM own) OR (pid, port) IN (SELECT pid, port FROM fd WHERE"
		" role='accepted' AND local IN (SELECT remote FROM fd WHERE role='connected' AND remote<>'' AND"
		" pid IN (SELECT pid FROM own)))), n AS MATERIALIZED (SELECT r.rowid AS id, s.server, r.ts AS"
		" first, max(r.ts + r.dur) AS last, total(r.errors) AS failed FROM request r JOIN s ON s.id=r.service WHERE"
		" r.name NOT NULL GROUP BY s.server, r.name HAVING count(*)=1) SELECT id, server, (SELECT count(*) FROM"
		" n) FROM n WHERE (last BETWEEN ?2 AND ?3 OR (NOT ?4 AND first BETWEEN ?2 AND ?3)) AND NOT failed"
		" ORDER BY abs(last - (?2 + ?3) / 2) LIMIT 1";
	double from = verdict_since(j) - j->width, to = verdict_since(j) + j->width;
	struct just_then t = { 0 };
	int ret = 0;

	if ((j->kind != VERDICT_slower && j->kind != VERDICT_errors && j->kind != VERDICT_pauses) ||
	    j->given || j->about.kind != SUBJECT_server || !(from > 0))
		return 0;
	ret = db_each(c->db, e, on_request, &t, sql, "iddi", j->about.id, from, to,
		      (s64)(j->kind == VERDICT_pauses));
	if (ret < 0 || !t.request || t.once * (to - from) > CHANCE_MOST * (double)c->duration)
		return ret;
	const struct value values[] = {
		VALUE_SUBJECT("request", request, t.request),
		VALUE_MAYBE("server", server, t.server == j->about.id ? 0 : t.server),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_just_then, WARNING, CORRELATED, j->about, NULL, values, 0
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}
