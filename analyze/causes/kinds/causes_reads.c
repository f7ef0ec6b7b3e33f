// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What reading from a disk costs on a CPU: pages are allocated, requests are built and handed to
 * the device. Of the CPU time that slow units have more, the share within system calls in which
 * their thread submitted reads of most of what the call returned. What a thread computes with the
 * data afterwards is not in them.
 */
#include "analyze/causes/causes.h"
#include "format/grow.h"

#include <math.h>
#include <stdlib.h>

#define MOSTLY 0.5

struct at {
	u32 tid;
	s64 ts, end;
	s64 bytes; /* of a submit */
};

struct list {
	struct at *v;
	size_t n;
};

static int by_thread(const void *a, const void *b)
{
	const struct at *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* The first of a sorted list that is at or after this moment of its thread. */
static size_t first_from(const struct list *l, u32 tid, s64 ts)
{
	struct at want = { tid, ts, 0, 0 };
	size_t low = 0, high = l->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (by_thread(&l->v[mid], &want) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int add(struct list *l, const struct at *x, struct err *e)
{
	if (GROW(l->v, l->n, "reads", e) < 0)
		return ERR_FAIL;
	l->v[l->n++] = *x;
	return 0;
}

/* When threads submitted reads. */
static int find_submits(struct list *ret, sqlite3 *db, struct moment range, struct err *e)
{
	static const char sql[] = "SELECT tid, ts, bytes FROM block_io WHERE ts BETWEEN ? AND ?"
				  " AND tid > 0 AND block_op(op)='read'";
	sqlite3_stmt *q;
	int r = db_query(&q, db, e, sql, "ii", range.from, range.to);

	if (r < 0)
		return r;
	while ((r = db_step(q, e)) > 0) {
		s64 ts = sqlite3_column_int64(q, 1);

		if (add(ret,
			&(struct at){ sqlite3_column_int64(q, 0), ts, ts,
				      sqlite3_column_int64(q, 2) },
			e) < 0) {
			r = ERR_FAIL;
			break;
		}
	}
	r = db_end(q, r);
	if (r == 0 && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_thread);
	return r;
}

/* Bytes that were asked of disks in a call. */
static double read_in(const struct list *submits, const struct at *call)
{
	size_t i = first_from(submits, call->tid, call->ts);
	double bytes = 0;

	for (; i < submits->n && submits->v[i].tid == call->tid && submits->v[i].ts < call->end;
	     i++)
		bytes += (double)submits->v[i].bytes;
	return bytes;
}

/* The system calls that got most of their data that way: one that copies much from the page cache
 * does not. */
static int find_calls(struct list *ret, sqlite3 *db, const struct list *submits,
		      struct moment range, struct err *e)
{
	static const char sql[] =
		"SELECT tid, ts, ts + dur, ret FROM syscall WHERE ts BETWEEN ? AND ?";
	sqlite3_stmt *q;
	struct at call;
	double moved, read;
	int r = db_query(&q, db, e, sql, "ii", range.from, range.to);

	if (r < 0)
		return r;
	while ((r = db_step(q, e)) > 0) {
		call = (struct at){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				    sqlite3_column_int64(q, 2), 0 };
		moved = sqlite3_column_double(q, 3);
		read = read_in(submits, &call);
		if (read <= 0 || read < MOSTLY * moved)
			continue;
		if (add(ret, &call, e) < 0) {
			r = ERR_FAIL;
			break;
		}
	}
	r = db_end(q, r);
	if (r == 0 && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_thread);
	return r;
}

/* CPU time of a mean unit within these calls, which do not overlap in a thread. */
static double within(struct samples *d, bool baseline, const struct list *calls)
{
	struct pieces p = { 0 };
	double ns = 0;
	size_t i, k;

	samples_pieces(d, baseline, CATEGORY_cpu, &p);
	for (i = 0; i < p.n; i++) {
		const struct piece *x = &p.v[i];

		k = first_from(calls, x->tid, x->from);
		k -= k && calls->v[k - 1].tid == x->tid;
		for (; k < calls->n && calls->v[k].tid == x->tid && calls->v[k].ts < x->to; k++)
			ns += x->weight *
			      fmax(0, fmin(x->to, calls->v[k].end) - fmax(x->from, calls->v[k].ts));
	}
	pieces_free(&p);
	return ns;
}

int causes_reads(struct samples *d, double *part, struct err *e)
{
	double added = d->cmp->of[CATEGORY_cpu].value;
	struct list submits = { 0 }, calls = { 0 };
	struct moment all = samples_around(d);
	size_t i;
	int ret;

	*part = 0;
	if (!(added > 0) || !d->n)
		return 0;
	for (i = 0; i < d->n_baseline; i++) {
		const struct unit *u = &d->baseline[i];

		all.from = u->ts < all.from ? u->ts : all.from;
		all.to = u->ts + u->dur > all.to ? u->ts + u->dur : all.to;
	}
	ret = find_submits(&submits, d->db, all, e);
	if (ret == 0 && submits.n)
		ret = find_calls(&calls, d->db, &submits, all, e);
	if (ret == 0 && calls.n)
		*part = fmin(1,
			     fmax(0, within(d, false, &calls) - within(d, true, &calls)) / added);
	free(submits.v);
	free(calls.v);
	return ret;
}
