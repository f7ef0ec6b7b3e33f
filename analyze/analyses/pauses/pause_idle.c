// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread at the end of a wakeup chain that waits for its client: since when it had no request,
 * after which, and whether that client has started a transaction and not ended it. What the others
 * wait for is then kept for as long as the client likes. Or its client is a replica.
 */
#include "pause_root.h"

#include "analyze/store/transactions.h"
#include "format/protocols.h"

#include <math.h>

/*
 * n: its next request from ?2 on, on a connection that was open then (k). l: its last request
 * before. Without any, the connection was open before the recording, and no thread read from it. A
 * transaction was open if the last request that begins or ends one begins it, or the next ends it.
 */
static const char idle_sql[] =
	"WITH n AS MATERIALIZED (SELECT q.rowid AS id, q.pid, q.fd, q.ts, q.name FROM request q WHERE q.tid=?1"
	" AND q.ts >= ?2 ORDER BY q.ts LIMIT 1), k AS MATERIALIZED (SELECT coalesce(max(f.ts), 0) AS ts FROM n JOIN fd f"
	" ON f.pid=n.pid AND f.fd=n.fd AND f.ts <= n.ts), l AS MATERIALIZED (SELECT q.rowid AS id, q.fd, q.ts, q.ts +"
	" q.dur AS till FROM request q WHERE q.tid=?1 AND q.ts < ?2 ORDER BY q.ts DESC LIMIT 1) SELECT l.id,"
	" iif(awaits(m.protocol, m.name), l.ts, l.till), coalesce((SELECT " BEGINS_TRANSACTION(
		"b.name") " FROM request q JOIN request_name b ON b.id=q.name WHERE q.tid=?1 AND q.fd=n.fd AND q.ts >= k.ts"
			  " AND q.ts < ?2 AND (" BEGINS_TRANSACTION("b.name") " OR " ENDS_TRANSACTION("b.name") ") ORDER BY q.ts DESC LIMIT 1), " ENDS_TRANSACTION(
				  "m.name") ", 0), n.id,"
					    " coalesce(awaits(m.protocol, m.name), 0), coalesce(m.protocol, 0) FROM n, k LEFT JOIN l LEFT JOIN"
					    " request_name m ON m.id=n.name WHERE k.ts <= ?2 AND iif(l.id NOT NULL, l.fd=n.fd AND l.till <= ?2 AND k.ts"
					    " <= l.till, k.ts=0 AND NOT EXISTS (SELECT 1 FROM request q WHERE q.pid=n.pid AND q.fd=n.fd AND"
					    " q.ts < ?2) AND NOT EXISTS (SELECT 1 FROM request_before b WHERE b.pid=n.pid AND b.fd=n.fd))";

static void say_idle(struct pause_root *r, sqlite3_stmt *q)
{
	bool before = sqlite3_column_type(q, 0) == SQLITE_NULL;
	bool transaction = sqlite3_column_int(q, 2), replica = sqlite3_column_int(q, 4);
	s64 protocol = sqlite3_column_int64(q, 5);

	r->idle_after = replica ? 0 : sqlite3_column_int64(q, 0);
	r->idle_since = before ? NAN : (double)sqlite3_column_int64(q, 1);
	r->idle_until = before && transaction ? sqlite3_column_int64(q, 3) : 0;
	if (replica)
		r->idle = before ? NULL : "It waits for its standby, which sent nothing";
	else if (!before)
		r->idle = transaction ? "It was in a transaction, without a request"
				      : "It was without a request";
	else if (transaction)
		r->idle = "It was in a transaction, without a request since before the recording";
	else if (protocol == PROTOCOL_POSTGRES || protocol == PROTOCOL_MYSQL)
		r->idle = "It was without a request since before the recording:"
			  " a transaction may have been open";
	else
		r->idle = "It was without a request since before the recording";
}

int pause_idle(struct pause_root *r, sqlite3 *db, s64 tid, s64 ts, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, idle_sql, "ii", tid, ts);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		say_idle(r, q);
	return db_end(q, ret);
}
