// SPDX-License-Identifier: GPL-2.0-or-later
#include "handoffs.h"

#include "analyze/store/state.h"
#include "format/grow.h"

#include <stdlib.h>

#define SLEEPS_MOST 1000000 /* more are not read: then a chain may end too early */

static int by_thread(const void *a, const void *b)
{
	const struct sleep_end *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_start(const void *a, const void *b)
{
	const s64 *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* Joins those that touch; returns how many are left. */
static int join(s64 (*ranges)[2], int n)
{
	int i, k = 0;

	qsort(ranges, (size_t)n, sizeof(*ranges), by_start);
	for (i = 1; i < n; i++) {
		if (ranges[i][0] > ranges[k][1]) {
			ranges[++k][0] = ranges[i][0];
			ranges[k][1] = ranges[i][1];
		} else if (ranges[i][1] > ranges[k][1]) {
			ranges[k][1] = ranges[i][1];
		}
	}
	return n ? k + 1 : 0;
}

/* Of ranges that do not touch. */
static bool is_in(s64 (*ranges)[2], int n, s64 ts)
{
	int low = 0, high = n;

	while (low < high) {
		int mid = low + (high - low) / 2;

		if (ranges[mid][1] < ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && ranges[low][0] <= ts;
}

static int add(struct handoffs *h, sqlite3_stmt *q, struct err *e)
{
	struct sleep_end *s;

	if (GROW(h->v, h->n, "pauses", e) < 0)
		return ERR_FAIL;
	s = &h->v[h->n++];
	*s = (struct sleep_end){ .tid = sqlite3_column_int64(q, 0),
				 .ts = sqlite3_column_int64(q, 1),
				 .end = sqlite3_column_int64(q, 2),
				 .waker = sqlite3_column_int64(q, 3),
				 .lock = sqlite3_column_int(q, 4) };
	s->lock = s->lock && s->waker > 0;
	return 0;
}

static int read_sleeps(struct handoffs *h, sqlite3 *db, s64 (*ranges)[2], int n, struct err *e)
{
	static const char sql[] =
		"SELECT tid, ts, ts + dur, coalesce(waker, 0), state IN (state_id('futex'), state_id('lock')) FROM"
		" thread_state WHERE ts + dur >= ?1 AND ts <= ?2 AND state NOT IN (state_id('run'), state_id('woken'),"
		" state_id('preempted'), state_id('unknown'))";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "ii", ranges[0][0], ranges[n - 1][1]);

	if (ret < 0)
		return ret;
	while (h->n < SLEEPS_MOST && (ret = db_step(q, e)) > 0) {
		if (is_in(ranges, n, sqlite3_column_int64(q, 2)))
			ret = add(h, q, e);
		if (ret < 0)
			break;
	}
	ret = db_end(q, ret);
	if (h->n)
		qsort(h->v, h->n, sizeof(*h->v), by_thread);
	return ret;
}

/* The first sleep of a thread that ends at this time or later, or one of a later thread. */
static size_t first_from(const struct handoffs *h, s64 tid, s64 ts)
{
	const struct sleep_end key = { .tid = tid, .end = ts };
	size_t low = 0, high = h->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_thread(&h->v[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Sleeps of one thread from *i on that begin before ts: in a request that lasts until then? */
static void mark_until(struct handoffs *h, size_t *i, s64 tid, s64 ts, s64 until)
{
	for (; *i < h->n && h->v[*i].tid == tid && h->v[*i].ts < ts; ++*i)
		h->v[*i].request = h->v[*i].end <= until;
}

/* Sleeps of a thread do not overlap, its requests can: of those before, the latest end counts. */
static int mark_requests(struct handoffs *h, sqlite3 *db, s64 from, s64 to, struct err *e)
{
	static const char sql[] =
		"SELECT tid, ts, ts + dur FROM request WHERE ts <= ?2 AND ts + dur >= ?1 ORDER BY tid, ts";
	s64 tid = -1, until = 0;
	sqlite3_stmt *q;
	size_t i = 0;
	int ret = db_query(&q, db, e, sql, "ii", from, to);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		s64 of = sqlite3_column_int64(q, 0), end = sqlite3_column_int64(q, 2);

		if (of != tid) {
			mark_until(h, &i, tid, INT64_MAX, until);
			tid = of;
			i = first_from(h, tid, INT64_MIN);
			until = INT64_MIN;
		}
		mark_until(h, &i, tid, sqlite3_column_int64(q, 1), until);
		until = end > until ? end : until;
	}
	mark_until(h, &i, tid, INT64_MAX, until);
	return db_end(q, ret);
}

int handoffs_read(struct handoffs *h, sqlite3 *db, s64 (*ranges)[2], int n, struct err *e)
{
	int ret;

	*h = (struct handoffs){ 0 };
	n = join(ranges, n);
	if (!n)
		return 0;
	ret = read_sleeps(h, db, ranges, n, e);
	return ret < 0 ? ret : mark_requests(h, db, ranges[0][0], ranges[n - 1][1], e);
}

static const struct sleep_end *last_until(const struct handoffs *h, s64 tid, s64 until)
{
	size_t i = first_from(h, tid, until + 1);

	return i && h->v[i - 1].tid == tid ? &h->v[i - 1] : NULL;
}

/* Most of this wait was that of its waker: for the rest it waited for what the waker does. */
static bool is_most(const struct sleep_end *s, struct handoff last)
{
	s64 both = s->end - (s->ts > last.ts ? s->ts : last.ts);

	return s->end < last.end && 2 * both > last.end - last.ts;
}

struct handoff handoffs_first(const struct handoffs *h, struct handoff last)
{
	const struct sleep_end *s = last_until(h, last.waker, last.end);

	while (s && s->lock && s->request && is_most(s, last)) {
		last = (struct handoff){ s->ts, s->end, s->waker };
		s = last_until(h, last.waker, last.end);
	}
	return last;
}

s64 handoffs_slept(const struct handoffs *h, s64 tid, s64 until)
{
	const struct sleep_end *s = last_until(h, tid, until);

	return s ? s->end : 0;
}

void handoffs_free(struct handoffs *h)
{
	free(h->v);
	*h = (struct handoffs){ 0 };
}
