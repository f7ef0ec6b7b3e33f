// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waiting for earlier requests. A thread serves a request from its receive until it receives the
 * next one, or has sent its answer. Of the wait of a later request, from when it was ready until it
 * was received, such slices of the same thread are waiting for other requests. Table request is
 * read in parts with a margin, sorted by thread and time: memory does not grow with the recording.
 */
#include "analyze/stats/sorted.h"
#include "analyze/store/columns/columns.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define PART   262144
#define MARGIN 32768

struct request {
	s64 rowid, ts, end, queued;
	s64 sum; /* of the slices of its thread before its own */
	u32 tid;
};

struct request_queue {
	sqlite3 *db;
	struct request *v;
	size_t n;
	s64 first; /* rowid of ns[0] */
	s64 ns[PART];
};

int request_queue_open(struct request_queue **ret, sqlite3 *db, struct err *e)
{
	struct request_queue *b = calloc(1, sizeof(*b));

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

void request_queue_close(struct request_queue *b)
{
	if (b)
		free(b->v);
	free(b);
}

/* By thread, then by time. */
static int sort_requests(struct request_queue *b, struct err *e)
{
	size_t room = b->n + 1, i;
	struct request *sorted = malloc(room * sizeof(*sorted));
	s64 *key = malloc(room * sizeof(*key));
	u64 *place = malloc(room * sizeof(*place));
	bool done = sorted && key && place;

	for (i = 0; done && i < b->n; i++) {
		key[i] = b->v[i].ts;
		place[i] = i;
	}
	done = done && sort_keys(key, place, b->n);
	for (i = 0; done && i < b->n; i++)
		key[i] = b->v[place[i]].tid;
	done = done && sort_keys(key, place, b->n);
	for (i = 0; done && i < b->n; i++)
		sorted[i] = b->v[place[i]];
	if (done && b->n)
		memcpy(b->v, sorted, b->n * sizeof(*sorted));
	free(sorted);
	free(key);
	free(place);
	return done ? 0 : err_set(e, ERR_FAIL, "out of memory for requests");
}

static s64 slice_end(const struct request_queue *b, size_t i)
{
	const struct request *r = &b->v[i];

	return i + 1 < b->n && r[1].tid == r->tid && r[1].ts < r->end ? r[1].ts : r->end;
}

/* Slices of the thread of request i within from..its receive. */
static s64 slices_before(const struct request_queue *b, size_t i, s64 from)
{
	size_t low = i, high = i, step = 1, mid;
	s64 ns;

	for (; low && b->v[low - 1].tid == b->v[i].tid && slice_end(b, low - 1) > from; step *= 2) {
		high = low - 1; /* it is near */
		low = low > step ? low - step : 0;
	}
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

static int add_rows(void *arg, const struct columns *c, struct err *e)
{
	const s64 *ts = c->value[COLUMN_AT(request, ts)];
	struct request_queue *b = arg;
	u32 i;

	(void)e;
	for (i = 0; i < c->rows && b->n < PART + 2 * MARGIN; i++)
		b->v[b->n++] = (struct request){
			.rowid = c->rowid + i,
			.ts = ts[i],
			.end = ts[i] + c->value[COLUMN_AT(request, dur)][i],
			.queued = c->value[COLUMN_AT(request, queued)][i],
			.tid = c->value[COLUMN_AT(request, tid)][i],
		};
	return 0;
}

static int read_part(struct request_queue *b, struct err *e)
{
	b->n = 0;
	return columns_range(b->db, TABLE_request,
			     COLUMN_OF(request, ts) | COLUMN_OF(request, dur) |
				     COLUMN_OF(request, queued) | COLUMN_OF(request, tid),
			     b->first - MARGIN, b->first + PART + MARGIN, add_rows, b, e);
}

static int load_part(struct request_queue *b, s64 rowid, struct err *e)
{
	size_t i;
	s64 at;
	int ret;

	b->first = rowid;
	ret = read_part(b, e);
	if (ret < 0)
		return ret;
	ret = sort_requests(b, e);
	if (ret < 0)
		return ret;
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

int request_queue_of(struct request_queue *b, s64 rowid, s64 *ret_ns, struct err *e)
{
	int ret = 0;

	if (rowid < b->first || rowid - b->first >= PART)
		ret = load_part(b, rowid, e);
	*ret_ns = ret == 0 ? b->ns[rowid - b->first] : 0;
	return ret;
}
