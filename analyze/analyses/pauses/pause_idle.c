// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread at the end of a wakeup chain that waits for its client: since when it had no request,
 * after which, and whether that client has started a transaction and not ended it. What the others
 * wait for is then kept for as long as the client likes.
 */
#include "pause_root.h"

/* ?1 its last request before ?2; the next one is of the same connection. */
static const char last_sql[] =
	"WITH l AS MATERIALIZED (SELECT q.rowid AS id, q.fd, q.ts + q.dur AS till FROM request q WHERE"
	" q.tid=?1 AND q.ts < ?2 ORDER BY q.ts DESC LIMIT 1) SELECT l.id, l.till, coalesce((SELECT"
	" n.name LIKE '% BEGIN' OR n.name LIKE '% START' FROM request q JOIN request_name n ON"
	" n.id=q.name WHERE q.tid=?1 AND q.fd=l.fd AND q.ts < ?2 AND (n.name LIKE '% BEGIN' OR n.name"
	" LIKE '% START' OR n.name LIKE '% COMMIT' OR n.name LIKE '% ROLLBACK' OR n.name LIKE '% END'"
	" OR n.name LIKE '% ABORT') ORDER BY q.ts DESC LIMIT 1), 0) FROM l WHERE l.till <= ?2 AND"
	" l.fd=(SELECT q.fd FROM request q WHERE q.tid=?1 AND q.ts >= ?2 ORDER BY q.ts LIMIT 1)";

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
