// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of a server that answers others: their threads wait for a lock, a disk, or are stopped.
 * The waits began before the recording, or last until its end, so that no pause and no latency
 * shows them; or some requests wait for the lock of a file, and most of their name do not. No
 * protocol need be read: in these states a thread waits for no news of its client, as it does in a
 * long poll, on a condition variable, in poll or until a time. Which thread has a request from
 * before is known by its answer. Without one, it is one of its process that waits so, if no other
 * thread can have it, or if both requests and such threads are several and no thread of another
 * name answers those of its process. Otherwise the request may be a long poll, and the thread may
 * serve none, as one that writes a log: that is said, and is no problem.
 */
#include "verdict_stuck.h"

#include "analyze/base/idmap.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/row_types.h"
#include "analyze/store/state.h"

#include <stdlib.h>

/* Threads of a pool have one name, and a number. */
#define POOL "rtrim(comm, '0123456789')"
#define SEVERAL                                                                             \
	"(min(b.n, p.n) > 1 AND (p.pid NOT IN (SELECT pid FROM a) OR (p.pid, (SELECT " POOL \
	" FROM thread t WHERE t.tid=p.tid LIMIT 1)) IN (SELECT pid, pool FROM a)))"

/* ?1 server, ?2 duration, ?3 the shortest since before the recording, ?4 STUCK_ENTRY, ?5 rows, ?6
 * 1: threads that serve a request, 0: that may serve one. */
static const char waits_sql[] =
	"WITH own AS MATERIALIZED (SELECT id FROM service WHERE server=?1), a AS MATERIALIZED (SELECT"
	" DISTINCT pid, " POOL
	" AS pool FROM thread WHERE tid IN (SELECT tid FROM request WHERE service IN own)), o AS"
	" MATERIALIZED (SELECT * FROM stuck_state WHERE ts <= 0 AND till >= ?3), b AS MATERIALIZED (SELECT"
	" *, row_number() OVER (PARTITION BY pid, end IS NULL ORDER BY age DESC) AS k, count(*) OVER"
	" (PARTITION BY pid, end IS NULL) AS n FROM request_before WHERE service IN own), p AS"
	" MATERIALIZED (SELECT *, row_number() OVER (PARTITION BY pid ORDER BY tid) AS k, count(*) OVER"
	" (PARTITION BY pid) AS n FROM o WHERE till >= ?2 - ?4), h AS MATERIALIZED (SELECT DISTINCT pid"
	" FROM thread WHERE tid IN (SELECT s.tid FROM thread_state s WHERE s.state IN (state_id('futex'),"
	" state_id('poll'), state_id('timer'), state_id('client'), state_id('pipe'), state_id('child'),"
	" state_id('other'))) AND tid NOT IN (SELECT tid FROM p)) SELECT o.tid, o.state, o.object, o.ts,"
	" o.till, o.waker, -b.age, 1, 0 FROM b JOIN o ON o.tid=b.tid AND o.till <= b.end WHERE ?6 UNION"
	" ALL SELECT p.tid, p.state, p.object, p.ts, p.till, p.waker, -b.age, 1, p.pid IN (SELECT pid"
	" FROM h) FROM b JOIN p USING(pid, k) WHERE b.end IS NULL AND CASE WHEN ?6 THEN p.pid NOT IN"
	" (SELECT pid FROM h) OR " SEVERAL " ELSE p.pid IN (SELECT pid FROM h) AND NOT " SEVERAL
	" END UNION ALL SELECT"
	" w.tid, w.state, w.object, w.ts, w.till, w.waker, u.ts, 0, 0 FROM unanswered u JOIN stuck_state w"
	" ON w.tid=u.tid AND w.ts >= u.read AND w.till >= ?2 - ?4 WHERE ?6 AND u.service IN own AND"
	" coalesce(u.name, 0) NOT IN (SELECT id FROM request_name WHERE awaits(protocol, name)) LIMIT ?5";

#define DIFFER(x, y, member) (((x)->member > (y)->member) - ((x)->member < (y)->member))

static int by_thread(const void *a, const void *b)
{
	const struct stuck *x = a, *y = b;

	return DIFFER(x, y, tid) ? DIFFER(x, y, tid) : DIFFER(x, y, ts);
}

/* The call of a wait begins before it; one from before the recording, when it ends. */
static int take_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	const struct stucks *s = arg;
	int low = 0, high = s->n, mid;

	(void)rowid;
	(void)e;
	while (low < high && row->fd >= 0) {
		mid = (low + high) / 2;
		if (s->v[mid].tid < row->tid)
			low = mid + 1;
		else
			high = mid;
	}
	for (; row->fd >= 0 && low < s->n && s->v[low].tid == row->tid; low++) {
		struct stuck *w = &s->v[low];

		if (w->state != STATE_lock ||
		    (w->ts > 0 ? row->ts > w->ts || (w->fd >= 0 && row->ts < w->call)
			       : row->ts < w->till - STUCK_ENTRY ||
					 (w->fd >= 0 && row->ts > w->call)))
			continue;
		w->call = row->ts;
		w->fd = row->fd;
	}
	return 0;
}

static int read_file(sqlite3 *db, struct stuck *w, struct err *e)
{
	static const char sql[] =
		"SELECT dev, ino FROM fd WHERE pid=(SELECT pid FROM thread WHERE tid=?1 LIMIT 1) AND fd=?2 AND"
		" kind='file' AND ts <= ?3 ORDER BY ts DESC LIMIT 1";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "iii", w->tid, w->fd, w->call);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0) {
		w->dev = sqlite3_column_int64(q, 0);
		w->ino = sqlite3_column_int64(q, 1);
	}
	return db_end(q, ret);
}

/* The files of waits for their locks. */
static int read_files(struct stucks *s, sqlite3 *db, struct err *e)
{
	static const u32 set =
		COLUMN_OF(syscall, ts) | COLUMN_OF(syscall, tid) | COLUMN_OF(syscall, fd);
	bool any = false;
	int i, ret = 0;

	for (i = 0; i < s->n; i++)
		any |= s->v[i].state == STATE_lock;
	if (any) {
		qsort(s->v, (size_t)s->n, sizeof(*s->v), by_thread);
		ret = rows_each(db, TABLE_syscall, set, take_call, s, e);
	}
	for (i = 0; i < s->n && ret >= 0; i++)
		if (s->v[i].fd >= 0)
			ret = read_file(db, &s->v[i], e);
	return ret < 0 ? ret : 0;
}

int stuck_same(const struct stuck *x, const struct stuck *y)
{
	int less = DIFFER(x, y, state);

	less = less ? less : DIFFER(x, y, object);
	less = less ? less : DIFFER(x, y, dev);
	return less ? less : DIFFER(x, y, ino);
}

static int by_group(const void *a, const void *b)
{
	const struct stuck *x = a, *y = b;
	int less = stuck_same(x, y);

	less = less ? less : DIFFER(x, y, ts);
	return less ? less : DIFFER(x, y, tid);
}

int stuck_holder(struct stuck_holder *ret, sqlite3 *db, const struct stuck *w, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(holder, 0), ?3 <= 0 FROM futex_holder WHERE tid=?1 AND futex=?2 AND ts BETWEEN ?3"
		" AND ?4 ORDER BY ts DESC LIMIT 1";
	static const char of_file[] =
		"SELECT holder, coalesce(since, 1) <= 0 FROM file_lock_holder WHERE tid=?1 AND ts <= ?4 AND ts + dur"
		" >= ?3 AND ?2=0 ORDER BY ts DESC LIMIT 1";
	sqlite3_stmt *q;
	int got;

	if (w->state != STATE_futex && w->state != STATE_lock)
		return 0;
	got = db_query(&q, db, e, w->state == STATE_lock ? of_file : sql, "iiii", w->tid, w->object,
		       w->ts - (s64)STUCK_ENTRY, w->till);
	if (got < 0)
		return got;
	got = db_step(q, e);
	if (got > 0)
		*ret = (struct stuck_holder){ sqlite3_column_int64(q, 0),
					      sqlite3_column_int(q, 1) };
	return db_end(q, got);
}

/* Threads that have locks. */
struct holders {
	struct idmap idle; /* tid -> s64: ns in poll or on a socket */
	s64 end;
};

static int add_idle(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct holders *h = arg;
	s64 *idle;

	(void)rowid;
	(void)e;
	if (row->state != STATE_poll && row->state != STATE_socket)
		return 0;
	idle = idmap_get(&h->idle, (u64)row->tid);
	if (idle && row->ts < h->end)
		*idle += (row->ts + row->dur < h->end ? row->ts + row->dur : h->end) -
			 (row->ts > 0 ? row->ts : 0);
	return 0;
}

/* Who has what those wait for that only numbers connect with a request. */
static int read_holders(struct holders *h, struct stucks *s, sqlite3 *db, struct err *e)
{
	static const u32 set = COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
			       COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state);
	int i, ret = 0;

	for (i = 0; i < s->n && ret == 0; i++) {
		struct stuck *w = &s->v[i];
		struct stuck_holder holder = { 0 };

		if (w->by_count)
			ret = stuck_holder(&holder, db, w, e);
		w->holder = holder.tid;
		if (ret == 0 && w->holder && !idmap_get(&h->idle, (u64)w->holder) &&
		    !idmap_add(&h->idle, (u64)w->holder, sizeof(s64), STUCKS_MOST, "holders", e))
			ret = ERR_FAIL;
	}
	if (ret == 0 && h->idle.n)
		ret = rows_each(db, TABLE_thread_state, set, add_idle, h, e);
	return ret < 0 ? ret : 0;
}

/*
 * Where other threads may have the requests, several of both prove nothing if those that wait are
 * followers: one of them has the lock and waits for news, in poll or accept, for all. Nor if who
 * has it is not known. All wait from before the recording until its end.
 */
static int leave_out_followers(struct stucks *s, sqlite3 *db, s64 duration, struct err *e)
{
	struct holders h = { .end = duration };
	int i, n = 0, ret = read_holders(&h, s, db, e);

	for (i = 0; i < s->n && ret == 0; i++) {
		const struct stuck *w = &s->v[i];
		const s64 *idle = w->holder ? idmap_get(&h.idle, (u64)w->holder) : NULL;
		bool lock = w->state == STATE_futex || w->state == STATE_lock;

		if (!w->by_count || !lock || (idle && 2 * *idle <= duration))
			s->v[n++] = *w;
	}
	if (ret == 0)
		s->n = n;
	idmap_free_all(&h.idle);
	return ret;
}

/* Of waits inside of requests: one alone for a file happens on a healthy server. */
static void leave_out_single(struct stucks *s)
{
	struct stucks kept = { .v = s->v, .start = INFINITY, .of = s->of };
	bool all = s->requests > s->n; /* so many that not all are here: they stay */
	int i, k;

	for (i = 0; i < s->n && !all; i = k) {
		for (k = i + 1; k < s->n && stuck_same(&s->v[i], &s->v[k]) == 0; k++)
			;
		if (k - i == 1 && s->v[i].ino)
			continue;
		for (; i < k; i++) {
			stuck_add(&kept, &s->v[i]);
			kept.v[kept.n++] = s->v[i];
		}
	}
	if (!all)
		*s = kept;
}

int stuck_read(struct stucks *s, struct analysis_ctx *c, const struct judged *j,
	       const struct limits *l, enum stuck_serves serves, struct err *e)
{
	sqlite3_stmt *q;
	int i, ret;

	*s = (struct stucks){ .v = calloc(STUCKS_MOST, sizeof(*s->v)), .start = INFINITY };
	if (!s->v)
		return err_set(e, ERR_FAIL, "out of memory for the verdict");
	if (stuck_states(c->db, l, e) < 0)
		return ERR_FAIL;
	ret = db_query(&q, c->db, e, waits_sql, "iidiii", j->about.id, c->duration,
		       fmax(l->pause, EDGE_LEAST), (s64)STUCK_ENTRY, (s64)STUCKS_MOST, (s64)serves);
	if (ret < 0)
		return ret;
	while (s->n < STUCKS_MOST && (ret = db_step(q, e)) > 0) {
		struct stuck *w = &s->v[s->n++];

		w->tid = sqlite3_column_int64(q, 0);
		w->state = sqlite3_column_int(q, 1);
		w->object = sqlite3_column_int64(q, 2);
		w->ts = sqlite3_column_int64(q, 3);
		w->till = sqlite3_column_int64(q, 4);
		w->waker = sqlite3_column_int64(q, 5);
		w->since = sqlite3_column_int64(q, 6);
		w->before = sqlite3_column_int(q, 7);
		w->by_count = sqlite3_column_int(q, 8);
		w->fd = -1;
		s->n -= w->state < 0 || w->state >= N_STATES;
	}
	ret = db_end(q, ret);
	if (ret == 0 && serves == STUCK_SERVES)
		ret = leave_out_followers(s, c->db, c->duration, e);
	for (i = 0; i < s->n; i++)
		stuck_add(s, &s->v[i]);
	if (ret == 0 && !s->n && serves == STUCK_SERVES)
		ret = overdue_read(s, c, j, e);
	if (ret == 0 && !s->n && serves == STUCK_SERVES)
		ret = file_waits_read(s, c, j, l, e);
	if (ret == 0)
		ret = read_files(s, c->db, e);
	if (ret == 0 && s->n)
		qsort(s->v, (size_t)s->n, sizeof(*s->v), by_group);
	if (ret == 0 && s->of > 0)
		leave_out_single(s);
	return ret;
}

/* A problem of latency: requests that are stuck may have waited longer, all together. */
static bool may_be_less(const struct judged *j)
{
	return !j->given &&
	       (j->kind == VERDICT_pauses || j->kind == VERDICT_slower || j->kind == VERDICT_tail);
}

/* What it replaces is said next to it. */
static void take_stuck(struct judged *j, const struct stucks *s)
{
	if (j->status == STATUS_PROBLEM && j->kind == VERDICT_slower && !j->names) {
		j->slower_from = j->start;
		j->slower_to = j->end;
		j->slower_ratio = j->ratio;
	}
	if (j->status == STATUS_PROBLEM)
		verdict_forget_change(j);
	j->status = STATUS_PROBLEM;
	j->kind = VERDICT_stuck;
	j->n = s->requests;
	j->start = s->start;
	j->end = s->end;
	j->added = s->waited;
}

int verdict_stuck(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	struct stucks s = { 0 };
	int ret;

	if (j->about.kind != SUBJECT_server || (j->status == STATUS_PROBLEM && !may_be_less(j)))
		return 0;
	ret = stuck_read(&s, c, j, l, STUCK_SERVES, e);
	if (ret == 0 && s.n && (j->status != STATUS_PROBLEM || s.waited > verdict_harm(j))) {
		j->stuck = malloc(sizeof(*j->stuck));
		if (!j->stuck) {
			ret = err_set(e, ERR_FAIL, "out of memory for the verdict");
			goto out;
		}
		take_stuck(j, &s);
		*j->stuck = s;
		s.v = NULL;
	}
out:
	free(s.v);
	return ret;
}

void verdict_stuck_free(struct judged *j)
{
	if (j->stuck)
		free(j->stuck->v);
	free(j->stuck);
}
