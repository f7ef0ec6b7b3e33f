// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that fail since they do not get the lock of a file: calls that try to lock it fail in
 * half of the failed ones or more, and next to never in others, as SQLite's until its busy timeout.
 */
#include "verdict.h"

#include "analyze/analyses/waits/file_locks.h"
#include "analyze/store/request_rows.h"
#include "format/grow.h"

#include <stdlib.h>

#define MOST   0.5 /* of the failed requests */
#define HARDLY 0.1 /* of the others */

struct work {
	s64 tid, from, to;
	bool tried;
};

/* Requests by their thread and time: those that failed, and the others. */
struct tried {
	struct work *v[2];
	size_t n[2];
	double failed; /* also those whose calls are not known */
};

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct tried *t = arg;
	bool failed = row->errors > 0;
	s64 tid = row->receiver != BULK_NULL ? row->receiver : row->tid;

	(void)rowid;
	t->failed += failed;
	if (tid != row->tid)
		return 0; /* whose calls are whose is not known */
	if (GROW(t->v[failed], t->n[failed], "requests", e) < 0)
		return ERR_FAIL;
	t->v[failed][t->n[failed]++] = (struct work){ tid, row->ts, row->ts + row->dur, false };
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct work *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* The one of a thread that was open then; NULL: none. */
static struct work *work_at(struct work *v, size_t n, s64 tid, s64 ts)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (v[mid].tid < tid || (v[mid].tid == tid && v[mid].from <= ts))
			low = mid + 1;
		else
			high = mid;
	}
	return low && v[low - 1].tid == tid && v[low - 1].to >= ts ? &v[low - 1] : NULL;
}

static bool is_in_failed(const void *arg, s64 tid, s64 ts)
{
	const struct tried *t = arg;

	return work_at(t->v[1], t->n[1], tid, ts);
}

static void mark(const void *arg, s64 tid, s64 ts)
{
	const struct tried *t = arg;
	struct work *w;
	int i;

	for (i = 0; i < 2; i++) {
		w = work_at(t->v[i], t->n[i], tid, ts);
		if (w)
			w->tried = true;
	}
}

/* Of the failed requests, or of the others; NAN: there are none. */
static double share_of(const struct tried *t, int failed)
{
	double n = 0, of = failed ? t->failed : (double)t->n[0];
	size_t i;

	for (i = 0; i < t->n[failed]; i++)
		n += t->v[failed][i].tried;
	return of > 0 ? n / of : NAN;
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct tried *t,
	       const struct file_lock *l, struct err *e)
{
	const struct value values[] = {
		VALUE_TEXT("path", l->path.data),
		VALUE_MAYBE("holder", thread, l->holder),
		VALUE_NUMBER("held", l->holder ? 100 * l->held : NAN, "%"),
		VALUE_NUMBER("tries", l->tries, ""),
		VALUE_NUMBER("bad", 100 * share_of(t, 1), "%"),
		VALUE_NUMBER("good", 100 * share_of(t, 0), "%"),
		{ 0 },
	};
	const struct finding f = { FINDING_failing_lock,
				   PROBLEM,
				   OBSERVED,
				   j->about,
				   "SELECT * FROM file_lock_holder",
				   values,
				   j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_tried(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	struct tried t = { .n = { 0 } };
	const struct file_lock_ask ask = { is_in_failed, mark, &t };
	struct file_lock l = { .tries = 0 };
	int i, ret = requests_each(c->db,
				   COLUMN_OF(request, errors) | COLUMN_OF(request, tid) |
					   COLUMN_OF(request, receiver),
				   "SELECT id FROM service WHERE server=?1", j->about.id,
				   add_request, &t, e);

	for (i = 0; i < 2; i++)
		if (t.n[i])
			qsort(t.v[i], t.n[i], sizeof(*t.v[i]), by_thread);
	if (ret >= 0 && t.n[1])
		ret = file_lock_find(c->db, &ask, &l, e);
	if (ret >= 0 && l.path.len && l.tries > 0 && share_of(&t, 1) >= MOST &&
	    !(share_of(&t, 0) > HARDLY))
		ret = put(c, j, &t, &l, e);
	buf_free(&l.path);
	free(t.v[0]);
	free(t.v[1]);
	return ret < 0 ? ret : 0;
}
