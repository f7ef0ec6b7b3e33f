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

#define MOSTLY 0.5

/* A read that was handed to a disk. */
struct submit {
	u32 tid;
	s64 ts;
	double bytes;
};

struct call {
	u32 tid;
	s64 ts, end, nr;
	double returned;
};

struct calls {
	struct call *v; /* by thread and time */
	size_t n;
};

struct reading {
	struct moment *units; /* that are looked at, joined */
	size_t n_units;
	struct submit *submits;
	size_t n;
	struct idmap numbers;	     /* of calls that read */
	struct calls reads, of_kind; /* those calls; all of their numbers */
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

/* CPU time of a mean unit within these calls, which do not overlap in a thread. */
static double within(struct samples *d, bool baseline, const struct calls *calls)
{
	struct pieces p = { 0 };
	size_t i, low, high, mid;
	double ns = 0;

	samples_pieces(d, baseline, CATEGORY_cpu, &p);
	for (i = 0; i < p.n; i++) {
		const struct piece *x = &p.v[i];
		const struct call want = { .tid = x->tid, .ts = x->from }, *c;

		for (low = 0, high = calls->n; low < high;) {
			mid = low + (high - low) / 2;
			if (by_call(&calls->v[mid], &want) < 0)
				low = mid + 1;
			else
				high = mid;
		}
		low -= low && calls->v[low - 1].tid == x->tid; /* it may start before */
		for (c = calls->v + low;
		     c < calls->v + calls->n && c->tid == x->tid && c->ts < x->to; c++)
			ns += x->weight * fmax(0, (double)((x->to < c->end ? x->to : c->end) -
							   (x->from > c->ts ? x->from : c->ts)));
	}
	pieces_free(&p);
	return ns;
}

static int add_call(struct calls *calls, const struct call *c, struct err *e)
{
	if (GROW(calls->v, calls->n, "reads", e) < 0)
		return ERR_FAIL;
	calls->v[calls->n++] = *c;
	return 0;
}

/* first: the calls that read, and their numbers; then all of these numbers. */
static int each_call(struct reading *r, bool first, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT tid, ts, ts + dur, nr, ret FROM syscall WHERE ts BETWEEN ? AND ?";
	sqlite3_stmt *q;
	double read;
	int ret = db_query(&q, db, e, sql, "ii", r->units[0].from, r->units[r->n_units - 1].to);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct call c = { sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				  sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3),
				  sqlite3_column_double(q, 4) };

		if (!moments_touch(r->units, r->n_units, c.ts, c.end))
			continue;
		read = first ? read_in(r, &c) : 0;
		if (first ? read <= 0 || read < MOSTLY * c.returned
			  : !idmap_get(&r->numbers, (u64)c.nr))
			continue;
		if (add_call(first ? &r->reads : &r->of_kind, &c, e) < 0 ||
		    (first && idmap_put(&r->numbers, (u64)c.nr, r, TASK_LIMIT, e) < 0)) {
			ret = ERR_FAIL;
			break;
		}
	}
	return db_end(q, ret);
}

static int read_units(struct reading *r, const struct samples *d, struct err *e)
{
	size_t i, n = d->n + d->n_baseline;

	r->units = calloc(n, sizeof(*r->units));
	if (!r->units)
		return err_set(e, ERR_FAIL, "out of memory for reads");
	for (i = 0; i < n; i++) {
		const struct unit *u = i < d->n ? &d->slow[i] : &d->baseline[i - d->n];

		r->units[i] = (struct moment){ u->ts, u->ts + u->dur };
	}
	r->n_units = moments_join(r->units, n);
	return 0;
}

/* What slow units have more of, in a mean unit. */
static double added_in(struct samples *d, struct calls *calls)
{
	if (calls->n)
		qsort(calls->v, calls->n, sizeof(*calls->v), by_call);
	return within(d, false, calls) - within(d, true, calls);
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
		ret = each_call(&r, true, d->db, e);
	if (ret == 0 && r.reads.n)
		ret = each_call(&r, false, d->db, e);
	if (ret == 0 && r.of_kind.n)
		cost = fmin(added_in(d, &r.reads), added_in(d, &r.of_kind));
	*part = fmin(1, fmax(0, cost) / added);
	free(r.units);
	free(r.submits);
	free(r.reads.v);
	free(r.of_kind.v);
	idmap_free(&r.numbers);
	return ret;
}
