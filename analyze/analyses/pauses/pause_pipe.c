// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A full pipe: in the pauses, the threads that serve requests wait to write into it. Other threads
 * then accept nothing and read nothing, for want of a free one. Where other threads are free, the
 * next requests of the same connections wait.
 */
#include "analyze/analyses/verdict/verdict_stuck.h"
#include "analyze/store/db.h"

#define SLOWEST 1000 /* requests */

/* ?1 server. t: threads that serve; a: their waits. */
#define WAITS                                                                                            \
	"WITH t AS MATERIALIZED (SELECT DISTINCT r.tid AS tid, v.pid AS pid FROM request r JOIN service" \
	" v ON v.id=r.service WHERE v.server=?1), a AS MATERIALIZED (SELECT tid, ts, dur, object FROM"   \
	" thread_state WHERE state=state_id('pipe') AND nr IN (SELECT nr FROM syscall_name WHERE name"   \
	" IN ('write', 'writev')) AND tid IN (SELECT tid FROM t))"
#define WAIT                                                                                        \
	"s.tid AS tid, s.ts AS ts, s.dur AS dur, (SELECT iif(f.kind='pipe', f.ino, NULL) FROM fd f" \
	" WHERE f.pid=t.pid AND f.fd=s.object AND f.ts <= s.ts + s.dur ORDER BY f.ts DESC LIMIT 1)" \
	" AS ino FROM a s JOIN t ON t.tid=s.tid "
/* w: such waits, and ns of them, of whole; o: the pipe of most. */
#define PIPE(whole)                                                                                \
	", o AS (SELECT ino, sum(ns) AS ns, count(DISTINCT tid) AS threads FROM w WHERE ino NOT"   \
	" NULL GROUP BY ino ORDER BY sum(ns) DESC LIMIT 1), l AS (SELECT tid, dur FROM w WHERE"    \
	" ino=(SELECT ino FROM o) ORDER BY dur DESC, tid LIMIT 1), b AS (SELECT 100.0 * ns /"      \
	" (" whole ") AS share FROM o) SELECT l.tid, l.dur, o.threads, b.share, (SELECT count(*)"  \
	" FROM t), (SELECT f.pid FROM (SELECT tid, fd, ts FROM syscall WHERE (abi, nr) IN (SELECT" \
	" abi, nr FROM syscall_name WHERE name IN ('read', 'readv')) AND fd IN (SELECT fd FROM fd" \
	" WHERE kind='pipe' AND ino=(SELECT ino FROM o))) s CROSS JOIN thread h ON h.tid=s.tid"    \
	" CROSS JOIN fd f ON f.pid=h.pid AND f.fd=s.fd AND f.ts <= s.ts AND f.kind='pipe' AND"     \
	" f.ino=o.ino ORDER BY s.ts LIMIT 1) FROM l, o, b WHERE b.share > 50"

static const char pauses_sql[] = WAITS
	", p AS MATERIALIZED (SELECT * FROM pause WHERE counts AND server=?1), w AS MATERIALIZED"
	" (SELECT min(s.ts + s.dur, p.ts + p.dur) - max(s.ts, p.ts) AS ns, " WAIT
	"CROSS JOIN pause p ON p.counts AND p.server=?1 AND p.ts BETWEEN s.ts - (SELECT max(dur) FROM p)"
	" AND s.ts + s.dur AND s.ts < p.ts + p.dur)" PIPE(
		"(SELECT count(*) FROM t) * (SELECT sum(dur) FROM p)");

/*
 * ?2, ?3 from and to; ?4 requests. p: the slowest; x: their threads, and that of the request before
 * on the connection: it hands it on, or reads the next one, only after it has written its log.
 */
static const char slow_sql[] = WAITS
	", q AS (SELECT ts - queued AS ts, ts + dur AS till, tid, lag(tid) OVER (PARTITION BY pid, fd"
	" ORDER BY ts) AS before FROM request WHERE service IN (SELECT id FROM service WHERE server=?1)),"
	" p AS MATERIALIZED (SELECT * FROM q WHERE till > ?2 AND ts < ?3 ORDER BY till - ts DESC LIMIT"
	" ?4), x AS MATERIALIZED (SELECT ts, till, tid FROM p UNION ALL SELECT ts, till, before FROM p"
	" WHERE before <> tid), w AS MATERIALIZED (SELECT min(s.ts + s.dur, x.till) - max(s.ts, x.ts) AS"
	" ns, " WAIT "JOIN x ON x.tid=s.tid AND s.ts < x.till AND s.ts + s.dur > x.ts)" PIPE(
		"SELECT sum(till - ts) FROM p");

int verdict_pipe(struct analysis_ctx *c, const struct judged *j, bool *ret_said, struct err *e)
{
	bool paused = j->kind == VERDICT_pauses;
	sqlite3_stmt *q;
	int got, ret = paused ? mark_pauses(c, j, e) : 0;

	if (ret == 0 && paused)
		ret = db_query(&q, c->db, e, pauses_sql, "i", j->about.id);
	else if (ret == 0)
		ret = db_query(&q, c->db, e, slow_sql, "iiii", j->about.id,
			       isnan(j->start) ? (s64)0 : (s64)j->start,
			       isnan(j->end) ? c->duration : (s64)j->end, (s64)SLOWEST);
	if (ret < 0)
		return ret;
	got = db_step(q, e);
	*ret_said = got > 0;
	if (got > 0) {
		double threads = sqlite3_column_double(q, 2);
		const struct value values[] = {
			VALUE_SUBJECT("thread", thread, sqlite3_column_int64(q, 0)),
			VALUE_NUMBER("longest", sqlite3_column_double(q, 1), "ns"),
			VALUE_NUMBER("others", threads > 1 ? threads - 1 : NAN, ""),
			VALUE_NUMBER("blocked", sqlite3_column_double(q, 3), "%"),
			VALUE_NUMBER("threads", paused ? sqlite3_column_double(q, 4) : NAN, ""),
			VALUE_MAYBE("reader", process, sqlite3_column_int64(q, 5)),
			VALUE_TEXT("which", !paused	     ? "the latency of the slowest requests"
					    : j->counted > 1 ? "the pauses"
							     : "the pause"),
			{ 0 },
		};
		const struct finding f = {
			FINDING_pause_pipe,
			PROBLEM,
			OBSERVED,
			j->about,
			"SELECT * FROM v_syscall WHERE syscall IN ('write', 'writev') ORDER BY dur DESC",
			values,
			j->finding
		};

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	got = db_end(q, got);
	return ret < 0 ? ret : got;
}
