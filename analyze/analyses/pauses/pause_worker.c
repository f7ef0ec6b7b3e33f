// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread sleeps in poll with all requests read, and no thread wakes it. Of its process and those
 * of the same name and parent, one thread alone works all the time: on a request that it had read
 * before. A thread that may have handed it on, as those of Go do, is not named.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/db.h"
#include "pause_root.h"

/* ?1 process, ?2, ?3 the pause. Requests that last until its end; on a CPU or queued for one. */
static const char sql[] =
	"WITH s AS MATERIALIZED (SELECT ?1 AS pid UNION SELECT x.pid FROM process x JOIN process o ON"
	" o.pid=?1 AND x.parent=o.parent AND x.comm=o.comm WHERE o.parent > 0), q AS MATERIALIZED (SELECT tid,"
	" pid, fd, client, name, read AS ts, 1 AS open FROM unanswered WHERE pid IN s AND read < ?2 UNION"
	" ALL SELECT tid, pid, fd, client, name, ts, 0 FROM request WHERE pid IN s AND ts < ?2 AND ts + dur"
	" >= ?3), one AS MATERIALIZED (SELECT *, min(ts) FROM q WHERE tid NOT IN (SELECT tid FROM thread WHERE"
	" green) GROUP BY tid), w AS MATERIALIZED (SELECT q.*, sum(min(t.ts + t.dur, ?3) - max(t.ts, ?2)) AS ns FROM one q"
	" JOIN thread_state t ON t.tid=q.tid AND t.ts < ?3 AND t.ts + t.dur > ?2 AND t.state IN (state_id('run'),"
	" state_id('woken'), state_id('preempted')) GROUP BY q.tid HAVING 2 * ns > ?3 - ?2) SELECT tid,"
	" coalesce((SELECT n.name FROM request_name n WHERE n.id=w.name), 'a request') || coalesce(' from ' ||"
	" (SELECT nullif(remote, '') FROM fd WHERE fd.pid=w.pid AND fd.fd=w.fd AND fd.ts <= w.ts ORDER BY"
	" fd.ts DESC LIMIT 1), ''), ts, 100.0 * ns / (?3 - ?2), open FROM w WHERE (SELECT count(*) FROM w)=1";

static int put(struct analysis_ctx *c, const struct judged *j, const struct judged *one,
	       sqlite3_stmt *q, struct err *e)
{
	s64 tid = sqlite3_column_int64(q, 0);
	struct buf function = { 0 };
	double part = 0, samples = 0;
	int ret = pause_stack(&function, &part, &samples, c->db, one, tid, e);
	bool known = function.len > 0;
	const struct value values[] = {
		VALUE_SUBJECT("worker", thread, tid),
		VALUE_NUMBER("share", sqlite3_column_double(q, 3), "%"),
		VALUE_TEXT("function", known ? function.data : NULL),
		VALUE_NUMBER("part", known ? 100 * part : NAN, "%"),
		VALUE_NUMBER("samples", known ? samples : NAN, ""),
		VALUE_TEXT("request", db_text(q, 1)),
		VALUE_NUMBER("since", sqlite3_column_double(q, 2), "at"),
		VALUE_TEXT("open", sqlite3_column_int(q, 4) ? "without" : NULL),
		{ 0 },
	};
	const struct finding f = {
		FINDING_pause_worker, PROBLEM, OVERLAP, j->about, NULL, values, j->finding
	};

	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&function);
	return ret;
}

int pause_worker_put(struct analysis_ctx *c, const struct judged *j, const struct judged *one,
		     s64 pid, struct err *e)
{
	const struct judged_pause *p = judged_longest(one);
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iii", pid, p->start, p->end), failed = 0;

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		failed = put(c, j, one, q, e);
	ret = db_end(q, ret);
	return failed < 0 ? failed : ret;
}
