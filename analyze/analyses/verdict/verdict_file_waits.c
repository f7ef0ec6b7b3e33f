// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Some requests wait for the lock of a file, next to many that do not: no level of latency and no
 * pause shows them. One alone happens on a healthy server; where half of the requests of a name
 * wait, it is how they are. Waits in a pause of the server are said with the pause.
 */
#include "verdict_stuck.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"
#include "analyze/store/state.h"
#include "format/grow.h"

#include <stdlib.h>

#define MOSTLY 0.5 /* of the time of a request */

/* A request that waited. */
struct waited {
	struct stuck wait;
	double latency;
	s64 name;
};

/* Requests of a name: all, those that waited, and those of them that count; ns. */
struct name_waits {
	double n, latency, waits, waited, counted;
};

struct file_waits {
	struct stuck *v; /* sleeps for locks of files, by thread, then by time */
	size_t n;
	struct waited *requests;
	size_t n_requests;
	struct idmap names; /* request_name.id + 1 -> struct name_waits */
	const struct judged *j;
};

static int on_state(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct file_waits *x = arg;

	if (GROW(x->v, x->n, "waits for locks of files", e) < 0)
		return ERR_FAIL;
	x->v[x->n++] = (struct stuck){
		.tid = sqlite3_column_int64(q, 0),
		.ts = sqlite3_column_int64(q, 1),
		.till = sqlite3_column_int64(q, 2),
		.waker = sqlite3_column_int64(q, 3),
		.state = STATE_lock,
		.fd = -1,
	};
	return 0;
}

/* The longest wait of the thread in this time; NULL: none. */
static const struct stuck *longest_in(const struct file_waits *x, s64 tid, s64 from, s64 to)
{
	const struct stuck *longest = NULL;
	size_t low = 0, high = x->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (x->v[mid].tid < tid || (x->v[mid].tid == tid && x->v[mid].ts < from))
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < x->n && x->v[low].tid == tid && x->v[low].till <= to; low++)
		if (!longest || x->v[low].till - x->v[low].ts > longest->till - longest->ts)
			longest = &x->v[low];
	return longest;
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct file_waits *x = arg;
	s64 name = row->name > 0 ? row->name : 0, end = row->ts + row->dur;
	double latency = (double)(row->dur + row->queued);
	struct name_waits *n = idmap_get(&x->names, (u64)name + 1);
	const struct stuck *w;

	(void)rowid;
	if (!n)
		n = idmap_add(&x->names, (u64)name + 1, sizeof(*n), TASK_LIMIT, "names", e);
	if (!n)
		return ERR_FAIL;
	n->n++;
	n->latency += latency;
	w = longest_in(x, row->tid, row->ts, end);
	if (!w || (double)(w->till - w->ts) < MOSTLY * (double)row->dur ||
	    verdict_in_pause(x->j, (double)(row->ts - row->queued), (double)end))
		return 0;
	n->waits++;
	n->waited += latency;
	if (GROW(x->requests, x->n_requests, "waits for locks of files", e) < 0)
		return ERR_FAIL;
	x->requests[x->n_requests] = (struct waited){ *w, latency, name };
	x->requests[x->n_requests++].wait.since = row->ts - row->queued;
	return 0;
}

/* Those that count, of names of which most do not wait so. */
static void choose(struct stucks *s, struct file_waits *x, const struct limits *l)
{
	struct name_waits *n;
	double usual;
	size_t i, at = 0;

	for (i = 0; i < x->n_requests; i++) {
		const struct waited *w = &x->requests[i];

		n = idmap_get(&x->names, (u64)w->name + 1);
		if (2 * n->waits >= n->n)
			continue;
		usual = (n->latency - n->waited) / (n->n - n->waits);
		if (w->latency < l->factor * usual || w->latency < l->latency + usual)
			continue;
		n->counted++;
		stuck_add(s, &w->wait);
		if (s->n < STUCKS_MOST)
			s->v[s->n++] = w->wait;
	}
	while ((n = idmap_each(&x->names, &at)))
		s->of += n->counted > 0 ? n->n : 0;
	/* a few short ones are no problem */
	if (s->requests < 2 || (s->max < EDGE_LEAST && s->requests < LATE_MORE * s->of))
		*s = (struct stucks){ .v = s->v, .start = INFINITY };
}

int file_waits_read(struct stucks *s, struct analysis_ctx *c, const struct judged *j,
		    const struct limits *l, struct err *e)
{
	struct file_waits x = { .j = j };
	int ret = stuck_states(c->db, l, e);

	if (ret == 0)
		ret = db_each(
			c->db, e, on_state, &x,
			"SELECT tid, ts, till, waker FROM stuck_state WHERE state=state_id('lock') ORDER BY tid,"
			" ts",
			"");
	if (ret == 0 && x.n)
		ret = requests_each(c->db, COLUMN_OF(request, tid),
				    "SELECT id FROM service WHERE server=?1", j->about.id,
				    on_request, &x, e);
	if (ret >= 0 && x.n)
		choose(s, &x, l);
	idmap_free_all(&x.names);
	free(x.v);
	free(x.requests);
	return ret < 0 ? ret : 0;
}
