// SPDX-License-Identifier: GPL-2.0-or-later
#include "pause_contender.h"

#include "analyze/store/db.h"

#define NEARLY_ALL 0.9 /* of the program's time: it is named by its thread */

int pause_contender(sqlite3 *db, const struct judged *j, const char *ids, s64 pid,
		    struct pause_contender *ret, struct err *e)
{
	/* k: threads; of the same program, if their processes have one name and one
	 * parent; children of init (1) and kthreadd (2) are each for itself */
	static const char sql[] =
		"WITH w AS MATERIALIZED (SELECT s.object AS tid, min(s.ts + s.dur, p.ts + p.dur) - max(s.ts, p.ts) AS"
		" ns FROM pause p JOIN thread_state s ON s.tid=p.tid AND s.ts < p.ts + p.dur AND s.ts + s.dur > p.ts"
		" WHERE p.server=?1 AND p.id IN (SELECT value FROM json_each(?2)) AND s.state IN"
		" (state_id('woken'), state_id('preempted'))), o AS MATERIALIZED (SELECT tid, sum(ns) AS ns, (SELECT"
		" pid FROM thread t WHERE t.tid=w.tid LIMIT 1) AS pid FROM w WHERE tid > 0 GROUP BY tid), x AS"
		" MATERIALIZED (SELECT pid, max(coalesce(comm, '')) AS comm, max(parent) AS parent FROM"
		" process WHERE pid IN (SELECT pid FROM o) GROUP BY pid), k AS MATERIALIZED (SELECT o.*,"
		" coalesce(nullif(x.comm, ''), o.pid) AS program, iif(x.parent > 2, x.parent, -o.pid) AS parent FROM o LEFT JOIN x"
		" USING(pid)), g AS (SELECT program, parent, sum(ns) AS ns, count(DISTINCT pid) AS n FROM k GROUP BY"
		" 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 1) SELECT k.tid, k.pid, k.ns, g.ns, (SELECT sum(ns) FROM w), g.n,"
		" g.parent=?3 AND k.pid<>?3 FROM g JOIN k USING(program, parent) ORDER BY k.ns DESC, k.tid LIMIT 1";
	sqlite3_stmt *q;
	int got = db_query(&q, db, e, sql, "isi", j->about.kind == SUBJECT_server ? j->about.id : 0,
			   ids, pid);
	double own, program, part, n;

	if (got < 0)
		return got;
	got = db_step(q, e);
	if (got > 0) {
		own = sqlite3_column_double(q, 2);
		program = sqlite3_column_double(q, 3);
		ret->of = (struct subject){ SUBJECT_thread, sqlite3_column_int64(q, 0) };
		if (sqlite3_column_int(q, 5) > 1 && own < NEARLY_ALL * program) {
			ret->of = (struct subject){ SUBJECT_program, sqlite3_column_int64(q, 1) };
			ret->processes = sqlite3_column_int(q, 5);
			own = program;
		}
		ret->share = fmin(100 * own / sqlite3_column_double(q, 4), 100);
		ret->forked_by = sqlite3_column_int(q, 6) ? pid : 0;
	}
	got = db_end(q, got);
	if (got < 0 || ret->of.kind != SUBJECT_thread)
		return got;
	return pause_stack(&ret->function, &part, &n, db, j, ret->of.id, e);
}
