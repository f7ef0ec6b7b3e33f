// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A worker of a server ends, the process that forked it forks another one, and until that one
 * answers, nothing does: what it does first, as reading its program, is the pause.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/db.h"
#include "pause_root.h"

/* ?1 the process of the pause, ?2 its end, ?3 the server. */
static const char sql[] =
	"WITH s AS MATERIALIZED (SELECT id, pid FROM service WHERE server=?3) SELECT o.pid, o.end, p.start FROM process p"
	" JOIN process o ON o.parent=p.parent AND o.comm=p.comm AND o.end <= p.start WHERE p.pid=?1 AND p.start > 0"
	" AND p.start < ?2 AND p.parent > 1 AND p.pid IN (SELECT pid FROM s) AND o.pid IN (SELECT pid FROM s) AND NOT"
	" EXISTS (SELECT 1 FROM request r WHERE r.service IN (SELECT id FROM s) AND r.ts + r.dur > o.end AND r.ts +"
	" r.dur < ?2) ORDER BY o.end DESC LIMIT 1";

int pause_recycled_put(struct analysis_ctx *c, const struct judged *j, s64 pid, struct err *e)
{
	const struct judged_pause *p = judged_longest(j);
	sqlite3_stmt *q;
	int got, ret;

	if (!p || j->about.kind != SUBJECT_server)
		return 0;
	ret = db_query(&q, c->db, e, sql, "iii", pid, p->end, j->about.id);
	if (ret < 0)
		return ret;
	got = db_step(q, e);
	if (got > 0) {
		const struct value values[] = {
			VALUE_SUBJECT("worker", process, sqlite3_column_int64(q, 0)),
			VALUE_NUMBER("ended", sqlite3_column_double(q, 1), "at"),
			VALUE_SUBJECT("next", process, pid),
			VALUE_NUMBER("start", sqlite3_column_double(q, 2), "at"),
			VALUE_NUMBER("until", (double)p->end, "at"),
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
