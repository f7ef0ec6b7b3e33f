// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A deadlock: a thread waits for a lock whose word, when the wait began, had another thread as its
 * holder, that one for a lock of a third, and the last of them for one of the first; all until the
 * recording ends. A lock that was passed on since has another holder: then a thread
 * ended one of the waits for it.
 */
#include "verdict_cycle.h"

#include <stdlib.h>

#define WAITS_MOST   4096
#define ENTRY_BEFORE 1000000 /* ns: the futex call begins before its wait */

/* A thread that waits for a lock of another one. */
struct lock_wait {
	s64 tid, holder, ts, futex;
};

struct lock_waits {
	struct lock_wait *v; /* by tid */
	int n;
};

static int read_waits(struct lock_waits *w, struct analysis_ctx *c, const struct judged *j,
		      const struct limits *l, struct err *e)
{
	static const char sql[] =
		"WITH w AS MATERIALIZED (SELECT tid, ts, object FROM thread_state WHERE state=state_id('futex') AND"
		" dur >= ?4 AND ts + dur >= ?3 AND object > 0 AND tid IN (SELECT tid FROM thread WHERE iif(?2, pid IN"
		" (SELECT pid FROM service WHERE server=?1), pid=?1))) SELECT * FROM (SELECT w.tid, (SELECT"
		" h.holder FROM futex_holder h WHERE h.tid=w.tid AND h.futex=w.object AND h.ts BETWEEN w.ts - ?5 AND"
		" w.ts ORDER BY h.ts DESC LIMIT 1) AS holder, w.ts, w.object FROM w) WHERE holder > 0 AND holder <>"
		" tid ORDER BY tid LIMIT ?6";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "iiidii", j->about.id,
			   (s64)(j->about.kind == SUBJECT_server), c->duration - ENTRY_BEFORE,
			   l->pause, (s64)ENTRY_BEFORE, (s64)WAITS_MOST);

	if (ret < 0)
		return ret;
	w->v = calloc(WAITS_MOST, sizeof(*w->v));
	if (!w->v)
		ret = err_set(e, ERR_FAIL, "out of memory for locks");
	while (ret >= 0 && w->n < WAITS_MOST && (ret = db_step(q, e)) > 0)
		w->v[w->n++] =
			(struct lock_wait){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
					    sqlite3_column_int64(q, 2),
					    sqlite3_column_int64(q, 3) };
	return db_end(q, ret);
}

static int by_tid(const void *a, const void *b)
{
	const struct lock_wait *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* What the holder of its lock waits for; NULL: for no lock. */
static const struct lock_wait *next_of(const struct lock_waits *w, const struct lock_wait *of)
{
	struct lock_wait key = { .tid = of->holder };

	return bsearch(&key, w->v, (size_t)w->n, sizeof(key), by_tid);
}

/* The number of threads in the cycle that it is in; 0: it is in none. */
static int cycle_at(const struct lock_waits *w, const struct lock_wait *start)
{
	const struct lock_wait *i = start;
	int n;

	for (n = 1; n <= w->n; n++) {
		i = next_of(w, i);
		if (!i || i == start)
			return i ? n : 0;
	}
	return 0;
}

/* A wait for the same lock was ended by a thread since: who held it may have passed it on. */
static int is_passed(bool *ret, sqlite3 *db, const struct lock_wait *w, s64 end, struct err *e)
{
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM thread_state WHERE state=state_id('futex') AND object=?1 AND waker > 0 AND ts +"
		" dur > ?2 AND ts + dur < ?3)";
	s64 any = 0;
	int err = db_int(db, &any, e, sql, "iii", w->futex, w->ts, end - ENTRY_BEFORE);

	*ret = any;
	return err;
}

static int any_passed(bool *ret, sqlite3 *db, const struct lock_waits *w,
		      const struct lock_wait *start, s64 end, struct err *e)
{
	const struct lock_wait *i = start;
	int err;

	do {
		err = is_passed(ret, db, i, end, e);
		i = next_of(w, i);
	} while (err == 0 && !*ret && i != start);
	return err;
}

/* Threads that wait for a lock that it holds. */
static int waiters_of(const struct lock_waits *w, s64 tid)
{
	int i, n = 0;

	for (i = 0; i < w->n; i++)
		n += w->v[i].holder == tid;
	return n;
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct lock_waits *w,
	       const struct lock_wait *first, int n, struct err *e)
{
	const struct lock_wait *last = first, *i;
	struct buf in = { 0 }, last_in = { 0 };
	double others = 0;
	int k;
	int ret;

	for (i = next_of(w, first); i != first; i = next_of(w, i))
		last = i;
	for (k = 0, i = first; k < n; k++, i = next_of(w, i))
		others += waiters_of(w, i->tid) - 1;
	ret = verdict_wait_caller(&in, c->db, first->tid, first->ts, c->duration, e);
	if (ret == 0)
		ret = verdict_wait_caller(&last_in, c->db, last->tid, last->ts, c->duration, e);
	const struct value values[] = {
		VALUE_NUMBER("n", n, ""),
		VALUE_SUBJECT("first", thread, first->tid),
		VALUE_SUBJECT("second", thread, first->holder),
		VALUE_SUBJECT("last", thread, last->tid),
		VALUE_TEXT("in", in.len ? in.data : NULL),
		VALUE_TEXT("last_in", last_in.len ? last_in.data : NULL),
		VALUE_NUMBER("others", others > 0 ? others : NAN, ""),
		{ 0 },
	};
	const struct finding f = { FINDING_verdict_cycle,	 PROBLEM, OBSERVED,  j->about,
				   "SELECT * FROM futex_holder", values,  j->finding };

	if (ret == 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&in);
	buf_free(&last_in);
	return ret;
}

int verdict_cycle_say(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		      struct err *e)
{
	struct lock_waits w = { 0 };
	bool passed = false, said = false;
	s64 any = 0;
	int i, n, ret = db_int(c->db, &any, e, "SELECT EXISTS (SELECT 1 FROM futex_holder)", "");

	if (ret == 0 && any)
		ret = read_waits(&w, c, j, l, e);
	for (i = 0; i < w.n && ret == 0 && !said; i++) {
		n = cycle_at(&w, &w.v[i]);
		if (n)
			ret = any_passed(&passed, c->db, &w, &w.v[i], c->duration, e);
		said = n && ret == 0 && !passed;
		if (said)
			ret = put(c, j, &w, &w.v[i], n, e);
		else if (n)
			w.v[i].holder = 0; /* no member of it is looked at again */
	}
	free(w.v);
	return ret;
}
