// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Do connections never reach the server? Its accept queue is full, so the kernel drops attempts to
 * connect. Nothing of them is in the requests, which only become fewer. How many found an accept
 * queue full is counted by network namespace, what a listening socket dropped for any reason by
 * socket: in an interval in which both grew, the smaller one counts.
 */
#include "verdict_failing.h"

#include <stdio.h>

/* ?1 is a server if ?2, else a process. */
#define OWN                                                                             \
	"own AS MATERIALIZED (SELECT pid FROM service WHERE server=?1 AND ?2 UNION"     \
	" SELECT pid FROM process WHERE pid=?1 AND NOT ?2), l AS MATERIALIZED (SELECT " \
	"pid, fd, ino FROM fd WHERE role='listening' AND ino > 0 AND pid IN (SELECT pid FROM own))"

static s64 is_server(const struct judged *j)
{
	return j->about.kind == SUBJECT_server;
}

/* A port of its processes on which nothing was answered belongs to all their servers. */
static int read_drops(struct analysis_ctx *c, const struct judged *j, struct verdict_accept *a,
		      struct err *e)
{
	static const char sql[] =
		"WITH " OWN
		", n AS MATERIALIZED (SELECT ts, netns, overflows FROM accept_queue WHERE ino IS"
		" NULL AND overflows > 0), d AS (SELECT a.port, a.max, a.ts, a.ts + a.dur AS till, min(a.drops,"
		" n.overflows) AS n FROM accept_queue a JOIN n ON n.netns=a.netns AND n.ts=a.ts WHERE a.drops >"
		" 0 AND a.ino IN (SELECT ino FROM l)) SELECT port, max(d.max), total(n), min(ts), max(till), min(iif(ts=0,"
		" till, NULL)) FROM d"
		" WHERE NOT ?2 OR port=(SELECT port FROM server WHERE id=?1) OR port NOT IN (SELECT port FROM"
		" service WHERE kind='tcp' AND requests > 0 AND pid IN (SELECT pid FROM own)) GROUP BY port"
		" ORDER BY 3 DESC, port LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii", j->about.id, is_server(j));

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		*a = (struct verdict_accept){
			.port = sqlite3_column_int64(q, 0),
			.max = sqlite3_column_double(q, 1),
			.n = sqlite3_column_double(q, 2),
			.start = sqlite3_column_double(q, 3),
			.end = sqlite3_column_double(q, 4),
			.first = sqlite3_column_double(q, 5),
		};
	return db_end(q, ret);
}

int verdict_accept(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	int ret = read_drops(c, j, &j->accept, e);

	if (ret < 0 || j->accept.n < 1)
		return ret;
	/* of the first interval, only the end is known: a failed accept in it says since when */
	if (j->unserved.call && j->unserved.first < j->accept.first) {
		j->accept.start = j->unserved.first;
		j->accept.first = 0;
	}
	if (j->status == STATUS_PROBLEM)
		return 0;
	j->status = STATUS_PROBLEM;
	j->kind = VERDICT_accept;
	j->start = j->accept.start;
	j->end = j->accept.end;
	j->n = j->accept.n;
	return 0;
}

/* Threads that are mostly in the same state; n of them. */
struct accepting {
	s64 tid, n, state, accepted;
	double share, last; /* %; accepted, NAN: none */
	bool called;	    /* accept */
	const char *call;
};

static int put_threads(struct analysis_ctx *c, const struct judged *j, const struct accepting *t,
		       s64 parent, struct err *e)
{
	struct judged_pause one = { .start = (s64)j->accept.start,
				    .end = (s64)j->accept.end,
				    .counts = true };
	struct judged at = { .pauses = &one, .n_pauses = 1 };
	struct buf function = { 0 };
	double part = NAN, samples = NAN;
	bool runs = t->state == STATE_run;
	int ret = 0;

	if (runs)
		ret = pause_stack(&function, &part, &samples, c->db, &at, t->tid, e);
	const struct value values[] = {
		VALUE_SUBJECT("thread", thread, t->tid),
		VALUE_NUMBER("others", t->n > 1 ? (double)(t->n - 1) : NAN, ""),
		VALUE_NUMBER("accepted", (double)t->accepted, ""),
		VALUE_NUMBER("last", t->last + 1e9 < j->accept.end ? t->last : NAN, "at"),
		VALUE_TEXT("state", verdict_does[t->state]),
		VALUE_NUMBER("share", t->share, "%"),
		VALUE_TEXT("call", !runs && *t->call ? t->call : NULL),
		VALUE_TEXT("function", function.len ? function.data : NULL),
		VALUE_NUMBER("part", function.len ? 100 * part : NAN, "%"),
		VALUE_NUMBER("samples", function.len ? samples : NAN, ""),
		{ 0 },
	};
	const struct finding f = { t->called || t->accepted ? FINDING_accept_thread
							    : FINDING_accept_none,
				   parent == j->finding ? PROBLEM : WARNING,
				   OBSERVED,
				   j->about,
				   NULL,
				   values,
				   parent };

	ret = ret < 0 ? ret : finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&function);
	return ret;
}

/* What the threads that call accept did in that time; of several the one with most CPU time. */
static int say_threads(struct analysis_ctx *c, const struct judged *j, s64 parent, struct err *e)
{
	/* without such calls (io_uring): all threads of the process */
	static const char sql[] =
		"WITH " OWN
		", k AS MATERIALIZED (SELECT s.tid, total(s.ts < ?5 AND (s.dur IS NULL OR s.ts + s.dur"
		" > ?4)) AS calls FROM syscall s JOIN thread t ON t.tid=s.tid WHERE (s.abi, s.nr) IN (SELECT abi,"
		" nr FROM syscall_name WHERE name IN ('accept', 'accept4')) AND (t.pid, s.fd) IN (SELECT pid, fd"
		" FROM l WHERE ino IN (SELECT ino FROM accept_queue WHERE port=?3)) GROUP BY s.tid), t AS"
		" MATERIALIZED (SELECT tid, used + run AS busy FROM thread WHERE wall > 0 AND (tid IN (SELECT tid"
		" FROM k) OR (NOT EXISTS (SELECT 1 FROM k) AND pid IN (SELECT pid FROM own)))), s AS (SELECT tid,"
		" state, nr, sum(min(ts + dur, ?5) - max(ts, ?4)) AS ns FROM thread_state WHERE tid IN (SELECT"
		" tid FROM t) AND ts < ?5 AND ts + dur > ?4 GROUP BY 1, 2, 3), m AS (SELECT tid, state, nr,"
		" max(ns) AS ns FROM s GROUP BY tid) SELECT tid, count(*), state, (SELECT count(*) FROM fd WHERE"
		" role='accepted' AND ts > 0 AND ts >= ?4 AND ts < ?5 AND pid IN (SELECT pid FROM own) AND"
		" port=?3), 100.0 * ns / (?5 - ?4), (SELECT name FROM"
		" syscall_name n WHERE n.nr=m.nr ORDER BY abi LIMIT 1), (SELECT total(calls) FROM k), (SELECT max(ts) FROM fd"
		" WHERE role='accepted' AND ts > 0 AND ts < ?5 AND pid IN (SELECT pid FROM own) AND port=?3), max(busy)"
		" FROM m JOIN t USING(tid) WHERE state<>state_id('unknown') GROUP BY state, nr ORDER BY max(busy)"
		" DESC, tid LIMIT 1";
	const struct verdict_accept *a = &j->accept;
	struct accepting t;
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iiidd", j->about.id, is_server(j), a->port, a->start,
			   a->end);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		t = (struct accepting){ .tid = sqlite3_column_int64(q, 0),
					.n = sqlite3_column_int64(q, 1),
					.state = sqlite3_column_int64(q, 2),
					.accepted = sqlite3_column_int64(q, 3),
					.share = sqlite3_column_double(q, 4),
					.call = db_text(q, 5),
					.called = sqlite3_column_double(q, 6) > 0,
					.last = db_number(q, 7) };
		ret = t.state >= 0 && t.state < N_STATES ? put_threads(c, j, &t, parent, e) : 0;
	}
	return db_end(q, ret);
}

int verdict_accept_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	/* memcached sets a backlog of 0 while it has no more files to open */
	static const char sql[] =
		"WITH " OWN
		" SELECT max(s.ts) FROM syscall s JOIN syscall_name n USING(abi, nr) JOIN thread t"
		" ON t.tid=s.tid WHERE n.name='listen' AND s.ret=0 AND (t.pid, s.fd) IN (SELECT pid, fd FROM l"
		" WHERE ino IN (SELECT ino FROM accept_queue WHERE port=?3))";
	const struct verdict_accept *a = &j->accept;
	bool alone = j->finding == 0;
	char port[16];
	s64 id = 0, set = 0;
	int ret = db_int(c->db, &set, e, sql, "iii", j->about.id, is_server(j), a->port);

	if (ret < 0)
		return ret;
	snprintf(port, sizeof(port), "%lld", (long long)a->port);
	const struct value values[] = {
		VALUE_NUMBER("start", a->first > 0 ? NAN : a->start, "at"),
		VALUE_NUMBER("first", a->first > 0 ? a->first : NAN, "ns"),
		VALUE_NUMBER("end", a->end < (double)c->duration - j->width ? a->end : NAN, "at"),
		VALUE_TEXT("port", port),
		VALUE_NUMBER("backlog", a->max, ""),
		VALUE_NUMBER("set", set > 0 ? (double)set : NAN, "at"),
		VALUE_NUMBER("n", a->n, ""),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_accept,
				   alone ? PROBLEM : WARNING,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM accept_queue",
				   values,
				   0 };

	ret = finding_put(c->db, c->analysis->name, &f, &id, e);
	if (alone)
		j->finding = id;
	if (ret == 0 && alone)
		ret = verdict_open_limit_say(c, j, e);
	return ret < 0 ? ret : say_threads(c, j, id, e);
}
