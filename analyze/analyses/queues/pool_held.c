// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads of a pool that wait for a file lock: who held it, and in which function they wait. Who
 * ended a wait had the lock until then, from its start or from the end of its own wait for it.
 */
#include "pool_busy.h"

#include "analyze/store/stacks/stack_brief.h"
#include "analyze/store/state.h"

/* Waits of the server's threads for a file lock from ?2 to ?3. */
#define WAITS                                                                                           \
	"s AS MATERIALIZED (SELECT tid, max(ts, ?2) AS ts, min(ts + dur, ?3) AS till, waker FROM"       \
	" thread_state WHERE state=?4 AND ts < ?3 AND ts + dur > ?2 AND tid IN (SELECT tid FROM thread" \
	" WHERE pid IN (SELECT pid FROM service WHERE server=?1)))"

/* A part of a wait in which its waker waited itself is of who ended that: taken from the one, given
 * to the other. */
static const char holder_sql[] =
	"WITH RECURSIVE " WAITS
	", h(tid, via, ts, till, deep) AS (SELECT waker, 0, ts, till, 0 FROM s WHERE waker > 0"
	" UNION ALL SELECT s.waker, h.tid, max(h.ts, s.ts), min(h.till, s.till), deep + 1 FROM h JOIN s ON"
	" s.tid=h.tid AND s.ts < h.till AND s.till > h.ts WHERE s.waker > 0 AND deep < 64 LIMIT 1000000), held AS (SELECT tid,"
	" till - ts AS ns FROM h UNION ALL SELECT via, ts - till FROM h WHERE via) SELECT tid FROM held GROUP BY 1"
	" HAVING 2 * sum(ns) > (SELECT sum(till - ts) FROM s)";

/* Where the thread that waited longest did so, for most of its wait. */
static const char stack_sql[] =
	"WITH " WAITS
	", t AS (SELECT tid, sum(till - ts) AS ns FROM s GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1)"
	" SELECT t.tid, o.user_stack FROM t JOIN offcpu o ON o.tid=t.tid AND o.state=?4 AND o.ts < ?3 AND o.ts +"
	" o.dur > ?2 GROUP BY o.user_stack HAVING 2 * sum(min(o.ts + o.dur, ?3) - max(o.ts, ?2)) > t.ns";

int pool_held(struct pool_held *h, sqlite3 *db, s64 server, s64 from, s64 to, struct err *e)
{
	sqlite3_stmt *q;
	s64 tid = 0, stack = 0;
	int ret = db_int(db, &h->tid, e, holder_sql, "iiii", server, from, to, (s64)STATE_lock);

	if (ret == 0)
		ret = db_query(&q, db, e, stack_sql, "iiii", server, from, to, (s64)STATE_lock);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		tid = sqlite3_column_int64(q, 0);
		stack = sqlite3_column_int64(q, 1);
	}
	ret = db_end(q, ret);
	return ret < 0 || stack <= 0 ? ret : stack_wait_say(&h->function, db, tid, stack, false, e);
}
