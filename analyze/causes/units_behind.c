// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waiting for earlier requests. A thread serves a request from its receive until it receives the
 * next one, or has sent its answer. Of the wait of a later request, from when it was ready until it
 * was received, such slices of the same thread are waiting for other requests. Table turn is read
 * in parts with a margin, sorted by thread and time: memory does not grow with the recording.
 */
#include "units.h"

#include <stdlib.h>

#define PART   262144
#define MARGIN 32768

struct request {
	s64 rowid, ts, end, queued;
	s64 sum; /* of the slices of its thread before its own */
	u32 tid;
};

struct behind {
	sqlite3 *db;
	struct request *v;
	size_t n;
	s64 first; /* rowid of ns[0] */
	s64 ns[PART];
};

int behind_open(struct behind **ret, sqlite3 *db, struct err *e)
{
	struct behind *b = calloc(1, sizeof(*b));

	if (!b)
		return err_set(e, ERR_FAIL, "out of memory for requests");
	b->db = db;
	b->first = -PART;
	b->v = calloc(PART + 2 * MARGIN, sizeof(*b->v));
	if (!b->v) {
		free(b);
		return err_set(e, ERR_FAIL, "out of memory for requests");
	}
	*ret = b;
	return 0;
}

void behind_close(struct behind *b)
{
	if (b)
		free(b->v);
	free(b);
}

static int by_thread(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

static s64 slice_end(const struct behind *b, size_t i)
{
	const struct request *r = &b->v[i];

	return i + 1 < b->n && r[1].tid == r->tid && r[1].ts < r->end ? r[1].ts : r->end;
}

/* Slices of the thread of request i within from..its receive. */
static s64 slices_before(const struct behind *b, size_t i, s64 from)
{
	size_t low = 0, high = i, mid;
	s64 ns;

	while (low < high) { /* the first slice of the thread that ends after from */
		mid = (low + high) / 2;
		if (b->v[mid].tid < b->v[i].tid || slice_end(b, mid) <= from)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == i)
		return 0;
	ns = b->v[i].sum - b->v[low].sum;
	return b->v[low].ts < from ? ns - (from - b->v[low].ts) : ns;
}

static int read_part(struct behind *b, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, b->db, e,
			   "SELECT rowid, ts, ts + dur, queued, tid FROM turn WHERE rowid >= ? AND"
			   " rowid < ?",
			   "ii", b->first - MARGIN, b->first + PART + MARGIN);

	b->n = 0;
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0 && b->n < PART + 2 * MARGIN)
		b->v[b->n++] = (struct request){ .rowid = sqlite3_column_int64(q, 0),
						 .ts = sqlite3_column_int64(q, 1),
						 .end = sqlite3_column_int64(q, 2),
						 .queued = sqlite3_column_int64(q, 3),
						 .tid = sqlite3_column_int64(q, 4) };
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

static int load_part(struct behind *b, s64 rowid, struct err *e)
{
	size_t i;
	s64 at;
	int ret;

	b->first = rowid;
	ret = read_part(b, e);
	if (ret < 0)
		return ret;
	qsort(b->v, b->n, sizeof(*b->v), by_thread);
	for (i = 0; i < b->n; i++)
		b->v[i].sum = i && b->v[i - 1].tid == b->v[i].tid
				      ? b->v[i - 1].sum + slice_end(b, i - 1) - b->v[i - 1].ts
				      : 0;
	for (i = 0; i < b->n; i++) {
		at = b->v[i].rowid - b->first;
		if (at >= 0 && at < PART)
			b->ns[at] = b->v[i].queued > 0
					    ? slices_before(b, i, b->v[i].ts - b->v[i].queued)
					    : 0;
	}
	return 0;
}

int behind_of(struct behind *b, s64 rowid, s64 *ret_ns, struct err *e)
{
	int ret = 0;

	if (rowid < b->first || rowid - b->first >= PART)
		ret = load_part(b, rowid, e);
	*ret_ns = ret == 0 ? b->ns[rowid - b->first] : 0;
	return ret;
}
