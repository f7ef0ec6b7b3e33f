// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What reading from a disk costs on a CPU: pages are allocated, requests are built and handed to
 * the device. Of the CPU time that slow units have more, the share within system calls in which
 * their thread submitted reads of most of what the call returned; at most what calls of these
 * numbers added, as they cost CPU time without a read, too. What a thread computes with the data
 * afterwards is not in them.
 */
#include "analyze/base/limits.h"
#include "analyze/causes/causes.h"
#include "format/grow.h"

#include <math.h>
#include <stdlib.h>

#define MOSTLY	  0.5
#define CALLS_MAX 1000000 /* of the units that are looked at; with more, nothing is said */

/* A read that was handed to a disk. */
struct submit {
	u32 tid;
	s64 ts;
	double bytes;
};

struct call {
	u32 tid;
	s64 ts, end, nr;
	bool reads;
};

struct reading {
	struct moment *units; /* that are looked at, joined */
	size_t n_units;
	struct idmap threads; /* of these units */
	struct submit *submits;
	size_t n;
	struct call *calls; /* in these units, by thread and time */
	size_t n_calls;
	struct idmap numbers; /* of calls that read */
};

static int by_submit(const void *a, const void *b)
{
	const struct submit *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

static int by_call(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* When threads submitted reads. */
static int find_submits(struct reading *r, sqlite3 *db, struct err *e)
{
	static const char sql[] = "SELECT tid, ts, bytes FROM block_io WHERE ts BETWEEN ? AND ?"
				  " AND tid > 0 AND block_op(op)='read'";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "ii", r->units[0].from, r->units[r->n_units - 1].to);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		if (GROW(r->submits, r->n, "reads", e) < 0) {
			ret = ERR_FAIL;
			break;
		}
		r->submits[r->n++] =
			(struct submit){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
					 sqlite3_column_double(q, 2) };
	}
	ret = db_end(q, ret);
	if (ret == 0 && r->n)
		qsort(r->submits, r->n, sizeof(*r->submits), by_submit);
	return ret;
}

/* Bytes that were asked of disks in a call. */
static double read_in(const struct reading *r, const struct call *c)
{
	struct submit want = { c->tid, c->ts, 0 };
	size_t low = 0, high = r->n, mid;
	double bytes = 0;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (by_submit(&r->submits[mid], &want) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < r->n && r->submits[low].tid == c->tid && r->submits[low].ts < c->end; low++)
		bytes += r->submits[low].bytes;
	return bytes;
}

/* CPU time of a mean unit within those that read, or all of a number of these; they do not overlap.
 */
static double within(const struct reading *r, struct samples *d, bool baseline, bool reads)
{
	struct pieces p = { 0 };
	size_t i, low, high, mid;
	double ns = 0;

	samples_pieces(d, baseline, CATEGORY_cpu, &p);
	for (i = 0; i < p.n; i++) {
		const struct piece *x = &p.v[i];
		const struct call want = { .tid = x->tid, .ts = x->from }, *c;

		for (low = 0, high = r->n_calls; low < high;) {
			mid = low + (high - low) / 2;
			if (by_call(&r->calls[mid], &want) < 0)
				low = mid + 1;
			else
				high = mid;
		}
		low -= low && r->calls[low - 1].tid == x->tid; /* it may start before */
		for (c = r->calls + low;
		     c < r->calls + r->n_calls && c->tid == x->tid && c->ts < x->to; c++)
			if (reads ? c->reads : idmap_get(&r->numbers, (u64)c->nr) != NULL)
				ns += x->weight *
				      fmax(0, (double)((x->to < c->end ? x->to : c->end) -
						       (x->from > c->ts ? x->from : c->ts)));
	}
	pieces_free(&p);
	return ns;
}

static int add_call(struct reading *r, struct call c, double returned, struct err *e)
{
	double read = read_in(r, &c);

	c.reads = read > 0 && read >= MOSTLY * returned;
	if (c.reads && idmap_put(&r->numbers, (u64)c.nr, r, TASK_LIMIT, e) < 0)
		return ERR_FAIL;
	if (GROW(r->calls, r->n_calls, "reads", e) < 0)
		return ERR_FAIL;
	r->calls[r->n_calls++] = c;
	return 0;
}

static int find_calls(struct reading *r, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT tid, ts, ts + dur, nr, ret FROM syscall WHERE ts BETWEEN ? AND ?";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "ii", r->units[0].from, r->units[r->n_units - 1].to);

	if (ret < 0)
		return ret;
	while (r->n_calls < CALLS_MAX && (ret = db_step(q, e)) > 0) {
		struct call c = { sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				  sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3), false };

		if (idmap_get(&r->threads, c.tid) &&
		    moments_touch(r->units, r->n_units, c.ts, c.end) &&
		    add_call(r, c, sqlite3_column_double(q, 4), e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	}
	ret = db_end(q, ret < 0 ? ret : 0);
	if (ret == 0 && r->n_calls)
		qsort(r->calls, r->n_calls, sizeof(*r->calls), by_call);
	return ret;
}

static int read_units(struct reading *r, const struct samples *d, struct err *e)
{
	size_t i, n = d->n + d->n_baseline;
	int ret = 0;

	r->units = calloc(n, sizeof(*r->units));
	if (!r->units)
		return err_set(e, ERR_FAIL, "out of memory for reads");
	for (i = 0; i < n && ret == 0; i++) {
		const struct unit *u = i < d->n ? &d->slow[i] : &d->baseline[i - d->n];

		r->units[i] = (struct moment){ u->ts, u->ts + u->dur };
		ret = idmap_put(&r->threads, u->tid, r, TASK_LIMIT, e);
	}
	r->n_units = moments_join(r->units, n);
	return ret;
}

/* What slow units have more of, in a mean unit. */
static double added_in(const struct reading *r, struct samples *d, bool reads)
{
	return within(r, d, false, reads) - within(r, d, true, reads);
}

int causes_reads(struct samples *d, double *part, struct err *e)
{
	double added = d->cmp->of[CATEGORY_cpu].value, cost = 0;
	struct reading r = { 0 };
	int ret;

	*part = 0;
	if (!(added > 0) || !d->n)
		return 0;
	ret = read_units(&r, d, e);
	if (ret == 0)
		ret = find_submits(&r, d->db, e);
	if (ret == 0 && r.n)
		ret = find_calls(&r, d->db, e);
	if (ret == 0 && r.numbers.n && r.n_calls < CALLS_MAX)
		cost = fmin(added_in(&r, d, true), added_in(&r, d, false));
	*part = fmin(1, fmax(0, cost) / added);
	free(r.units);
	free(r.submits);
	free(r.calls);
	idmap_free(&r.threads);
	idmap_free(&r.numbers);
	return ret;
}
