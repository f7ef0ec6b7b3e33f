// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A worker of a server ends, the process that forked it forks another one, and until that one
 * answers, nothing does: what it does first, as reading its program, is the pause.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/db.h"
#include "pause_root.h"

/*
 * ?1 the process of the pause, ?2 its end, ?3 the server, ?4 the start. The new one may have been
 * forked before the old ones ended, as at a reload: then none that had answered before is left.
 */
static const char sql[] =
	"WITH s AS MATERIALIZED (SELECT id, pid FROM service WHERE server=?3), r AS MATERIALIZED (SELECT pid, ts + dur AS"
	" answered FROM request WHERE service IN (SELECT id FROM s)), b AS MATERIALIZED (SELECT DISTINCT r.pid AS pid, o.end"
	" AS end FROM r JOIN process o ON o.pid=r.pid WHERE answered <= ?4), w AS (SELECT o.pid AS pid, o.end AS end, p.start AS"
	" start, p.parent AS parent, o.end > p.start AS all_of FROM process p JOIN process o ON o.parent=p.parent AND"
	" o.comm=p.comm AND (o.end <= p.start OR (o.end < ?2 AND o.pid IN (SELECT pid FROM b) AND NOT EXISTS (SELECT 1 FROM b"
	" WHERE end IS NULL OR end >= ?2))) WHERE p.pid=?1 AND p.start > 0 AND p.start < ?2 AND p.parent > 1 AND p.pid IN"
	" (SELECT pid FROM s) AND o.pid IN (SELECT pid FROM s) AND NOT EXISTS (SELECT 1 FROM r WHERE answered >"
	" min(o.end, ?4) AND answered < ?2) ORDER BY o.end DESC LIMIT 1) SELECT w.pid, w.end, w.start,"
	" w.parent, g.ts, g.sender || '[' || g.tid || ']', iif(all_of, (SELECT count(*) - 1 FROM b), 0) FROM w LEFT JOIN"
	" signal_sent g ON g.rowid=(SELECT x.rowid FROM signal_sent x WHERE x.pid=w.parent AND x.signal=1 AND x.ts <="
	" w.start ORDER BY x.ts DESC LIMIT 1)";

int pause_recycled_put(struct analysis_ctx *c, const struct judged *j, s64 pid, struct err *e)
{
	const struct judged_pause *p = judged_longest(j);
	sqlite3_stmt *q;
	int got, ret;

	if (!p || j->about.kind != SUBJECT_server)
		return 0;
	ret = db_query(&q, c->db, e, sql, "iiii", pid, p->end, j->about.id, p->start);
	if (ret < 0)
		return ret;
	got = db_step(q, e);
	if (got > 0) {
		double others = sqlite3_column_double(q, 6);
		const struct value values[] = {
			VALUE_MAYBE("parent", process,
				    db_text(q, 5)[0] ? sqlite3_column_int64(q, 3) : 0),
			VALUE_TEXT("sender", db_text(q, 5)[0] ? db_text(q, 5) : NULL),
			VALUE_NUMBER("at", db_number(q, 4), "at"),
			VALUE_SUBJECT("worker", process, sqlite3_column_int64(q, 0)),
			VALUE_NUMBER("ended", sqlite3_column_double(q, 1), "at"),
			VALUE_SUBJECT("next", process, pid),
			VALUE_NUMBER("start", sqlite3_column_double(q, 2), "at"),
			VALUE_NUMBER("until", (double)p->end, "at"),
			VALUE_NUMBER("others", others > 0 ? others : NAN, ""),
			{ 0 },
		};
		const struct finding f = { FINDING_pause_recycled,
					   PROBLEM,
					   OBSERVED,
					   j->about,
					   NULL,
					   values,
					   j->finding };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	got = db_end(q, got);
	return ret < 0 ? ret : got;
}
