// SPDX-License-Identifier: GPL-2.0-or-later
/* Holders of the locks that threads of the examples waited for. */
#include "samples_held.h"

#include "chain.h"
#include "format/grow.h"

#include <stdlib.h>

#define EARLIER 100000000 /* ns before the examples: waits of earlier start */

static int by_thread(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

int samples_read_held(struct samples *d, struct moment around, struct err *e)
{
	static const char sql[] =
		"SELECT ts, futex, tid, holder FROM futex_holder WHERE ts BETWEEN ?"
		" AND ? AND holder > 0";
	sqlite3_stmt *q;
	int ret = db_query(&q, d->db, e, sql, "ii", around.from - EARLIER, around.to);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0 && d->n_held < HELD_MAX) {
		ret = GROW(d->held, d->n_held, "locks", e);
		if (ret < 0)
			break;
		d->held[d->n_held++] =
			(struct held){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				       sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3) };
	}
	sqlite3_finalize(q);
	if (ret >= 0 && d->n_held)
		qsort(d->held, d->n_held, sizeof(*d->held), by_thread);
	return ret < 0 ? ret : 0;
}

u32 samples_holder(const struct samples *d, const struct span *wait)
{
	/* of a wait that was there before the recording it was read later than that began */
	const struct held key = { .tid = wait->tid, .ts = wait->ts + wait->dur };
	size_t low = 0, high = d->n_held, mid;
	const struct span *p = wait; /* futex(2) was called after the wait before */
	const struct held *last;

	while (p > d->spans.v && p[-1].tid == p->tid && !span_is_wait(p[-1].state))
		p--;
	while (low < high) {
		mid = (low + high) / 2;
		if (by_thread(&d->held[mid], &key) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	last = low ? &d->held[low - 1] : NULL;
	return last && last->tid == wait->tid && last->futex == wait->object && last->ts >= p->ts
		       ? last->holder
		       : 0;
}
