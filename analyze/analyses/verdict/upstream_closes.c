// SPDX-License-Identifier: GPL-2.0-or-later
#include "upstream_closes.h"

#include "analyze/store/columns/columns.h"
#include "analyze/store/row_types.h"

#include <stdlib.h>
#include <string.h>

#define CHANCE 0.1 /* of the recording: times so near to a close of a process */
#define TRIES  64  /* of closes that are near; more are none of one request */

/* The last exchange on a connection. */
struct upstream_use {
	s64 ts, end, tid;
};

static int take_use(void *arg, s64 rowid, const void *upstream, struct err *e)
{
	const struct row_upstream *row = upstream;
	struct upstream_closes *x = arg;
	const struct fd_row *at = fd_rows_at(x->upstreams, row->pid, row->fd, row->ts);
	s64 end = row->ts + row->dur;
	struct upstream_use *u = at ? &x->uses[at - x->upstreams->v] : NULL;

	(void)rowid;
	(void)e;
	if (u && row->ts <= at->end && end >= u->end)
		*u = (struct upstream_use){ row->ts, end, row->tid };
	return 0;
}

/* Keeps those of processes that close few. */
static void drop_many(struct upstream_closes *x, s64 duration)
{
	struct upstream_end *v = x->ends.v;
	size_t i, from, kept = 0;

	for (from = 0; from < x->ends.n; from = i) {
		for (i = from; i < x->ends.n && v[i].of == v[from].of; i++)
			;
		if ((double)(i - from) * 2 * (double)x->near > CHANCE * (double)duration)
			continue;
		memmove(v + kept, v + from, (i - from) * sizeof(*v));
		kept += i - from;
	}
	x->ends.n = kept;
}

int upstream_closes_read(struct upstream_closes *x, sqlite3 *db, const struct fd_rows *upstreams,
			 s64 near, s64 duration, struct err *e)
{
	size_t i;

	x->upstreams = upstreams;
	x->near = near;
	for (i = 0; i < upstreams->n; i++) {
		const struct fd_row *u = &upstreams->v[i];

		if (u->end != INT64_MAX && upstream_ends_add(&x->ends, u->pid, u->end, u, e) < 0)
			return ERR_FAIL;
	}
	upstream_ends_sort(&x->ends);
	drop_many(x, duration);
	if (!x->ends.n)
		return 0;
	x->uses = calloc(upstreams->n, sizeof(*x->uses));
	x->taken = calloc(upstreams->n, sizeof(*x->taken));
	if (!x->uses || !x->taken)
		return err_set(e, ERR_FAIL, "out of memory for the verdict");
	return rows_each(db, TABLE_upstream, COLUMNS_ALL, take_use, x, e);
}

const struct fd_row *upstream_closes_take(struct upstream_closes *x, s64 pid, s64 tid, s64 from,
					  s64 to, s64 closed)
{
	s64 least = closed - x->near > to ? closed - x->near : to;
	size_t i, k, n = upstream_ends_until(&x->ends, pid, closed + x->near), found = SIZE_MAX;

	for (i = 0; i < n && x->ends.v[n - 1 - i].of == pid && x->ends.v[n - 1 - i].ts >= least;
	     i++) {
		if (i == TRIES)
			return NULL;
		k = (size_t)(x->ends.v[n - 1 - i].at - x->upstreams->v);
		if (x->taken[k] || x->uses[k].tid != tid || x->uses[k].ts < from ||
		    x->uses[k].end > to)
			continue;
		/* later ones may be of a request next to it */
		if (found == SIZE_MAX || x->uses[k].ts < x->uses[found].ts)
			found = k;
	}
	if (found == SIZE_MAX)
		return NULL;
	x->taken[found] = true;
	return &x->upstreams->v[found];
}

void upstream_closes_free(struct upstream_closes *x)
{
	upstream_ends_free(&x->ends);
	free(x->uses);
	free(x->taken);
	*x = (struct upstream_closes){ 0 };
}
