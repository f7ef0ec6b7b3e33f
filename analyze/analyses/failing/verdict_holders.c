// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server that refuses connections because it has as many as it may says so by the code of its
 * answer, or closes them before it reads anything (verdict_turned.c). Who has them: connections
 * that it accepted before the middle of the time of these answers, and that stay open until the
 * last: some may take the places of others. Those that it refuses are closed again.
 */
#include "verdict_failing.h"

#include <string.h>

/* Codes of PostgreSQL and MySQL: too many connections, of all or of a user. */
static const char *const codes[] = { "53300", "1040", "1203" };

static bool is_full(const char *code)
{
	size_t i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]) && code; i++)
		if (strcmp(codes[i], code) == 0)
			return true;
	return false;
}

static int put_holders(struct analysis_ctx *c, const struct judged *j, const char *code,
		       double first, double last, struct err *e)
{
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT id, pid FROM service WHERE server=?1), x AS MATERIALIZED (SELECT"
		" coalesce(?3, min(e.ts)) AS first, coalesce(?4, max(e.ts)) AS last FROM request_error e LEFT JOIN request_code k ON k.id=e.code"
		" WHERE e.service IN (SELECT id FROM s) AND (k.code=?2 OR e.status=CAST(?2 AS INT))), o AS"
		" MATERIALIZED (SELECT f.pid, f.fd, f.remote, max(f.ts) AS ts FROM fd f, x WHERE f.role='accepted' AND"
		" f.pid IN (SELECT pid FROM s) AND f.remote<>'' AND 2 * f.ts <= x.first + x.last AND coalesce(f.end, x.last + 1) >"
		" x.last GROUP BY f.remote), a AS (SELECT rtrim(rtrim(remote, '0123456789'), ':') AS client, count(*)"
		" AS n FROM o GROUP BY 1), b AS (SELECT count(*) AS n FROM o, x WHERE NOT EXISTS (SELECT 1 FROM request"
		" r WHERE r.pid=o.pid AND r.fd=o.fd AND r.ts > x.first AND r.ts < x.last)) SELECT (SELECT sum(n) FROM"
		" a), client, n, (SELECT n FROM b), (SELECT max(ts) FROM o) FROM a ORDER BY n DESC, client LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "isdd", j->about.id, code, first, last);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		double n = sqlite3_column_double(q, 0), most = sqlite3_column_double(q, 2);
		double idle = sqlite3_column_double(q, 3), until = sqlite3_column_double(q, 4);
		const struct value values[] = {
			VALUE_NUMBER("n", n, ""),
			VALUE_NUMBER("of", most < n ? most : NAN, ""),
			VALUE_TEXT(most < n ? "most" : "client", db_text(q, 1)),
			VALUE_NUMBER("until", until > 0 ? until : NAN, "at"),
			VALUE_NUMBER("idle", idle > 0 ? idle : NAN, ""),
			{ 0 },
		};
		const struct finding f = { FINDING_failing_holders,
					   PROBLEM,
					   OBSERVED,
					   j->about,
					   "SELECT * FROM fd WHERE role='accepted'",
					   values,
					   j->finding };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	return db_end(q, ret);
}

int verdict_holders_say(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const char *code = verdict_error_code(j);

	if (j->kind == VERDICT_connections)
		return put_holders(c, j, "", j->turned.start, j->turned.end, e);
	return is_full(code) ? put_holders(c, j, code, NAN, NAN, e) : 0;
}
