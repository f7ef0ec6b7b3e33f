// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In a pause, threads of the server with a request that were in the same state, too; without those
 * of a runtime with green threads, which work on any request.
 */
#include "pause_root.h"

int pause_others(double *ret_n, sqlite3 *db, s64 pause, struct err *e)
{
	static const char sql[] =
		"WITH p AS (SELECT server, tid AS of, ts AS since, ts + dur AS till FROM pause WHERE id=?1), s AS"
		" MATERIALIZED (SELECT s.tid, s.state, of, till - since AS length, sum(min(s.ts + s.dur, till) -"
		" max(s.ts, since)) AS ns FROM p JOIN thread_state s ON s.ts < till AND s.ts + s.dur > since"
		" WHERE s.tid IN (SELECT tid FROM thread WHERE NOT green AND pid IN (SELECT pid FROM service WHERE"
		" server=p.server)) GROUP BY 1, 2), r AS MATERIALIZED (SELECT r.tid FROM p JOIN request r ON"
		" r.ts < till AND 2 * (min(r.ts + r.dur, till) - max(r.ts, since)) > till - since UNION"
		" SELECT u.tid FROM p JOIN unanswered u ON 2 * (till - max(u.read, since)) > till - since)"
		" SELECT count(*) FROM s WHERE tid<>of AND 2 * ns > length AND tid IN (SELECT tid FROM r) AND"
		" state=(SELECT state FROM s WHERE tid=of ORDER BY ns DESC LIMIT 1)";
	s64 n = 0;
	int ret = db_int(db, &n, e, sql, "i", pause);

	*ret_n = (double)n;
	return ret;
}
