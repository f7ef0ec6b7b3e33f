// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name server that answered nothing in the recording, although the server asked it within
 * requests that failed: these are of few names, and a small share of all requests.
 */
#include "own_errors.h"
#include "verdict_failing.h"

#include "analyze/store/error_names.h"

/* SQL: fd.rowid of a descriptor then. */
#define FD_ROW(of)                                                                            \
	"(SELECT x.rowid FROM fd x WHERE x.pid=" of ".pid AND x.fd=" of ".fd AND x.ts <= " of \
	".ts ORDER BY x.ts DESC LIMIT 1)"

/* SQL: q: questions of server ?1 to name servers that answered none: process, time, address. */
#define DEAD                                                                                                                     \
	"WITH p AS MATERIALIZED (SELECT DISTINCT pid FROM service WHERE server=?1), a AS MATERIALIZED"                           \
	" (SELECT u.*, m.remote AS remote, m.ts AS opened FROM upstream_unanswered u JOIN fd m ON"                               \
	" m.rowid=" FD_ROW(                                                                                                      \
		"u") " WHERE u.datagram AND m.remote LIKE '%:53' AND u.pid IN p), d AS"                                          \
		     " MATERIALIZED (SELECT * FROM a WHERE remote NOT IN (SELECT m.remote FROM upstream w JOIN fd"               \
		     " m ON m.rowid=" FD_ROW(                                                                                    \
			     "w") " WHERE w.pid IN p AND m.remote LIKE '%:53') AND remote NOT IN"                                \
				  " (SELECT remote FROM a WHERE answered)), q AS MATERIALIZED (SELECT d.pid AS pid, s.ts AS ts," \
				  " d.remote AS remote FROM d JOIN thread h ON h.pid=d.pid JOIN syscall s ON s.tid=h.tid AND"    \
				  " s.fd=d.fd AND s.ts BETWEEN d.opened AND d.ts WHERE s.ret > 0 AND s.nr IN (SELECT nr FROM"    \
				  " syscall_name WHERE name LIKE 'send%' OR name='write'))"

static int take_name(void *arg, sqlite3_stmt *q, struct err *e)
{
	int protocol = sqlite3_column_int(q, 5), status = sqlite3_column_int(q, 6);
	const char *code = db_text(q, 7);
	struct judged *j = arg;
	struct verdict_errors *m = &j->always;

	if (!is_own_error(protocol, status, code))
		return 0;
	buf_free(&m->code);
	*m = (struct verdict_errors){
		.name = sqlite3_column_int64(q, 0),
		.n = sqlite3_column_double(q, 1),
		.of = sqlite3_column_double(q, 2),
		.start = sqlite3_column_double(q, 3),
		.end = sqlite3_column_double(q, 4),
		.what = ERRORS_OWN,
		.least = m->least,
		.of_name = true,
		.dead_server = true,
	};
	m->share = percent(m->n, m->of);
	return *code && status <= 1 ? buf_printf(&m->code, e, "%s", code)
				    : buf_printf(&m->code, e, "%d", status);
}

int verdict_name_server_read(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] = DEAD
		", r AS MATERIALIZED (SELECT *, errors > 0 AND EXISTS (SELECT 1 FROM q WHERE q.pid=r.pid AND"
		" q.ts BETWEEN r.ts AND r.ts + r.dur) AS bad FROM request r WHERE service IN " SERVICES_OF
		" AND name > 0 AND EXISTS (SELECT 1 FROM d)), n AS (SELECT name, total(bad) AS n, count(*) AS"
		" answers, min(iif(bad, ts, NULL)) AS start, max(iif(bad, ts + dur, NULL)) AS till FROM r GROUP BY"
		" name HAVING total(bad) > 0 ORDER BY 2 DESC, name LIMIT 1) SELECT n.name, n.n, n.answers,"
		" n.start, n.till, x.protocol, x.status, coalesce(k.code, '') FROM n JOIN request_error x ON"
		" x.name=n.name AND x.service IN " SERVICES_OF
		" LEFT JOIN request_code k ON k.id=x.code GROUP BY x.protocol, x.status, x.code ORDER BY count(*)"
		" DESC LIMIT 1";

	return db_each(c->db, e, take_name, j, sql, "i", j->about.id);
}

static int put_server(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] = DEAD
		" SELECT remote, (SELECT sum(sends) FROM d WHERE d.remote=q.remote), min(ts) FROM q GROUP BY"
		" remote ORDER BY 2 DESC, 1 LIMIT 1";
	sqlite3_stmt *q;
	int got, ret = db_query(&q, c->db, e, sql, "i", j->about.id);

	if (ret < 0)
		return ret;
	got = db_step(q, e);
	if (got > 0) {
		const struct value values[] = {
			VALUE_TEXT("address", db_text(q, 0)),
			VALUE_NUMBER("n", sqlite3_column_double(q, 1), ""),
			VALUE_NUMBER("start", sqlite3_column_double(q, 2), "at"),
			{ 0 },
		};
		const struct finding f = { FINDING_verdict_name_server,
					   PROBLEM,
					   OBSERVED,
					   j->about,
					   "SELECT * FROM upstream_unanswered WHERE datagram",
					   values,
					   j->finding };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	got = db_end(q, got);
	return ret < 0 ? ret : got;
}

int verdict_name_server_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_errors *m = &j->always;
	const struct value values[] = {
		VALUE_MAYBE("name", request_name, m->name),
		VALUE_NUMBER("start", m->start, "at"),
		VALUE_NUMBER("n", m->n, ""),
		VALUE_NUMBER("of", m->of, ""),
		VALUE_NUMBER("share", m->share, "%"),
		VALUE_TEXT("code", m->code.len ? m->code.data : NULL),
		VALUE_TEXT("meaning", error_name(m->code.data)),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_errors_name,	  PROBLEM, OBSERVED, j->about,
				   "SELECT * FROM request_error", values,  0 };
	int ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);

	return ret < 0 || !m->dead_server ? ret : put_server(c, j, e);
}
