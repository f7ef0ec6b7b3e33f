// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pause in which the thread waits in poll may be one in which it waits for another server: it was
 * woken, received that server's answer, and then answered itself or asked the next question,
 * without another wait for input. If that server is recorded as well, it is found by the addresses
 * of the connection, and what it did then is known. It is only waited for while a question has no
 * answer: that must be a quarter of the pause or more.
 */
#include "pause_answered.h"
#include "pause_root.h"

#include "analyze/store/other_end.h"
#include "analyze/store/state.h"

/* Of row m of table fd; a socket of datagrams that asks several is connected to none. */
#define SEVERAL "m.remote IN ('0.0.0.0:0', '[::]:0')"
#define REMOTE	"iif(" SEVERAL ", 'UDP peers of ' || m.local, m.remote)"

/* Ends the query of an address, of the process at its other end, and of the call that waits. */
static int take_upstream(sqlite3_stmt *q, struct pause_upstream *u, struct err *e)
{
	int ret = db_step(q, e);

	if (ret > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL) {
		u->pid = sqlite3_column_int64(q, 1);
		if (sqlite3_column_count(q) > 2 && sqlite3_column_type(q, 2) != SQLITE_NULL)
			u->sends =
				pause_sends(sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3));
		ret = buf_printf(&u->address, e, "%s", db_text(q, 0));
	}
	return db_end(q, ret);
}

static int read_upstream(struct analysis_ctx *c, s64 server, bool several, struct pause_upstream *u,
			 struct err *e)
{
	static const char sql[] =
		"WITH p AS (SELECT tid, ts, ts + dur AS till FROM pause WHERE server=?1 AND counts ORDER BY id LIMIT"
		" 1), w AS MATERIALIZED (SELECT s.ts, s.ts + s.dur AS till FROM p JOIN thread_state s ON s.tid=p.tid"
		" AND s.ts < p.till AND s.ts + s.dur > p.ts WHERE s.state IN (state_id('poll'), state_id('socket'),"
		" state_id('client'))), u AS MATERIALIZED (SELECT u.pid, u.fd, u.ts, coalesce(u.first_send, u.ts)"
		" AS asked, u.ts + u.dur AS till, p.ts AS start FROM p JOIN upstream u ON u.tid=p.tid AND u.ts + u.dur"
		" BETWEEN p.ts AND p.till), a AS (SELECT *, (SELECT total(min(w.till, u.till) - max(w.ts, u.ts,"
		" u.start)) FROM w WHERE w.ts < u.till AND w.till > max(u.ts, u.start)) AS ns, (SELECT min(w.ts)"
		" FROM w WHERE w.ts >= u.till) AS again FROM u), b AS (SELECT * FROM a WHERE ns > 0 AND (again IS"
		" NULL OR EXISTS (SELECT 1 FROM u n WHERE n.asked >= a.till AND n.asked <= a.again)) AND 4 * (SELECT"
		" total(ns) FROM a) >= (SELECT till - ts FROM p) ORDER BY ns DESC LIMIT 1), m AS (SELECT fd.* FROM fd, b WHERE fd.pid=b.pid AND fd.fd=b.fd AND fd.ts <="
		" b.ts ORDER BY fd.ts DESC LIMIT 1) SELECT " REMOTE ", " OTHER_END
		" FROM m WHERE ?2 OR NOT " SEVERAL;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii", server, (s64)several);

	return ret < 0 ? ret : take_upstream(q, u, e);
}

/* The connection that the thread waited for longest in a call on it, and the process at its end. */
static int read_connection(struct pause_upstream *u, sqlite3 *db, s64 tid,
			   const struct judged_pause *p, bool several, struct err *e)
{
	static const char sql[] =
		"WITH w AS (SELECT t.pid, s.object AS fd, s.ts + s.dur AS till, min(s.ts + s.dur, ?3) -"
		" max(s.ts, ?2) AS ns, s.nr FROM thread_state s JOIN thread t ON t.tid=s.tid WHERE s.tid=?1 AND"
		" s.state=state_id('client') AND s.ts < ?3 AND s.ts + s.dur > ?2 ORDER BY ns DESC LIMIT 1),"
		" m AS (SELECT fd.* FROM w JOIN fd ON fd.pid=w.pid AND fd.fd=w.fd AND fd.ts <= w.till ORDER BY"
		" fd.ts DESC LIMIT 1) SELECT " REMOTE ", " OTHER_END
		", (SELECT nr FROM w), (SELECT coalesce(abi, 0) FROM pause WHERE id=?5) FROM m WHERE"
		" remote<>'' AND (?4 OR NOT " SEVERAL ")";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iiiii", tid, p->start, p->end, (s64)several, p->id);

	return ret < 0 ? ret : take_upstream(q, u, e);
}

/*
 * Of a pause until the end: whom the process asked most without an answer, of those that answered
 * before; then the first. Logs and metrics are sent without an answer.
 */
static int read_unanswered(struct analysis_ctx *c, s64 server, const struct judged_pause *p,
			   struct pause_upstream *u, struct err *e)
{
	static const char sql[] =
		"WITH a AS (SELECT m.pid, m.fd, m.role, m.local, m.remote, m.end, u.ts FROM upstream_unanswered u JOIN fd m ON"
		" m.pid=u.pid AND m.fd=u.fd AND m.end IS NULL AND m.ts <= u.ts WHERE NOT u.closed AND u.ts <= ?2 AND u.pid IN (SELECT pid FROM"
		" service WHERE server=?1) AND (u.answered OR EXISTS (SELECT 1 FROM fd o JOIN upstream w ON"
		" w.pid=o.pid AND w.fd=o.fd WHERE o.remote=m.remote AND o.role='connected'))), m AS (SELECT"
		" *, count(*) OVER (PARTITION BY remote) AS n FROM a ORDER BY n DESC, ts LIMIT 1)"
		" SELECT " REMOTE ", " OTHER_END " FROM m";
	sqlite3_stmt *q;
	s64 asked = p->end - (p->end - p->start) / 4;
	int ret = p->end < c->duration ? 0 : db_query(&q, c->db, e, sql, "ii", server, asked);

	return ret < 0 || p->end < c->duration ? ret : take_upstream(q, u, e);
}

/*
 * A peer of datagrams that answered before, and nothing for a quarter of the pause or more to what
 * the thread asked it in the pause, or since it read its request: the one with most of the pause,
 * then with most questions. What it was asked before may be lost, or answered by others.
 */
static int read_silent(struct pause_upstream *u, sqlite3 *db, s64 tid, const struct judged_pause *p,
		       struct err *e)
{
	static const char sql[] =
		"WITH w AS (SELECT min(?3, coalesce(request_ts, ?3)) AS start FROM pause WHERE id=?2), s AS (SELECT"
		" s.*, min(s.ts + s.dur, ?4) - max(iif(s.ts < w.start, s.last, s.ts), ?3) AS ns FROM w,"
		" peer_silence s WHERE s.answered AND NOT s.lossy AND s.tid=?1 AND s.last >= w.start AND s.ts < ?4"
		" AND s.ts + s.dur > ?3), m AS (SELECT pid, address, sum(ns) AS ns, sum(questions) AS questions"
		" FROM s GROUP BY pid, fd, address, since HAVING 4 * sum(ns) >= ?4 - ?3) SELECT address, (SELECT"
		" o.pid FROM fd o WHERE o.role='bound' AND o.local=m.address AND o.ts < ?4 AND coalesce(o.end, ?4)"
		" > ?3 AND " HAS_ADDRESS(
			"m.address") " ORDER BY o.ts DESC, o.pid LIMIT 1) FROM m ORDER BY"
				     " ns DESC, questions DESC, address LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iiii", tid, p->id, p->start, p->end);

	return ret < 0 ? ret : take_upstream(q, u, e);
}

static int take_next(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct pause_upstream *u = arg;

	u->next_answered = sqlite3_column_double(q, 1);
	return buf_printf(&u->next, e, "%s", db_text(q, 0));
}

/* The server that this thread waited for longest, in its turn. */
static int read_next(struct pause_upstream *u, sqlite3 *db, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"SELECT f.remote, max(u.dur) FROM upstream u JOIN fd f ON f.pid=u.pid AND f.fd=u.fd AND f.ts <= u.ts AND"
		" coalesce(f.end, u.ts) >= u.ts WHERE (u.tid=?1 OR u.asker=?1) AND u.ts < ?3 AND u.ts + u.dur > ?2 AND"
		" f.remote<>'' GROUP BY 1 ORDER BY sum(min(u.ts + u.dur, ?3) - max(u.ts, ?2)) DESC, 1 LIMIT 1";

	return db_each(db, e, take_next, u, sql, "iii", u->tid, from, to);
}

/* What the thread of the other server did then: one with a request for most of the time, else the
 * one that ran most. */
static int read_peer(struct pause_upstream *u, sqlite3 *db, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"WITH s AS (SELECT s.tid, iif(s.state IN (state_id('woken'), state_id('preempted')),"
		" state_id('run'), s.state) AS did, sum(min(s.ts + s.dur, ?2) - max(s.ts, ?1)) AS ns FROM"
		" thread_state s WHERE s.ts < ?2 AND s.ts + s.dur > ?1 AND s.tid IN (SELECT tid FROM thread"
		" WHERE pid=?3) GROUP BY s.tid, did), r AS (SELECT tid, ts, ts + dur AS till FROM request WHERE"
		" pid=?3 AND ts < ?2 AND ts + dur > ?1 UNION ALL SELECT tid, read, ?2 FROM unanswered WHERE"
		" pid=?3 AND read < ?2), q AS (SELECT tid, sum(min(till, ?2) - max(ts, ?1)) AS ns FROM r GROUP BY"
		" tid), t AS (SELECT s.tid FROM s LEFT JOIN q USING(tid) GROUP BY s.tid ORDER BY 2 * total(q.ns) >"
		" ?2 - ?1 DESC, total(s.ns) FILTER (WHERE did=state_id('run')) DESC, s.tid LIMIT 1) SELECT tid, did,"
		" 100.0 * ns / (?2 - ?1) FROM s WHERE tid IN (SELECT tid FROM t) ORDER BY ns DESC LIMIT 1";
	struct judged_pause one = { .start = from, .end = to, .counts = true };
	struct judged at = { .pauses = &one, .n_pauses = 1 };
	double part, samples;
	sqlite3_stmt *q;
	int did;
	int ret = db_query(&q, db, e, sql, "iii", from, to, u->pid);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		u->tid = sqlite3_column_int64(q, 0);
		u->share = sqlite3_column_double(q, 2);
		did = sqlite3_column_int(q, 1);
		u->did = did == STATE_run	     ? "on a CPU or queued for one"
			 : did > 0 && did < N_STATES ? verdict_does[did]
						     : NULL;
		if (did == STATE_run)
			ret = pause_stack(&u->function, &part, &samples, db, &at, u->tid, e);
		if (did == STATE_client)
			ret = read_next(u, db, from, to, e);
	}
	return db_end(q, ret);
}

int mark_pauses(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	sqlite3_stmt *q;
	int i, ret = db_query(&q, c->db, e, "UPDATE pause SET counts=1 WHERE rowid=?", "");

	for (i = 0; i < j->n_pauses && ret == 0; i++)
		if (j->pauses[i].counts)
			ret = db_again(q, e, "i", j->pauses[i].id);
	sqlite3_finalize(q);
	return ret;
}

const struct judged_pause *judged_longest(const struct judged *j)
{
	const struct judged_pause *longest = NULL;
	int i;

	for (i = 0; i < j->n_pauses; i++) {
		const struct judged_pause *p = &j->pauses[i];

		if (p->counts && (!longest || p->id < longest->id))
			longest = p;
	}
	return longest;
}

int pause_upstream(struct analysis_ctx *c, const struct judged *j, s64 tid, bool own,
		   struct pause_upstream *u, struct err *e)
{
	const struct judged_pause *p = judged_longest(j);
	int several, ret = mark_pauses(c, j, e);

	for (several = 0; several < 2 && !u->address.len; several++) {
		if (ret == 0 && own)
			ret = read_upstream(c, j->about.id, several, u, e);
		if (ret == 0 && p && !u->address.len)
			ret = read_connection(u, c->db, tid, p, several, e);
		if (ret == 0 && p && u->address.len)
			ret = pause_answered(u, c->db, tid, p->start, p->end, e);
		if (ret == 0 && p && own && !u->address.len && !several)
			ret = read_silent(u, c->db, tid, p, e);
	}
	if (ret == 0 && p && own && !u->address.len)
		ret = read_unanswered(c, j->about.id, p, u, e);
	return ret < 0 || !u->address.len || u->pid <= 0 ? ret
							 : read_peer(u, c->db, p->start, p->end, e);
}

int pause_asked(struct analysis_ctx *c, const struct judged *j, s64 tid, s64 ts,
		struct pause_upstream *u, struct err *e)
{
	static const char sql[] =
		"WITH m AS (SELECT fd.* FROM upstream u JOIN fd ON fd.pid=u.pid AND fd.fd=u.fd AND fd.ts <= u.ts WHERE"
		" u.tid=?1 AND u.ts=?2 ORDER BY fd.ts DESC LIMIT 1) SELECT " REMOTE ", " OTHER_END
		" FROM m WHERE remote<>''";
	const struct judged_pause *p = judged_longest(j);
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii", tid, ts);

	if (ret == 0)
		ret = take_upstream(q, u, e);
	if (ret == 0 && u->address.len)
		ret = pause_answered(u, c->db, tid, p->start, p->end, e);
	return ret < 0 || !u->address.len || u->pid <= 0 ? ret
							 : read_peer(u, c->db, p->start, p->end, e);
}

int pause_asks(struct analysis_ctx *c, struct judged *j, const struct pause_upstream *u, s64 waker,
	       struct err *e)
{
	return db_int(
		c->db, &j->asked, e,
		"SELECT server FROM service WHERE pid=iif(?1 > 0, ?1, (SELECT pid FROM thread WHERE"
		" tid=?2 LIMIT 1)) AND server<>?3 ORDER BY requests DESC LIMIT 1",
		"iii", u->pid, waker, j->about.id);
}

void pause_upstream_free(struct pause_upstream *u)
{
	buf_free(&u->address);
	buf_free(&u->function);
	buf_free(&u->next);
}
