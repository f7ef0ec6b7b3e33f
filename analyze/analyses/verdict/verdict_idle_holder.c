// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that fail since they do not get a lock in time, each by its own timeout: what held it
 * let go in none of that time. A client in a transaction that sends nothing is one connection, open
 * before the first of them arrived until the last has failed, and without a request in between. Its
 * last one was of the same name, or its transaction has not ended. Others that are idle may hold
 * nothing, as those of a pool: then, or if a request lasted all that time, none is named.
 */
#include "verdict.h"

#include "analyze/store/error_names.h"
#include "analyze/store/transactions.h"

static int put(void *arg, sqlite3_stmt *q, struct err *e)
{
	const struct judged *j = arg;
	const char *code = db_text(q, 4);
	const struct value values[] = {
		VALUE_TEXT("client", db_text(q, 0)),
		VALUE_NUMBER("since", sqlite3_column_double(q, 1), "at"),
		VALUE_SUBJECT("name", request_name, sqlite3_column_int64(q, 2)),
		VALUE_NUMBER("n", sqlite3_column_double(q, 3), ""),
		VALUE_TEXT("code", code),
		VALUE_TEXT("meaning", error_name(code)),
		{ 0 },
	};
	const struct finding f = { FINDING_idle_holder,
				   PROBLEM,
				   OVERLAP,
				   j->about,
				   "SELECT pid, fd, max(ts), name FROM request GROUP BY pid, fd",
				   values,
				   j->finding };

	return finding_put(sqlite3_db_handle(q), "verdict", &f, NULL, e);
}

/* Errors for want of a lock, but for deadlocks; w: their requests, t: their time. */
#define FAILED                                                                                    \
	"WITH s AS MATERIALIZED (SELECT id, pid FROM service WHERE server=?1), x AS MATERIALIZED" \
	" (SELECT * FROM (SELECT tid, ts, " ERROR_CODE_OF " AS why FROM request_error e WHERE"    \
	" service IN (SELECT id FROM s)) WHERE why IN (SELECT code FROM " LOCK_ERRORS ") AND why" \
	" NOT IN " DEADLOCKS "), r AS MATERIALIZED (SELECT pid, fd, ts, ts - queued AS arrival,"  \
	" ts + dur AS till, tid, q.name, errors, coalesce(n.name, '') AS text FROM request q"     \
	" LEFT JOIN request_name n ON n.id=q.name WHERE EXISTS (SELECT 1 FROM x) AND service IN"  \
	" (SELECT id FROM s)), w AS MATERIALIZED (SELECT r.arrival, r.till, r.name, x.why FROM x" \
	" JOIN r ON x.tid=r.tid AND x.ts BETWEEN r.ts AND r.till WHERE r.errors > 0), t AS"       \
	" MATERIALIZED (SELECT min(arrival) AS first, max(till) AS last, count(*) AS n, min(why)" \
	" AS why FROM w)"
/* Of each connection the last request before they had all failed, and whether that is in a
 * transaction. */
#define LAST                                                                                    \
	", l AS MATERIALIZED (SELECT pid, fd, max(r.ts) AS ts, r.till, name FROM r, t WHERE"    \
	" r.ts < t.last GROUP BY pid, fd), k AS MATERIALIZED (SELECT pid, fd, max(r.ts) AS at," \
	" " BEGINS_TRANSACTION("text") " AS open FROM r, t WHERE r.ts < t.last AND"             \
				       " (" BEGINS_TRANSACTION("text") " OR " ENDS_TRANSACTION( \
					       "text") ") GROUP BY pid, fd)"

int verdict_idle_holder(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] = FAILED LAST
		" SELECT f.remote, l.till, l.name, t.n, t.why, count(*) AS of FROM t, l LEFT JOIN k USING(pid, fd) JOIN fd f ON f.pid=l.pid AND f.fd=l.fd AND"
		" f.role='accepted' AND f.ts <= l.ts AND coalesce(f.end, t.last) >= t.last WHERE l.till <= t.first AND"
		" (k.open OR l.name IN (SELECT name FROM w)) AND NOT EXISTS (SELECT 1 FROM r WHERE r.arrival <="
		" t.first AND r.till >= t.last) AND NOT EXISTS (SELECT 1 FROM unanswered u WHERE u.read <= t.first AND"
		" u.service IN (SELECT id FROM s)) GROUP BY t.n HAVING of=1";

	return j->errors > 0 ? db_each(c->db, e, put, j, sql, "i", j->about.id) : 0;
}
