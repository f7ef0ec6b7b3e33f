// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of a server that answers others: their threads wait for a lock, a disk, or are stopped.
 * The waits began before the recording, or last until its end, so that no pause and no latency
 * shows them. No protocol need be read: in these states a thread waits for no news of its client,
 * as it does in a long poll, on a condition variable, in poll or until a time. Which thread has a
 * request from before is known by its answer, or by its process, where as many threads wait.
 */
#include "verdict.h"

#include "analyze/store/state.h"

#include <stdlib.h>

#define THREADS_MOST 4096
#define GROUPS_MOST  2	     /* of threads that wait for the same, those with most threads */
#define CHAIN_MOST   64	     /* of threads that release each other */
#define ENTRY_BEFORE 1000000 /* ns, as in STUCK */

/* A wait of a thread with a request. */
struct stuck {
	s64 tid, ts, till, waker, since, object;
	int state;
	bool before; /* the request was read before the recording */
};

struct stucks {
	struct stuck *v;
	int n;
};

/* ?1 server, ?2 duration, ?3 the shortest wait, ?4 the shortest since before the recording. */
static const char waits_sql[] =
	"WITH own AS MATERIALIZED (SELECT id FROM service WHERE server=?1), w AS MATERIALIZED (SELECT tid,"
	" (SELECT pid FROM thread t WHERE t.tid=s.tid LIMIT 1) AS pid, state, coalesce(object, 0) AS object,"
	" ts, ts + dur AS till, coalesce(waker, 0) AS waker FROM thread_state s WHERE dur >= ?3 AND " STUCK
	"), o AS MATERIALIZED (SELECT * FROM w WHERE ts <= 0"
	" AND till >= ?4), b AS MATERIALIZED (SELECT *, row_number() OVER (PARTITION BY pid, end IS NULL ORDER"
	" BY age DESC) AS k FROM request_before WHERE service IN own), p AS (SELECT *, row_number() OVER"
	" (PARTITION BY pid ORDER BY tid) AS k FROM o WHERE till >= ?2 - ?5) SELECT o.tid, o.state, o.object,"
	" o.ts, o.till, o.waker, -b.age, 1 FROM b JOIN o ON o.tid=b.tid AND o.till <= b.end UNION ALL SELECT"
	" p.tid, p.state, p.object, p.ts, p.till, p.waker, -b.age, 1 FROM b JOIN p USING(pid, k) WHERE b.end IS"
	" NULL UNION ALL SELECT w.tid, w.state, w.object, w.ts, w.till, w.waker, u.ts, 0 FROM unanswered u JOIN"
	" w ON w.tid=u.tid AND w.ts >= u.read AND w.till >= ?2 - ?5 WHERE u.service IN own AND coalesce(u.name,"
	" 0) NOT IN (SELECT id FROM request_name WHERE awaits(protocol, name)) ORDER BY 2, 3, 5, 1 LIMIT ?6";

static int read_waits(struct stucks *s, struct analysis_ctx *c, const struct judged *j,
		      const struct limits *l, struct err *e)
{
	sqlite3_stmt *q;
	int ret;

	s->v = calloc(THREADS_MOST, sizeof(*s->v));
	if (!s->v)
		return err_set(e, ERR_FAIL, "out of memory for the verdict");
	ret = db_query(&q, c->db, e, waits_sql, "iiddii", j->about.id, c->duration, l->pause,
		       fmax(l->pause, EDGE_LEAST), (s64)ENTRY_BEFORE, (s64)THREADS_MOST);
	if (ret < 0)
		return ret;
	while (s->n < THREADS_MOST && (ret = db_step(q, e)) > 0) {
		struct stuck *w = &s->v[s->n++];

		w->tid = sqlite3_column_int64(q, 0);
		w->state = sqlite3_column_int(q, 1);
		w->object = sqlite3_column_int64(q, 2);
		w->ts = sqlite3_column_int64(q, 3);
		w->till = sqlite3_column_int64(q, 4);
		w->waker = sqlite3_column_int64(q, 5);
		w->since = sqlite3_column_int64(q, 6);
		w->before = sqlite3_column_int(q, 7);
		s->n -= w->state < 0 || w->state >= N_STATES;
	}
	return db_end(q, ret);
}

static bool is_lock(const struct stuck *w)
{
	return w->state == STATE_futex || w->state == STATE_lock;
}

/* A problem of latency: requests that are stuck may have waited longer, all together. */
static bool may_be_less(const struct judged *j)
{
	return !j->given &&
	       (j->kind == VERDICT_pauses || j->kind == VERDICT_slower || j->kind == VERDICT_tail);
}

int verdict_stuck(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	double start = INFINITY, end = 0, waited = 0;
	struct stucks s = { 0 };
	int i, ret = 0;

	if (j->about.kind != SUBJECT_server || (j->status == STATUS_PROBLEM && !may_be_less(j)))
		return 0;
	ret = read_waits(&s, c, j, l, e);
	for (i = 0; i < s.n; i++) {
		start = fmin(start, (double)s.v[i].since);
		end = fmax(end, (double)s.v[i].till);
		waited += (double)(s.v[i].till - s.v[i].since);
	}
	if (ret == 0 && s.n && (j->status != STATUS_PROBLEM || waited > verdict_harm(j))) {
		if (j->status == STATUS_PROBLEM)
			verdict_forget_change(j);
		j->status = STATUS_PROBLEM;
		j->kind = VERDICT_stuck;
		j->start = fmax(start, 0);
		j->end = end;
		j->n = s.n;
		j->paused = end - start;
	}
	free(s.v);
	return ret;
}

/* The thread that released it, or the one that released that one, if it is none of these. */
static s64 first_waker(const struct stucks *s, const struct stuck *w)
{
	s64 waker = w->waker;
	int i, hops;

	for (hops = 0; hops < CHAIN_MOST && waker > 0; hops++) {
		for (i = 0; i < s->n && s->v[i].tid != waker; i++)
			;
		if (i == s->n)
			return waker;
		waker = s->v[i].waker;
	}
	return 0;
}

/* The thread in the lock when the wait began, or that has the bytes of the file; 0: not known. */
static int read_holder(s64 *ret_tid, sqlite3 *db, const struct stuck *w, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(holder, 0) FROM futex_holder WHERE tid=?1 AND futex=?2 AND ts BETWEEN ?3 AND"
		" ?4 ORDER BY ts DESC LIMIT 1";
	static const char of_file[] =
		"SELECT holder FROM file_lock_holder WHERE tid=?1 AND ts <= ?2 AND ts + dur >= ?3 ORDER BY ts"
		" DESC LIMIT 1";

	if (w->state == STATE_lock)
		return db_int(db, ret_tid, e, of_file, "iii", w->tid, w->till,
			      w->ts - (s64)ENTRY_BEFORE);
	return w->state != STATE_futex ? 0
				       : db_int(db, ret_tid, e, sql, "iiii", w->tid, w->object,
						w->ts - (s64)ENTRY_BEFORE, w->till);
}

int verdict_did(const char **ret_did, double *ret_share, sqlite3 *db, s64 tid, s64 from, s64 to,
		struct err *e)
{
	static const char sql[] =
		"SELECT state, 100.0 * sum(min(ts + dur, ?3) - max(ts, ?2)) / (?3 - ?2) AS share FROM"
		" thread_state WHERE tid=?1 AND ts < ?3 AND ts + dur > ?2 GROUP BY 1 ORDER BY 2 DESC LIMIT 1";
	sqlite3_stmt *q;
	int state, ret = db_query(&q, db, e, sql, "iii", tid, from, to);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	state = ret > 0 ? sqlite3_column_int(q, 0) : -1;
	if (state >= 0 && state < N_STATES && state != STATE_unknown) {
		*ret_did = verdict_does[state];
		*ret_share = sqlite3_column_double(q, 1);
	}
	return db_end(q, ret);
}

/* The file of the call that the wait was in. */
static int read_path(struct buf *out, sqlite3 *db, const struct stuck *w, struct err *e)
{
	static const char sql[] =
		"SELECT m.path FROM (SELECT fd, ts FROM syscall WHERE tid=?1 AND ts >= ?2 AND fd >= 0 ORDER BY"
		" ts LIMIT 1) s JOIN fd m ON m.fd=s.fd AND m.pid=(SELECT pid FROM thread WHERE tid=?1 LIMIT 1)"
		" AND m.kind='file' AND m.ts <= s.ts ORDER BY m.ts DESC LIMIT 1";

	return w->state != STATE_lock
		       ? 0
		       : db_add_text(out, db, e, sql, "ii", w->tid, w->till - (s64)ENTRY_BEFORE);
}

static int put_group(struct analysis_ctx *c, const struct judged *j, const struct stucks *s,
		     const struct stuck *w, int n, struct err *e)
{
	bool lock = is_lock(w), released;
	struct buf path = { 0 }, caller = { 0 };
	const char *did = NULL;
	double share = NAN;
	s64 by = 0;
	int ret = read_holder(&by, c->db, w, e);

	released = lock && !by;
	if (released)
		by = first_waker(s, w);
	if (ret == 0 && by)
		ret = verdict_did(&did, &share, c->db, by, w->ts, w->till, e);
	if (ret == 0)
		ret = read_path(&path, c->db, w, e);
	if (ret == 0)
		ret = verdict_wait_caller(&caller, c->db, w->tid, w->ts, w->till, e);
	const struct value values[] = {
		VALUE_SUBJECT("thread", thread, w->tid),
		VALUE_NUMBER("others", n > 1 ? n - 1 : NAN, ""),
		VALUE_TEXT("state",
			   w->state == STATE_futex ? "waiting for a lock" : verdict_does[w->state]),
		VALUE_TEXT("path", path.len ? path.data : NULL),
		VALUE_NUMBER("length", (double)(w->till - w->ts), "ns"),
		VALUE_MAYBE(released ? "waker" : "holder", thread, by),
		VALUE_TEXT("did", did),
		VALUE_NUMBER("share", did ? share : NAN, "%"),
		VALUE_TEXT("caller", caller.len ? caller.data : NULL),
		VALUE_TEXT("before", lock && w->ts <= 0 ? "before the recording" : NULL),
		VALUE_TEXT("unknown", lock && !by ? "not known" : NULL),
		{ 0 },
	};
	const struct finding f = { FINDING_stuck_thread,
				   PROBLEM,
				   released && by ? CAUSAL : OBSERVED,
				   j->about,
				   NULL,
				   values,
				   j->finding };

	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&path);
	buf_free(&caller);
	return ret;
}

/* Rows of one group stand together: that of its longest wait stands for it. File locks are one
 * group. */
static int put_groups(struct analysis_ctx *c, const struct judged *j, const struct stucks *s,
		      struct err *e)
{
	int from, to, i, longest, said = 0, ret = 0;

	for (from = 0; from < s->n && said < GROUPS_MOST && ret == 0; from = to, said++) {
		longest = from;
		for (to = from; to < s->n && s->v[to].state == s->v[from].state &&
				s->v[to].object == s->v[from].object;
		     to++)
			;
		for (i = from; i < to; i++)
			if (s->v[i].till - s->v[i].ts > s->v[longest].till - s->v[longest].ts)
				longest = i;
		ret = put_group(c, j, s, &s->v[longest], to - from, e);
	}
	return ret;
}

int verdict_stuck_say(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		      struct err *e)
{
	double max = 0, before = 0, oldest = 0, since = NAN;
	bool open = j->end >= (double)c->duration - ENTRY_BEFORE;
	struct stucks s = { 0 };
	int i, ret;

	j->status = STATUS_PROBLEM;
	ret = read_waits(&s, c, j, l, e);
	for (i = 0; i < s.n; i++) {
		max = fmax(max, (double)(s.v[i].till - s.v[i].since));
		before += s.v[i].before;
		if (s.v[i].before)
			oldest = fmax(oldest, (double)-s.v[i].since);
		else
			since = fmin(isnan(since) ? INFINITY : since, (double)s.v[i].since);
	}
	const struct value values[] = {
		VALUE_NUMBER("n", s.n, ""),
		VALUE_NUMBER("max", max, "ns"),
		VALUE_TEXT("before", before == s.n ? "All" : NULL),
		VALUE_NUMBER("some", before > 0 && before < s.n ? before : NAN, ""),
		VALUE_NUMBER("oldest", before > 0 ? oldest : NAN, "ns"),
		VALUE_NUMBER("since", since, "at"),
		VALUE_NUMBER("end", open ? NAN : j->end, "at"),
		VALUE_TEXT("open", open ? "the recording ends" : NULL),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_stuck,	   PROBLEM, OBSERVED, j->about,
				   "SELECT * FROM request_before", values,  0 };

	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, &j->finding, e);
	if (ret == 0)
		ret = put_groups(c, j, &s, e);
	free(s.v);
	return ret;
}
