// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server that a pause waited for may have answered, late. One that did not, of which the asker
 * gave up the connection, or that answered only what was asked again, did not.
 */
#include "pause_answered.h"

int pause_answered(struct pause_upstream *u, sqlite3 *db, s64 tid, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"WITH t AS (SELECT pid FROM thread WHERE tid=?1 LIMIT 1), m AS MATERIALIZED (SELECT fd, ts,"
		" coalesce(end, 9223372036854775807) AS till FROM fd WHERE pid IN t AND remote=?4), a AS"
		" MATERIALIZED (SELECT u.dur, min(u.ts + u.dur, ?3) - max(u.ts, ?2) AS ns FROM upstream u WHERE u.pid"
		" IN t AND (u.tid=?1 OR u.asker=?1) AND u.ts < ?3 AND u.ts + u.dur > ?2 AND EXISTS (SELECT 1 FROM m"
		" WHERE m.fd=u.fd AND m.ts <= u.ts AND u.ts <= m.till)) SELECT max(dur), count(*) FROM a WHERE NOT"
		" EXISTS (SELECT 1 FROM upstream_unanswered n JOIN m ON m.fd=n.fd AND m.ts <= n.ts AND n.ts <= m.till"
		" WHERE n.pid IN t AND n.tid=?1 AND n.ts < ?3 AND m.till > ?2) HAVING 2 * total(ns) >= ?3 - ?2";
	sqlite3_stmt *q;
	int ret = u->sends ? 0 : db_query(&q, db, e, sql, "iiis", tid, from, to, u->address.data);

	if (ret < 0 || u->sends)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		u->answered = sqlite3_column_double(q, 0);
		u->questions = sqlite3_column_double(q, 1);
	}
	return db_end(q, ret);
}
