// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests sleep in poll, and no thread ends that: before the pause, one thread ended almost all
 * such waits of theirs, each time after it had read from one connection, as a replica's
 * acknowledgments. Since then it has read nothing there: its peer is stopped or gone, or silent.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "analyze/store/db.h"
#include "analyze/store/other_end.h"
#include "pause_root.h"

#define WAITS_LEAST 3
#define WAITS_MOST  1000
#define SLEEPS_MOST 4000 /* before the pause, within requests or not */
#define NEARLY_ALL  0.9
#define FATE_BEFORE 1000000000 /* ns: what it sent before that is read later */

struct awaited {
	s64 tid;    /* the thread that ended the waits; 0: none */
	s64 pid;    /* its process */
	s64 fd;	    /* where it had read before, */
	s64 socket; /* fd.rowid of that; 0: not known */
	s64 last;   /* the last time */
	double n, of, reads;
	s64 peer;		     /* process at the other end; 0: not recorded */
	double stopped, ended, left; /* when: the peer, the thread; NAN: not so */
	s64 sender;		     /* of a signal to the peer: thread */
};

/*
 * w: threads with a request that sleep in poll for most of the pause: nothing ends that in it. e:
 * such waits within requests before it, of the last ones that a thread ended.
 */
#define SLEEPERS                                                                                                \
	"own AS MATERIALIZED (SELECT id FROM service WHERE server=?1), q AS MATERIALIZED (SELECT tid, ts,"      \
	" ts + dur AS till FROM request WHERE service IN own UNION ALL SELECT tid, read, ?3 + 1 FROM"           \
	" unanswered WHERE service IN own AND read NOT NULL AND tid > 0), w AS MATERIALIZED (SELECT s.tid"      \
	" AS tid FROM thread_state s WHERE s.state=state_id('poll') AND s.waker IS NULL AND s.ts < ?3 AND"      \
	" s.ts + s.dur > ?2 AND 2 * (min(s.ts + s.dur, ?3) - max(s.ts, ?2)) > ?3 - ?2 AND s.tid IN (SELECT"     \
	" tid FROM q WHERE ts < ?3 AND till >= ?3)), c AS MATERIALIZED (SELECT s.tid AS tid, s.ts AS ts, s.ts"  \
	" + s.dur AS till, s.waker AS waker FROM thread_state s WHERE s.state=state_id('poll') AND s.waker > 0" \
	" AND s.ts + s.dur <= ?2 + (?3 - ?2) / 2 AND s.tid IN (SELECT tid FROM w) ORDER BY s.ts DESC LIMIT"     \
	" ?5), d AS MATERIALIZED (SELECT * FROM q WHERE till >= (SELECT min(ts) FROM c)), e AS MATERIALIZED"    \
	" (SELECT ts, till, waker FROM c WHERE EXISTS (SELECT 1 FROM d WHERE d.tid=c.tid AND d.ts <= c.ts AND"  \
	" d.till >= c.till)), x AS MATERIALIZED (SELECT"                                                        \
	" waker AS tid, count(*) AS n, (SELECT count(*) FROM e) AS total FROM e GROUP BY 1 ORDER BY 2"          \
	" DESC, 1 LIMIT 1)"

#define RECEIVES                                                                                   \
	"(SELECT abi, nr FROM syscall_name WHERE name IN ('read', 'readv', 'recvfrom', 'recvmsg'," \
	" 'recv', 'recvmmsg'))"

/* Of its reads from sockets, the last one within each wait that it ended. */
static const char waker_sql[] =
	"WITH " SLEEPERS
	", r AS MATERIALIZED (SELECT y.fd AS fd, y.ts + y.dur AS ts FROM syscall y WHERE y.tid=(SELECT tid"
	" FROM x) AND y.ret > 0 AND (y.abi, y.nr) IN " RECEIVES
	" AND y.fd IN (SELECT fd FROM fd WHERE kind='socket' AND role IN ('accepted', 'connected') AND"
	" pid=(SELECT pid FROM thread t WHERE t.tid=(SELECT tid FROM x) LIMIT 1))), l AS MATERIALIZED"
	" (SELECT (SELECT r.fd FROM r WHERE r.ts BETWEEN e.ts AND e.till ORDER BY r.ts DESC LIMIT 1) AS fd"
	" FROM e JOIN x ON x.tid=e.waker ORDER BY e.till DESC LIMIT ?4), f AS (SELECT fd, count(*) AS n,"
	" (SELECT count(*) FROM l) AS of FROM l WHERE fd NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1)"
	" SELECT x.tid, (SELECT pid FROM thread t WHERE t.tid=x.tid LIMIT 1), f.fd, (SELECT max(ts) FROM r"
	" WHERE r.fd=f.fd AND r.ts <= ?3), x.n, x.total, 1.0 * f.n / f.of FROM x JOIN f WHERE x.tid NOT IN (SELECT tid FROM w)";

static int read_waker(struct awaited *a, sqlite3 *db, s64 server, const struct judged_pause *p,
		      struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, waker_sql, "iiiii", server, p->start, p->end, (s64)WAITS_MOST,
			   (s64)SLEEPS_MOST);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		a->tid = sqlite3_column_int64(q, 0);
		a->pid = sqlite3_column_int64(q, 1);
		a->fd = sqlite3_column_int64(q, 2);
		a->last = sqlite3_column_int64(q, 3);
		a->n = sqlite3_column_double(q, 4);
		a->of = sqlite3_column_double(q, 5);
		a->reads = sqlite3_column_double(q, 6);
	}
	return db_end(q, ret);
}

static bool is_awaited(const struct awaited *a, const struct judged_pause *p)
{
	return a->tid && a->n >= WAITS_LEAST && a->n >= NEARLY_ALL * a->of &&
	       a->reads >= NEARLY_ALL && 2 * (p->end - a->last) >= p->end - p->start;
}

/* The other end, and what happened to it. */
static int read_peer(struct awaited *a, sqlite3 *db, s64 until, struct err *e)
{
	static const char socket[] =
		"SELECT rowid FROM fd WHERE pid=?1 AND fd=?2 AND kind='socket' AND"
		" ts <= ?3 ORDER BY ts DESC LIMIT 1";
	static const char peer[] =
		"SELECT coalesce((SELECT e.pid FROM fd e WHERE e.local=m.remote AND"
		" e.remote=m.local AND m.remote <> '' AND e.role='connected' AND"
		" " HOST_OF("e.pid") "=" HOST_OF("m.pid") " LIMIT 1), " OTHER_END
							  ", 0) FROM fd m WHERE m.rowid=?1";
	static const char fate[] =
		"SELECT max(s.ts) FILTER (WHERE s.signal=19), (SELECT max(ts) FROM process_exit WHERE pid=?1"
		" AND ts BETWEEN ?4 AND ?3), (SELECT max(ts) FROM process_exit WHERE pid=?2 AND ts BETWEEN ?4 AND"
		" ?3), max(s.tid) FILTER (WHERE s.code <= 0) FROM signal_sent s WHERE s.pid=?1 AND s.signal IN"
		" (2, 9, 15, 19) AND s.ts BETWEEN ?4 AND ?3";
	sqlite3_stmt *q;
	int ret = db_int(db, &a->socket, e, socket, "iii", a->pid, a->fd, a->last);

	if (ret == 0 && a->socket)
		ret = db_int(db, &a->peer, e, peer, "i", a->socket);
	if (ret == 0)
		ret = db_query(&q, db, e, fate, "iiii", a->peer, a->pid, until,
			       a->last - FATE_BEFORE);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		a->stopped = db_number(q, 0);
		a->ended = db_number(q, 1);
		a->left = db_number(q, 2);
		a->sender = sqlite3_column_int64(q, 3);
	}
	return db_end(q, ret);
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct awaited *a,
	       struct err *e)
{
	struct buf address = { 0 };
	int ret = db_add_text(&address, c->db, e, "SELECT remote FROM fd WHERE rowid=?1", "i",
			      a->socket);
	bool known = !isnan(a->stopped) || !isnan(a->ended);
	const struct value values[] = {
		VALUE_SUBJECT("waker", thread, a->tid),
		VALUE_NUMBER("n", a->n, ""),
		VALUE_NUMBER("of", a->of, ""),
		VALUE_MAYBE("peer", process, a->peer),
		VALUE_TEXT("address", a->peer	    ? NULL
				      : address.len ? address.data
						    : "its peer"),
		VALUE_NUMBER("last", (double)a->last, "at"),
		VALUE_NUMBER("stopped", isnan(a->ended) ? a->stopped : NAN, "at"),
		VALUE_NUMBER("ended", a->ended, "at"),
		VALUE_MAYBE("sender", thread, known ? a->sender : 0),
		VALUE_NUMBER("left", a->left, "at"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_pause_awaited, PROBLEM, CAUSAL, j->about, NULL, values, j->finding
	};

	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&address);
	return ret;
}

int pause_awaited_put(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	const struct judged_pause *p = judged_longest(j);
	struct awaited a = { .stopped = NAN, .ended = NAN, .left = NAN };
	int ret;

	if (!p || j->about.kind != SUBJECT_server)
		return 0;
	ret = read_waker(&a, c->db, j->about.id, p, e);
	if (ret < 0 || !is_awaited(&a, p))
		return ret;
	ret = read_peer(&a, c->db, p->end, e);
	return ret < 0 ? ret : put(c, j, &a, e);
}
