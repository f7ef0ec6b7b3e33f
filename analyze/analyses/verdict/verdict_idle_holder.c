// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that fail since they do not get a lock in time, each by its own timeout: what held it
 * may have let go in none of that time. A client in a transaction that sends nothing is one
 * connection, open before the first of them arrived until the last has failed, and without a
 * request in between. Its last one was of the same name, or its transaction has not ended. Others
 * that are idle may hold nothing, as those of a pool: then, or if a request lasted all that time,
 * none is named. Nor is one where a connection had no request since before: it may hold it as well.
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
		VALUE_MAYBE("name", request_name, sqlite3_column_int64(q, 2)),
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

/*
 * Errors for want of a lock, but for deadlocks; w: their requests; t: their time, which is no
 * moment, and no other request lasted all of it.
 */
#define FAILED                                                                                      \
	"WITH s AS MATERIALIZED (SELECT id, pid, port FROM service WHERE server=?1), r AS"          \
	" MATERIALIZED (SELECT pid, fd, ts, ts - queued AS arrival, ts + dur AS till, tid, q.name," \
	" errors, coalesce(n.name, '') AS text FROM request q LEFT JOIN request_name n ON"          \
	" n.id=q.name WHERE service IN (SELECT id FROM s)), w AS MATERIALIZED (SELECT r.arrival,"   \
	" r.till, r.name, " ERROR_CODE_OF " AS why FROM r CROSS JOIN request_error e ON"            \
	" e.tid=r.tid AND e.ts BETWEEN r.ts AND r.till WHERE r.errors > 0 AND e.service IN"         \
	" (SELECT id FROM s) AND why IN (SELECT code FROM " LOCK_ERRORS ") AND why NOT IN"          \
	" " DEADLOCKS "), t AS MATERIALIZED (SELECT * FROM (SELECT min(arrival) AS first,"          \
	" max(till) AS last, count(*) AS n, min(why) AS why FROM w) a WHERE n > 1 AND last -"       \
	" first >= 1e9 AND NOT EXISTS (SELECT 1 FROM r WHERE arrival <= first AND till >= last)"    \
	" AND NOT EXISTS (SELECT 1 FROM unanswered u WHERE u.read <= first AND u.service IN"        \
	" (SELECT id FROM s)) AND NOT EXISTS (SELECT 1 FROM request_before b WHERE b.service IN"    \
	" (SELECT id FROM s) AND coalesce(b.end, last) >= last))"
/*
 * c: the connections of all that time, with those of processes that had no request, as of
 * PostgreSQL; l: the last request of each before they had all failed, k: whether that is in a
 * transaction.
 */
#define LAST                                                                                      \
	", p AS MATERIALIZED (SELECT pid FROM process WHERE comm IN (SELECT comm FROM process"    \
	" WHERE pid IN (SELECT pid FROM s))), c AS MATERIALIZED (SELECT f.pid, f.fd, f.ts,"       \
	" f.remote FROM t JOIN fd f ON f.role='accepted' AND f.ts <= t.first AND coalesce(f.end," \
	" t.last) >= t.last WHERE f.port IN (SELECT port FROM s) OR f.port IS NULL AND f.pid IN"  \
	" (SELECT pid FROM p)), x AS MATERIALIZED (SELECT c.pid, c.fd, c.remote, r.ts, r.till,"   \
	" r.name, r.text FROM t JOIN r ON r.ts < t.last JOIN c ON c.pid=r.pid AND c.fd=r.fd AND"  \
	" r.ts >= c.ts), l AS MATERIALIZED (SELECT pid, fd, remote, max(ts), till, name FROM x"   \
	" GROUP BY pid, fd), k AS MATERIALIZED (SELECT pid, fd, max(ts), " BEGINS_TRANSACTION(    \
		"text") " AS open FROM x WHERE " BEGINS_TRANSACTION("text") " OR " ENDS_TRANSACTION("text") " GROUP BY pid, fd)"

int verdict_idle_holder(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	static const char sql[] = FAILED LAST
		" SELECT l.remote, l.till, l.name, t.n, t.why, count(*) AS of FROM t, l LEFT JOIN k USING(pid, fd) WHERE"
		" l.till <= t.first AND (k.open OR l.name IN (SELECT name FROM w)) AND (SELECT count(*) FROM c)="
		"(SELECT count(*) FROM l) GROUP BY t.n HAVING of=1 AND l.remote<>''";

	return (j->kind == VERDICT_errors || (j->kind == VERDICT_slower && j->more.n > 0)) &&
			       j->errors > 0
		       ? db_each(c->db, e, put, j, sql, "i", j->about.id)
		       : 0;
}
