// SPDX-License-Identifier: GPL-2.0-or-later
#include "sides.h"

#include "analyze/store/row_types.h"
#include "format/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 1000000

struct reading {
	struct sides *s;
	const struct samples *d;
	bool waits;
	enum category category;
	enum side_part part;
};

int sides_any(sqlite3 *db, bool *ret_any, struct err *e)
{
	s64 any = 0;
	int ret =
		db_int(db, &any, e,
		       "SELECT EXISTS (SELECT 1 FROM sample) OR EXISTS (SELECT 1 FROM offcpu)", "");

	*ret_any = any;
	return ret;
}

int sides_block(const struct samples *d, s64 ts)
{
	s64 at = d->u->block > 0 ? ts / d->u->block : 0;

	return at < 0 ? 0 : at >= UNIT_BLOCKS ? UNIT_BLOCKS - 1 : (int)at;
}

/* ---- events ---- */

static bool is_input(enum category c)
{
	return c == CATEGORY_poll || c == CATEGORY_server || c == CATEGORY_unknown ||
	       c == CATEGORY_runq;
}

static int take_event(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct reading *r = arg;
	struct sides *s = r->s;
	s64 state = sqlite3_column_int64(q, 5);
	enum category c =
		state >= 0 && state < N_SPAN_STATES ? category_of((int)state) : CATEGORY_unknown;

	if (r->waits && (r->category == N_CATEGORIES ? is_input(c) : c != r->category))
		return 0;
	if (GROW(s->v, s->n, "samples", e) < 0)
		return ERR_FAIL;
	s->v[s->n++] = (struct side_event){ .tid = (u32)sqlite3_column_int64(q, 0),
					    .ts = sqlite3_column_int64(q, 1),
					    .user = sqlite3_column_int64(q, 2),
					    .kernel = sqlite3_column_int64(q, 3),
					    .ns = sqlite3_column_double(q, 4) };
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct side_event *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* ---- units ---- */

/* The first event of the thread that is not before ts. */
static size_t first_of(const struct sides *s, u32 tid, s64 ts)
{
	const struct side_event key = { .tid = tid, .ts = ts };
	size_t low = 0, high = s->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (by_thread(&s->v[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Differences, summed up by count_up. */
static void mark(struct sides *s, u32 tid, s64 from, s64 to, bool slow)
{
	size_t i = first_of(s, tid, from), k = first_of(s, tid, to);

	if (i >= k)
		return;
	*(slow ? &s->v[i].slow : &s->v[i].baseline) += 1;
	if (k < s->n)
		*(slow ? &s->v[k].slow : &s->v[k].baseline) -= 1;
}

static void count_up(struct sides *s)
{
	size_t i;

	for (i = 1; i < s->n; i++) {
		s->v[i].slow += s->v[i - 1].slow;
		s->v[i].baseline += s->v[i - 1].baseline;
	}
}

enum side sides_of(const struct samples *d, s64 ts, s64 dur)
{
	const struct comparison *c = d->cmp;
	int b = sides_block(d, ts);

	if (d->u->too_long > 0 && dur >= d->u->too_long)
		return SIDE_NEITHER;
	switch (c->basis) {
	case BASIS_TAIL:
		return dur >= d->u->slow		      ? SIDE_SLOW
		       : dur >= d->u->p25 && dur <= d->u->p75 ? SIDE_BASELINE
							      : SIDE_NEITHER;
	case BASIS_ALL:
		return SIDE_SLOW;
	default:
		return c->is_slow[b] ? SIDE_SLOW : c->is_usual[b] ? SIDE_BASELINE : SIDE_NEITHER;
	}
}

static int take_unit(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct reading *r = arg;
	s64 from = sqlite3_column_int64(q, 0), to = from + sqlite3_column_int64(q, 1), middle;
	enum side side = sides_of(r->d, from, to - from);
	int b = sides_block(r->d, from);

	(void)e;
	if (side < 0 ||
	    (r->d->u->kind == UNIT_REQUEST && !samples_is_own(r->d, sqlite3_column_int64(q, 4))))
		return 0;
	middle = from + sqlite3_column_int64(q, 3);
	(side ? r->s->n_slow : r->s->n_baseline)[b]++;
	mark(r->s, (u32)sqlite3_column_int64(q, 2), r->part == PART_SERVED ? middle : from,
	     r->part == PART_QUEUED ? middle : to, side);
	return 0;
}

static void take_windows(struct reading *r)
{
	const struct units *u = r->d->u;
	u32 tid = units_thread_of(u);
	int b, side;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		side = u->blocks[b].all.n > 0 ? sides_of(r->d, b * u->block, u->block)
					      : SIDE_NEITHER;
		if (side < 0)
			continue;
		(side ? r->s->n_slow : r->s->n_baseline)[b]++;
		mark(r->s, tid, b * u->block, (b + 1) * u->block, side);
	}
}

static int read_units(struct reading *r, struct err *e)
{
	static const char calls[] =
		"SELECT ts, dur, tid, 0, 0 FROM call WHERE site=? AND run IS NOT NULL AND NOT lossy";
	static const char requests[] =
		"SELECT ts - queued, dur + queued, tid, queued, pid FROM request WHERE split AND NOT"
		" lossy AND NOT paced";

	switch (r->d->u->kind) {
	case UNIT_CALL:
		return db_each(r->d->db, e, take_unit, r, calls, "i", r->d->u->key);
	case UNIT_REQUEST:
		return db_each(r->d->db, e, take_unit, r, requests, "");
	default:
		take_windows(r);
		return 0;
	}
}

int sides_read(struct sides *s, const struct samples *d, bool waits, enum category category,
	       enum side_part part, struct err *e)
{
	static const char samples[] =
		"SELECT tid, ts, user_stack, iif(context=0, kernel_stack, 0), weight, 0 FROM sample"
		" LIMIT ?";
	static const char offcpu[] =
		"SELECT tid, ts, user_stack, kernel_stack, weight, coalesce(state, -1)"
		" FROM offcpu LIMIT ?";
	struct reading r = { s, d, waits, category, part };
	int ret;

	*s = (struct sides){ 0 };
	ret = db_each(d->db, e, take_event, &r, waits ? offcpu : samples, "i", (s64)EVENTS_MAX);
	if (ret < 0 || !s->n)
		return ret;
	qsort(s->v, s->n, sizeof(*s->v), by_thread);
	ret = read_units(&r, e);
	if (ret == 0)
		count_up(s);
	return ret;
}

void sides_free(struct sides *s)
{
	free(s->v);
}

/* ---- rows ---- */

double sides_sum(const double *v)
{
	double all = 0;
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++)
		all += v[b];
	return all;
}

static int by_stack(const void *a, const void *b)
{
	const struct side_event *x = a, *y = b;

	if (x->user != y->user)
		return x->user < y->user ? -1 : 1;
	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

static int put_sides(struct sides *s, const struct samples *d, bool wait, struct err *e)
{
	double slow = fmax(sides_sum(s->n_slow), 1), baseline = fmax(sides_sum(s->n_baseline), 1);
	struct row_stack_side row = { .subject_kind = subject_names[d->u->of.kind],
				      .subject = d->u->of.id,
				      .wait = wait };
	size_t i;
	int ret = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_stack);
	for (i = 0; i < s->n && ret == 0; i++) {
		const struct side_event *ev = &s->v[i];

		row.slow += ev->ns * ev->slow / slow;
		row.baseline += ev->ns * ev->baseline / baseline;
		row.n += ev->slow > 0 || ev->baseline > 0;
		if (i + 1 < s->n && by_stack(ev, ev + 1) == 0)
			continue;
		row.user_stack = ev->user;
		row.kernel_stack = ev->kernel;
		if (row.n)
			ret = put_row_of(d->db, TABLE_stack_side, e, &row);
		row.slow = row.baseline = 0;
		row.n = 0;
	}
	return ret;
}

int sides_put(const struct samples *d, struct err *e)
{
	struct sides s;
	bool any;
	int k, ret = sides_any(d->db, &any, e);

	for (k = 0; k < 2 && any && ret == 0; k++) {
		ret = sides_read(&s, d, k, N_CATEGORIES, PART_ALL, e);
		if (ret == 0)
			ret = put_sides(&s, d, k, e);
		sides_free(&s);
	}
	return ret;
}
