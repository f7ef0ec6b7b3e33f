// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread at the end of a wakeup chain that waits for its client: since when it had no request,
 * after which, and whether that client has started a transaction and not ended it. What the others
 * wait for is then kept for as long as the client likes.
 */
#include "pause_root.h"

#include "analyze/store/transactions.h"

/* ?1 its last request before ?2, on a connection that was open until then (k); the next one is of
 * the same. */
static const char last_sql[] =
	"WITH l AS MATERIALIZED (SELECT q.rowid AS id, q.pid, q.fd, q.ts, q.ts + q.dur AS till FROM request q WHERE"
	" q.tid=?1 AND q.ts < ?2 ORDER BY q.ts DESC LIMIT 1), k AS MATERIALIZED (SELECT coalesce(max(f.ts), 0) AS ts"
	" FROM l JOIN fd f ON f.pid=l.pid AND f.fd=l.fd AND f.ts <= l.ts) SELECT l.id, l.till, coalesce((SELECT"
	" " BEGINS_TRANSACTION(
		"n.name") " FROM request q JOIN request_name n ON n.id=q.name WHERE q.tid=?1 AND q.fd=l.fd AND q.ts >= (SELECT ts FROM"
			  " k) AND q.ts < ?2 AND (" BEGINS_TRANSACTION("n.name") " OR " ENDS_TRANSACTION(
				  "n.name") ")"
					    " ORDER BY q.ts DESC LIMIT 1), 0) FROM l WHERE l.till <= ?2 AND"
					    " l.fd=(SELECT q.fd FROM request q WHERE q.tid=?1 AND q.ts >= ?2 ORDER BY q.ts LIMIT 1) AND NOT EXISTS"
					    " (SELECT 1 FROM fd f WHERE f.pid=l.pid AND f.fd=l.fd AND f.ts > l.till AND f.ts <= ?2)";

int pause_idle(struct pause_root *r, sqlite3 *db, s64 tid, s64 ts, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, last_sql, "ii", tid, ts);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		r->idle_after = sqlite3_column_int64(q, 0);
		r->idle_since = (double)sqlite3_column_int64(q, 1);
		r->idle = sqlite3_column_int(q, 2) ? "It was in a transaction, without a request"
						   : "It was without a request";
	}
	return db_end(q, ret);
}
