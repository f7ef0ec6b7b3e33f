// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Of the longest pause that counts: whether its thread waited for a peer or for a thread, where in
 * the program, and the end of the wakeup chain: of each thread the state with most of the time
 * until it woke the one before, and the last thread that ended a wait in this state.
 */
#include "pause_root.h"

#include "handoffs.h"
#include "pause_answered.h"
#include "pauses.h"

#include "analyze/analyses/waits/polls.h"
#include "format/errnos.h"
#include "format/syscall.h"

#include <stdlib.h>

#define HOPS	 64
#define PART	 1000 /* a shorter part of the pause is not looked at; waits for a GIL last 5 ms */
#define ROWS_MAX 100000 /* intervals of a pause */
#define MOSTLY	 0.5	/* of the pause: a disk that a waker waited for, which is named anyway */
#define NOTABLE	 0.25	/* of the pause: an end with less is not named */

struct interval {
	s64 tid, ts, end, waker;
	s64 nr, fd; /* -1: none */
	int state;
};

struct intervals {
	struct interval *v;
	size_t n;
};

/* What a thread did until a time. */
struct stay {
	s64 ns;
	const struct interval *last; /* in the state with most time; NULL: not recorded */
};

/* Waits for work of a runtime with green threads are left out. */
static int read_intervals(struct intervals *x, sqlite3 *db, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"SELECT tid, ts, ts + dur, coalesce(waker, 0), coalesce(nr, -1), coalesce(object, -1), state"
		" FROM thread_state WHERE ts < ?2 AND ts + dur > ?1 AND dur >= (?2 - ?1) / ?3 AND state <>"
		" state_id('unknown') AND NOT (state IN (" GREEN_IDLE
		") AND tid IN (SELECT tid FROM thread WHERE green)) LIMIT ?4";
	sqlite3_stmt *q;
	int ret;

	x->v = calloc(ROWS_MAX, sizeof(*x->v));
	if (!x->v)
		return err_set(e, ERR_FAIL, "out of memory for pauses");
	ret = db_query(&q, db, e, sql, "iiii", from, to, (s64)PART, (s64)ROWS_MAX);
	if (ret < 0)
		return ret;
	while (x->n < ROWS_MAX && (ret = db_step(q, e)) > 0) {
		struct interval *i = &x->v[x->n++];

		i->tid = sqlite3_column_int64(q, 0);
		i->ts = sqlite3_column_int64(q, 1);
		i->end = sqlite3_column_int64(q, 2);
		i->waker = sqlite3_column_int64(q, 3);
		i->nr = sqlite3_column_int64(q, 4);
		i->fd = sqlite3_column_int64(q, 5);
		i->state = sqlite3_column_int(q, 6);
		x->n -= i->state < 0 || i->state >= N_STATES;
	}
	return db_end(q, ret);
}

static struct stay stay_of(const struct intervals *x, s64 tid, s64 from, s64 to)
{
	const struct interval *last[N_STATES] = { 0 };
	struct stay most = { 0 };
	s64 ns[N_STATES] = { 0 };
	size_t i;

	for (i = 0; i < x->n; i++) {
		const struct interval *v = &x->v[i];
		s64 a = v->ts > from ? v->ts : from, b = v->end < to ? v->end : to;

		if (v->tid != tid || b <= a)
			continue;
		ns[v->state] += b - a;
		if (!last[v->state] || v->end > last[v->state]->end)
			last[v->state] = v;
		if (ns[v->state] > most.ns)
			most.ns = ns[v->state];
	}
	for (i = 0; i < N_STATES && !most.last; i++)
		if (most.ns && ns[i] == most.ns)
			most.last = last[i];
	return most;
}

static bool is_wait(int state)
{
	return state != STATE_run && state != STATE_woken && state != STATE_preempted;
}

/* The remote address of a connection that the process of the thread accepted. */
static int read_client(struct buf *out, sqlite3 *db, s64 tid, s64 fd, s64 ts, struct err *e)
{
	static const char sql[] =
		"SELECT remote FROM fd WHERE pid=(SELECT pid FROM thread WHERE tid=?1) AND role='accepted'"
		" AND fd=?2 AND ts <= ?3 ORDER BY ts DESC LIMIT 1";

	return db_add_text(out, db, e, sql, "iii", tid, fd, ts);
}

/* The path of a FIFO, or "a pipe". */
static int read_pipe(struct buf *out, sqlite3 *db, s64 tid, s64 fd, s64 ts, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce((SELECT path FROM fd WHERE pid=(SELECT pid FROM thread WHERE tid=?1) AND fd=?2"
		" AND kind='pipe' AND path LIKE '/%' AND ts <= ?3 ORDER BY ts DESC LIMIT 1), 'a pipe')";

	return db_add_text(out, db, e, sql, "iii", tid, fd, ts);
}

/*
 * The connection from which the thread received first afterwards: at once, or before its next wait
 * if it has no other connection of a client.
 */
static int read_next(struct buf *out, sqlite3 *db, const struct interval *i, struct err *e)
{
	static const char sql[] =
		"SELECT fd FROM (SELECT pid, fd, ts FROM request WHERE tid=?1 AND ts >= ?2 ORDER BY ts LIMIT 1) n WHERE"
		" ts <= ?2 + 1000000 OR (NOT EXISTS (SELECT 1 FROM thread_state s WHERE s.tid=?1 AND s.ts >= ?2 AND"
		" s.ts < n.ts AND s.state NOT IN (state_id('run'), state_id('woken'), state_id('preempted'))) AND"
		" (SELECT count(*) FROM fd f WHERE f.pid=n.pid AND f.role='accepted' AND f.ts <= ?2 AND coalesce(f.end,"
		" ?2) >= ?2) = 1)";
	s64 fd = -1;
	int ret = db_int(db, &fd, e, sql, "ii", i->tid, i->end);

	return ret < 0 || fd < 0 ? ret : read_client(out, db, i->tid, fd, i->end, e);
}

static bool is_receive(s64 nr, s64 abi)
{
	const struct syscall_desc *d = nr < 0 ? NULL : syscall_find((u8)abi, (u32)nr);

	return d && (d->family == FAMILY_RECV || d->family == FAMILY_RECV_MANY);
}

/* In poll: for a lock of another connection, for another thread, or for anything. */
static int name_poll(struct pause_root *r, struct analysis_ctx *c, const struct interval *i,
		     struct err *e)
{
	int ret;

	r->release = (struct release){
		.waiter = i->tid, .waker = i->waker, .from = i->ts, .at = i->end
	};
	ret = releases_find(c->db, &r->release, 1, e);
	if (r->release.released || r->release.failed)
		r->wait = "waiting for a lock of another connection";
	else if (i->waker > 0)
		r->wait = "waiting in poll for another thread or process";
	else if (ret == 0 && r->judged->about.kind == SUBJECT_server)
		ret = pause_poll(r, c->db, i->tid, e);
	return ret;
}

/* What the thread of the pause waited for. */
static int name_wait(struct pause_root *r, struct analysis_ctx *c, const struct stay *s, s64 from,
		     s64 to, struct err *e)
{
	const struct interval *i = s->last;
	int ret = 0;

	if (!is_wait(i->state) || s->ns < NOTABLE * (double)(to - from))
		return 0;
	if (i->state == STATE_socket || i->state == STATE_pipe) {
		ret = i->state == STATE_pipe ? read_pipe(&r->of, c->db, i->tid, i->fd, i->end, e)
					     : read_client(&r->of, c->db, i->tid, i->fd, i->end, e);
		if (ret < 0)
			return ret;
		r->sends = pause_sends(i->nr, r->abi);
		r->wait = !r->sends		   ? "waiting for input"
			  : i->state == STATE_pipe ? "waiting to write"
						   : "waiting to send";
	} else if (i->state == STATE_poll) {
		ret = name_poll(r, c, i, e);
	} else if (i->state == STATE_other) {
		ret = pause_file(r, c->db, i->tid, from, to, e);
	} else if (i->state == STATE_blocked || i->state == STATE_disk) {
		ret = pause_reason(&r->reason, c->db, i->tid, i->state, from, to, e);
	}
	return ret < 0 ? ret
		       : pause_caller(&r->caller, c->db, false, i->tid, i->state, from, to, e);
}

/* The request that the thread worked on for most of this time; empty if it may be one of several.
 */
static int read_serving(struct buf *out, sqlite3 *db, s64 tid, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"SELECT iif(count(*)=1, max(coalesce(n.name, 'request') || coalesce(' from ' || nullif(k.address,"
		" ''), '')), NULL) FROM"
		" (SELECT ts, ts + dur AS till, name, client FROM request WHERE tid=?1 AND ts < ?3 AND ts + dur"
		" > ?2 UNION ALL SELECT read, ?3, name, client FROM unanswered WHERE tid=?1 AND read < ?3) r"
		" LEFT JOIN request_name n ON n.id=r.name LEFT JOIN client k ON k.id=r.client"
		" WHERE 2 * (min(r.till, ?3) - max(r.ts, ?2)) > ?3 - ?2 AND (n.id IS NULL OR NOT"
		" awaits(n.protocol, n.name)) AND NOT EXISTS (SELECT 1 FROM thread WHERE tid=?1 AND green)";

	return db_add_text(out, db, e, sql, "iii", tid, from, to);
}

/*
 * A thread that runs, or waits for a CPU that threads of its own process have: it computes. How
 * long it did, and how many other threads of its process ran or were queued for most of the time.
 */
static int read_computing(struct pause_root *r, sqlite3 *db, s64 tid, s64 from, s64 to,
			  struct err *e)
{
	static const char sql[] =
		"WITH t AS (SELECT tid FROM thread WHERE pid=(SELECT pid FROM thread WHERE tid=?1 LIMIT 1)), s AS"
		" MATERIALIZED (SELECT tid, state=state_id('run') AS runs, coalesce(object, 0) IN t AS own, min(ts +"
		" dur, ?3) - max(ts, ?2) AS ns FROM thread_state WHERE ts < ?3 AND ts + dur > ?2 AND state IN"
		" (state_id('run'), state_id('woken'), state_id('preempted')) AND tid IN t) SELECT total(ns) FILTER"
		" (WHERE runs AND tid=?1), total(ns) FILTER (WHERE NOT runs AND own AND tid=?1), total(ns) FILTER"
		" (WHERE NOT runs AND NOT own AND tid=?1), (SELECT count(*) FROM (SELECT tid FROM s WHERE tid<>?1"
		" GROUP BY tid HAVING 2 * total(ns) > ?3 - ?2)) FROM s";
	double run, own, other;
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iii", tid, from, to);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		run = sqlite3_column_double(q, 0);
		own = sqlite3_column_double(q, 1);
		other = sqlite3_column_double(q, 2);
		r->computed = run + own > other ? run + own : 0;
		r->on_cpu = run;
		r->queued = own + other;
		r->runnable = sqlite3_column_double(q, 3);
	}
	return db_end(q, ret);
}

/*
 * An end in poll that hands a connection with news to the thread that it woke: that one then reads
 * the answer to its own question, without another wait. The question is what both waited for.
 */
static int read_handed(struct pause_root *r, struct analysis_ctx *c, const struct interval *i,
		       s64 woken, struct err *e)
{
	static const char sql[] =
		"SELECT u.ts FROM upstream u WHERE u.tid=?1 AND u.ts < ?2 AND u.ts + u.dur >= ?2 AND NOT EXISTS"
		" (SELECT 1 FROM thread_state s WHERE s.tid=?1 AND s.ts >= ?2 AND s.ts < u.ts + u.dur AND s.state"
		" NOT IN (state_id('run'), state_id('woken'), state_id('preempted'))) ORDER BY u.ts DESC LIMIT 1";
	s64 asked = 0;
	int ret = db_int(c->db, &asked, e, sql, "ii", woken, i->end);

	return ret < 0 || asked <= 0 ? ret
				     : pause_asked(c, r->judged, woken, asked, &r->upstream, e);
}

/* The client whose connection an end polls, if it sends or receives there next, or could not. */
static int read_polled(struct pause_root *r, sqlite3 *db, const struct interval *i, struct err *e)
{
	static const char sql[] =
		"WITH p AS MATERIALIZED (SELECT s.fd, s.ts, s.ret FROM syscall s WHERE s.tid=?1 AND s.ts <= ?2 AND s.ts"
		" + s.dur >= ?3 AND s.fd >= 0 AND s.nr IN " POLLS
		" ORDER BY s.ts DESC LIMIT 1) SELECT (SELECT fd FROM p), coalesce((SELECT s.nr FROM syscall s, p"
		" WHERE p.ret > 0 AND s.tid=?1 AND s.fd=p.fd AND s.ts BETWEEN ?3 AND ?3 + 1000000 AND s.nr NOT IN " POLLS
		" ORDER BY s.ts LIMIT 1), (SELECT iif(ret=-?4, nr, -1) FROM (SELECT s.nr, s.ret FROM syscall s, p WHERE"
		" s.tid=?1 AND s.fd=p.fd AND s.ts < p.ts ORDER BY s.ts DESC LIMIT 1)), -1)";
	sqlite3_stmt *q;
	s64 fd = -1, nr = -1;
	int ret = db_query(&q, db, e, sql, "iiii", i->tid, i->ts, i->end, (s64)LINUX_EAGAIN);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL) {
		fd = sqlite3_column_int64(q, 0);
		nr = sqlite3_column_int64(q, 1);
	}
	ret = db_end(q, ret);
	r->polls_to_send = pause_sends(nr, r->abi);
	if (ret == 0 && fd >= 0 && (r->polls_to_send || is_receive(nr, r->abi)))
		ret = read_client(&r->client, db, i->tid, fd, i->ts, e);
	r->polls_to_send &= r->client.len > 0;
	return ret;
}

/* What the thread at the end of the chain waits for, and where; or runs. */
static int read_end(struct pause_root *r, struct analysis_ctx *c, const struct interval *i,
		    s64 woken, s64 from, s64 to, struct err *e)
{
	int ret = 0;

	if (i->state == STATE_socket)
		ret = read_client(&r->client, c->db, i->tid, i->fd, i->end, e);
	else if (i->state == STATE_pipe && pause_sends(i->nr, r->abi))
		ret = read_pipe(&r->client, c->db, i->tid, i->fd, i->end, e);
	else if (i->state == STATE_poll && i->waker <= 0)
		ret = pause_timer(&r->timer, c->db, i->tid, i->end, from, r->until, e);
	if (ret == 0 && i->state == STATE_poll && i->waker <= 0)
		ret = read_handed(r, c, i, woken, e);
	if (ret == 0 && i->state == STATE_poll && !r->timer && !r->upstream.address.len)
		ret = read_polled(r, c->db, i, e);
	if (ret == 0 && i->state == STATE_poll && !r->timer && !r->upstream.address.len &&
	    !r->client.len)
		ret = read_next(&r->client, c->db, i, e);
	if (ret == 0 && is_wait(i->state))
		ret = pause_caller(&r->function, c->db, true, i->tid, i->state, from, to, e);
	else if (ret == 0 && i->state == STATE_run)
		ret = pause_call(&r->call, c->db, i->tid, from, to, e);
	if (ret == 0 && i->state == STATE_client)
		ret = pause_upstream(c, r->judged, i->tid, false, &r->upstream, e);
	if (r->upstream.sends) { /* it asks nothing yet */
		r->client = r->upstream.address;
		r->upstream.address = (struct buf){ 0 };
	}
	return ret;
}

static const char *does_at_end(const struct pause_root *r, int state, bool queued)
{
	if (r->end_sends)
		return state == STATE_pipe ? "waiting to write" : "waiting to send";
	if (r->collects)
		return r->collects;
	if (queued)
		return "computing, or queued for a CPU of its own threads";
	return verdict_does[r->timer ? STATE_timer : state];
}

/* Has the end anything to say beyond the waker itself, which is named anyway? */
static int name_end(struct pause_root *r, struct analysis_ctx *c, const struct stay *s, int hops,
		    s64 woken, s64 from, s64 to, struct err *e)
{
	const struct interval *i = s->last;
	bool queued, runs = hops && !is_wait(i->state);
	double share;
	int ret = runs ? read_computing(r, c->db, i->tid, from, to, e) : 0;

	if (ret == 0 && runs)
		ret = pause_stack_label(&r->function, &r->collects, &r->part, &r->samples, c->db,
					r->judged, i->tid, e);
	if (r->collects)
		r->computed = r->on_cpu + r->queued;
	share = fmax((double)s->ns, r->computed) / (double)(to - from);
	queued = i->state != STATE_run && r->computed > 0;
	if (ret < 0 || !hops || share < NOTABLE)
		return ret;
	r->queued = r->collects ? 100 * r->queued / (double)(to - from) : 0;
	ret = read_end(r, c, i, woken, from, to, e);
	if (hops > 1 || r->passed || r->outside || queued ||
	    (i->state == STATE_disk && share >= MOSTLY) || r->client.len || r->function.len ||
	    r->call.len || r->upstream.address.len) {
		r->tid = i->tid;
		r->state = i->state;
		r->by = is_wait(i->state) && i->waker > 0 && r->outside ? i->waker : 0;
		r->end_sends = r->polls_to_send || r->upstream.sends ||
			       ((i->state == STATE_socket || i->state == STATE_pipe) &&
				pause_sends(i->nr, r->abi));
		r->did = does_at_end(r, i->state, queued);
		r->share = 100 * fmin(share, 1);
		if (ret == 0)
			ret = read_serving(&r->serving, c->db, r->tid, from, to, e);
		if (ret == 0 && r->client.len && !r->end_sends && !r->serving.len)
			ret = pause_idle(r, c->db, i->tid, i->ts, e);
	}
	return ret;
}

/* The sleeps of which the chain of the thread is made: from the pause on until its own ends. */
static int read_handoffs(struct handoffs *h, sqlite3 *db, const struct stay *at, s64 from,
			 struct err *e)
{
	s64 range[1][2] = { { from, at->last->end } };
	bool lock = at->last->state == STATE_futex || at->last->state == STATE_lock;

	return lock && at->last->waker > 0 ? handoffs_read(h, db, range, 1, e) : 0;
}

/*
 * What ended its last wait: who waited for the same lock and passed it on is not the one to be
 * named, if the first one is recorded.
 */
static struct handoff handed(const struct handoffs *h, const struct intervals *x,
			     const struct interval *i, s64 from)
{
	const struct handoff last = { i->ts, i->end, i->waker };
	bool lock = i->state == STATE_futex || i->state == STATE_lock;
	struct handoff first = lock ? handoffs_first(h, last) : last;

	return stay_of(x, first.waker, from, first.end).last ? first : last;
}

static int walk(struct pause_root *r, struct analysis_ctx *c, const struct intervals *x, s64 tid,
		s64 from, s64 to, struct err *e)
{
	struct stay at = stay_of(x, tid, from, to), next;
	struct handoffs h = { 0 };
	struct handoff by = { 0 };
	s64 path[HOPS] = { tid }, until = to;
	int i, n = 0, ret;

	if (!at.last)
		return 0;
	ret = name_wait(r, c, &at, from, to, e);
	if (ret == 0)
		ret = read_handoffs(&h, c->db, &at, from, e);
	/* who continues a stopped thread is not why it was stopped */
	while (ret == 0 && n < HOPS - 1 && is_wait(at.last->state) && at.last->waker > 0 &&
	       !(n && at.last->state == STATE_stopped)) {
		by = handed(&h, x, at.last, from);
		r->passed |= by.waker != at.last->waker;
		for (i = 0; i <= n && path[i] != by.waker; i++)
			;
		until = by.end < until ? by.end : until;
		next = stay_of(x, by.waker, from, until);
		r->outside = i > n && !next.last;
		if (i <= n || !next.last)
			break;
		at = next;
		path[++n] = at.last->tid;
	}
	r->last = n ? at.last->tid : 0;
	r->last_state = at.last->state;
	r->last_share = 100 * fmin(1, (double)at.ns / (double)(to - from));
	r->stranger = r->outside ? by.waker : 0;
	r->until = until;
	handoffs_free(&h);
	return ret < 0 ? ret : name_end(r, c, &at, n, n ? path[n - 1] : 0, from, to, e);
}

int pause_root(struct analysis_ctx *c, struct pause_root *r, s64 tid, struct err *e)
{
	const struct judged_pause *longest = judged_longest(r->judged);
	struct intervals x = { 0 };
	int ret;

	if (!longest || tid <= 0)
		return 0;
	ret = db_int(c->db, &r->abi, e, "SELECT coalesce(abi, 0) FROM pause WHERE id=?", "i",
		     longest->id);
	if (ret == 0)
		ret = read_intervals(&x, c->db, longest->start, longest->end, e);
	if (ret == 0)
		ret = walk(r, c, &x, tid, longest->start, longest->end, e);
	free(x.v);
	return ret;
}

int pause_root_put(struct analysis_ctx *c, const struct pause_root *r, struct err *e)
{
	const struct pause_upstream *u = &r->upstream;
	const struct value values[] = {
		VALUE_SUBJECT("end", thread, r->tid),
		VALUE_TEXT("state", r->did),
		VALUE_NUMBER("share", r->share, "%"),
		VALUE_NUMBER("queued", r->queued > 0 ? r->queued : NAN, "%"),
		VALUE_TEXT(r->end_sends ? "reader" : "client",
			   r->client.len ? r->client.data : NULL),
		VALUE_MAYBE("by", thread, r->by),
		VALUE_NUMBER("others", r->runnable > 0 ? r->runnable : NAN, ""),
		VALUE_TEXT("serving", r->serving.len ? r->serving.data : NULL),
		VALUE_TEXT("idle", r->idle),
		VALUE_NUMBER("since", r->idle ? r->idle_since : NAN, "at"),
		VALUE_MAYBE("last", request, r->idle ? r->idle_after : 0),
		VALUE_MAYBE("next", request, r->idle ? r->idle_until : 0),
		VALUE_TEXT("call", r->call.len ? r->call.data : NULL),
		VALUE_TEXT("function", r->function.len ? r->function.data : NULL),
		VALUES_UPSTREAM(u, u->address.len ? u->address.data : NULL),
		{ 0 },
	};
	const struct finding f = { FINDING_pause_root, PROBLEM, CAUSAL,
				   r->judged->about,   NULL,	values,
				   r->judged->finding };

	return r->tid > 0 ? finding_put(c->db, c->analysis->name, &f, NULL, e) : 0;
}

void pause_root_free(struct pause_root *r)
{
	buf_free(&r->of);
	buf_free(&r->caller);
	buf_free(&r->before);
	buf_free(&r->client);
	buf_free(&r->function);
	buf_free(&r->serving);
	buf_free(&r->call);
	buf_free(&r->calls);
	buf_free(&r->file);
	buf_free(&r->filesystem);
	pause_upstream_free(&r->upstream);
}
