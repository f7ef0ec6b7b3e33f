// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pauses that an arrival ended: nothing arrived while the thread was idle in poll, until their end.
 * Those that had no answer may have waited for that, as consumers do for what others produce. The
 * thread that read it answered them, or woke the one that did, before it slept for other news. Not
 * so if one has a name: which of these wait for something is known.
 */
#include "verdict_pauses.h"

#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "format/grow.h"

#include <stdlib.h>

#define POLLED	   0.5 /* of a pause: its thread was idle */
#define SHORTLY	   0.1 /* of a pause: what arrives so soon after its start was under way */
#define CHAIN_MOST 16  /* threads that wake each other */

/* Sleeps for news that ended after the arrival was read, in a pause. */
struct wake {
	s64 tid, till, waker;
	int pause;
};

struct arriving {
	struct judged *j;
	double least,
		react; /* ns: a pause; what arrives so long before its end may have ended it */
	struct wake *v;
	size_t n;
	struct idmap threads; /* of the server */
};

static bool is_candidate(const struct arriving *a, const struct judged_pause *p)
{
	return p->polled >= POLLED && !p->named && !p->amid && p->late &&
	       (double)(p->end - p->start) >= a->least;
}

/* The pause that a time is in, its end included; NULL: none. */
static struct judged_pause *pause_of(const struct arriving *a, s64 ts)
{
	int i = verdict_pause_after(a->j, ts - 1);

	return i < a->j->whole && a->j->pauses[i].start < ts ? &a->j->pauses[i] : NULL;
}

/* False: shortly before its end. */
static bool add_amid(const struct arriving *a, struct judged_pause *p, s64 arrival)
{
	if ((double)(p->end - arrival) <= a->react)
		return false;
	p->amid += (double)(arrival - p->start) > SHORTLY * (double)(p->end - p->start);
	return true;
}

/* A request with a name that waits for most of a pause. */
static void mark_named(const struct arriving *a, s64 arrival, s64 end)
{
	int i = verdict_pause_after(a->j, arrival);

	for (; i < a->j->whole && a->j->pauses[i].start < end; i++) {
		struct judged_pause *p = &a->j->pauses[i];

		p->named |= 2 * (fmin((double)p->end, (double)end) -
				 fmax((double)p->start, (double)arrival)) >=
			    (double)(p->end - p->start);
	}
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	const struct arriving *a = arg;
	s64 arrival = row->ts - row->queued, end = row->ts + row->dur;
	struct judged_pause *p = pause_of(a, end);

	(void)rowid;
	(void)e;
	if (p && p->end == end)
		p->answered = row->tid;
	if (row->name > 0)
		mark_named(a, arrival, end);
	p = pause_of(a, arrival);
	if (!p || p->end == arrival || add_amid(a, p, arrival))
		return 0;
	p->late++;
	if (row->ts <= p->end && row->ts > p->read) {
		p->read = row->ts;
		p->reader = row->receiver == BULK_NULL ? row->tid : row->receiver;
	}
	return 0;
}

/* Of a request that had no answer, its arrival. */
static int on_unanswered(void *arg, sqlite3_stmt *q, struct err *e)
{
	const struct arriving *a = arg;
	s64 arrival = sqlite3_column_int64(q, 0);
	struct judged_pause *p = pause_of(a, arrival);

	(void)e;
	if (p)
		add_amid(a, p, arrival);
	return 0;
}

/* A disk is no news: it is waited for with the arrival in hand. */
static bool is_for_news(s64 state)
{
	return state != STATE_run && state != STATE_woken && state != STATE_preempted &&
	       state != STATE_unknown && state != STATE_disk && state != STATE_blocked;
}

static int on_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct arriving *a = arg;
	s64 till = row->ts + row->dur;
	struct judged_pause *p = is_for_news(row->state) ? pause_of(a, till) : NULL;

	(void)rowid;
	if (!p || !p->read || till <= p->read || !is_candidate(a, p) ||
	    !idmap_get(&a->threads, (u64)row->tid))
		return 0;
	if (GROW(a->v, a->n, "ends of waits", e) < 0)
		return ERR_FAIL;
	a->v[a->n++] = (struct wake){ row->tid, till, row->waker, (int)(p - a->j->pauses) };
	return 0;
}

static int by_pause(const void *a, const void *b)
{
	const struct wake *x = a, *y = b;

	return (x->pause > y->pause) - (x->pause < y->pause);
}

/* The last sleep of a thread that ended until then, of n; NULL: none since the arrival was read. */
static const struct wake *last_of(const struct wake *v, size_t n, s64 tid, s64 until)
{
	const struct wake *last = NULL;
	size_t i;

	for (i = 0; i < n; i++)
		if (v[i].tid == tid && v[i].till <= until && (!last || v[i].till > last->till))
			last = &v[i];
	return last;
}

/* Whether the thread that read the arrival answered, or those that it woke. */
static bool is_ended_by(const struct arriving *a, const struct judged_pause *p,
			const struct wake *v, size_t n)
{
	s64 tid = p->answered, until = p->end;
	int hops;

	for (hops = 0; hops < CHAIN_MOST && idmap_get(&a->threads, (u64)tid); hops++) {
		const struct wake *w = last_of(v, n, tid, until);

		if (!w)
			return tid == p->reader;
		tid = w->waker;
		until = w->till - 1;
	}
	return false;
}

static void choose(struct arriving *a)
{
	size_t from = 0, to;
	int i;

	if (a->n)
		qsort(a->v, a->n, sizeof(*a->v), by_pause);
	for (i = 0; i < a->j->whole; i++) {
		struct judged_pause *p = &a->j->pauses[i];

		for (to = from; to < a->n && a->v[to].pause == i; to++)
			;
		p->awaited =
			is_candidate(a, p) && p->read && is_ended_by(a, p, &a->v[from], to - from);
		from = to;
	}
}

/* What its threads slept for after they had read the arrivals. */
static int read_wakes(struct arriving *a, sqlite3 *db, struct err *e)
{
	static const u32 set = COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
			       COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state) |
			       COLUMN_OF(thread_state, waker);
	bool any = false;
	int i, ret;

	for (i = 0; i < a->j->whole; i++)
		any |= is_candidate(a, &a->j->pauses[i]);
	if (!any)
		return 0;
	ret = db_each(
		db, e, db_idmap, &a->threads,
		"SELECT tid, 1 FROM thread WHERE pid IN (SELECT pid FROM service WHERE server=?1)",
		"i", a->j->about.id);
	return ret < 0 ? ret : rows_each(db, TABLE_thread_state, set, on_state, a, e);
}

int verdict_arrivals(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		     struct err *e)
{
	static const char unanswered[] =
		"SELECT ts FROM (SELECT ts, service FROM request_closed WHERE read NOT NULL UNION ALL SELECT ts,"
		" service FROM unanswered WHERE read NOT NULL) WHERE service IN (SELECT id FROM service WHERE"
		" server=?1)";
	struct arriving a = { .j = j, .least = l->pause, .react = fmax(j->p50, l->latency) };
	bool any = false;
	int i, ret;

	for (i = 0; i < j->whole; i++)
		any |= j->pauses[i].polled >= POLLED &&
		       (double)(j->pauses[i].end - j->pauses[i].start) >= l->pause;
	if (!any)
		return 0;
	ret = requests_each(c->db, COLUMN_OF(request, tid) | COLUMN_OF(request, receiver),
			    "SELECT id FROM service WHERE server=?1", j->about.id, on_request, &a,
			    e);
	if (ret >= 0)
		ret = db_each(c->db, e, on_unanswered, &a, unanswered, "i", j->about.id);
	if (ret >= 0)
		ret = read_wakes(&a, c->db, e);
	if (ret >= 0)
		choose(&a);
	free(a.v);
	idmap_free(&a.threads);
	return ret < 0 ? ret : 0;
}
