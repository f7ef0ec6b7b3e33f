// SPDX-License-Identifier: GPL-2.0-or-later
/* Up to 4 examples of each of 128 blocks of time, and what was around them. */
#include "samples.h"

#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "format/grow.h"
#include "samples_held.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t take_examples(struct unit *to, size_t n, const struct unit *from)
{
	int i;

	for (i = 0; i < UNIT_SAMPLES; i++)
		if (from[i].tid && from[i].dur > 0)
			to[n++] = from[i];
	return n;
}

static void choose_examples(struct samples *d)
{
	const struct comparison *c = d->cmp;
	int b;

	for (b = 0; b < UNIT_BLOCKS; b++) {
		const struct unit_block *k = &d->u->blocks[b];

		if (c->basis == BASIS_TAIL) {
			d->n = take_examples(d->slow, d->n, k->slow);
			d->n_baseline = take_examples(d->baseline, d->n_baseline, k->calm);
		} else if (c->basis == BASIS_ALL || c->is_slow[b]) {
			d->n = take_examples(d->slow, d->n, k->usual);
		} else if (c->is_usual[b]) {
			d->n_baseline = take_examples(d->baseline, d->n_baseline, k->usual);
		}
	}
}

/* Every step-th of the examples stays, and becomes a moment to look at. */
static size_t thin(struct unit *u, size_t *n, size_t step, struct moment *to)
{
	size_t i, k;

	for (k = 0, i = 0; i < *n; i += step, k++) {
		u[k] = u[i];
		to[k] = (struct moment){ u[k].ts, u[k].ts + u[k].dur };
	}
	*n = k;
	return k;
}

/* ---- the processes of the units ---- */

u32 samples_own(const struct samples *d)
{
	return d->n ? names_of(&d->names, d->slow[0].tid).pid : 0;
}

bool samples_is_own(const struct samples *d, s64 pid)
{
	return pid > 0 && (pid == samples_own(d) || idmap_get(&d->own, pid));
}

int samples_green(const struct samples *d, struct buf *to, struct err *e)
{
	if (d->u->kind != UNIT_REQUEST)
		return 0;
	return db_add_text(to, d->db, e,
			   "SELECT green FROM process WHERE pid=?1 AND green<>'' LIMIT 1", "i",
			   (s64)samples_own(d));
}

static int read_own(struct samples *d, struct err *e)
{
	sqlite3_stmt *q;
	int ret;

	if (d->u->kind != UNIT_REQUEST)
		return 0;
	ret = db_query(&q, d->db, e, "SELECT pid FROM " ANSWERING_PROCESSES " WHERE leader=?", "i",
		       d->u->key);
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (idmap_put(&d->own, sqlite3_column_int64(q, 0), d, TASK_LIMIT, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	return db_end(q, ret);
}

/* ---- the requests that their threads served ---- */

static int by_thread(const void *a, const void *b)
{
	const struct served *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

struct serving {
	struct samples *d;
	const struct moment *m;
	size_t n;
	const struct idmap *tids;
};

static int take_served(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct serving *a = arg;
	struct served s = { rowid, row->ts, row->ts + row->dur, row->tid, row->client };

	if (a->d->n_served >= SERVED_MAX)
		return 1;
	if (s.ts > a->m[a->n - 1].to || s.end < a->m[0].from || !idmap_get(a->tids, s.tid) ||
	    !moments_touch(a->m, a->n, s.ts, s.end))
		return 0;
	if (GROW(a->d->served, a->d->n_served, "requests", e) < 0)
		return ERR_FAIL;
	a->d->served[a->d->n_served++] = s;
	return 0;
}

/* m: moments of the examples, joined; tids: their threads. */
static int read_served(struct samples *d, const struct moment *m, size_t n,
		       const struct idmap *tids, struct err *e)
{
	struct serving a = { d, m, n, tids };
	int ret = rows_each(d->db, TABLE_request,
			    COLUMN_OF(request, ts) | COLUMN_OF(request, dur) |
				    COLUMN_OF(request, tid) | COLUMN_OF(request, client),
			    take_served, &a, e);

	if (ret >= 0 && d->n_served)
		qsort(d->served, d->n_served, sizeof(*d->served), by_thread);
	return ret < 0 ? ret : 0;
}

/* ---- waits in several sleeps ---- */

/* When a thread put something out. */
struct out {
	u32 tid;
	s64 ts;
};

struct outs {
	struct out *v;
	size_t n;
};

static int by_time(const void *a, const void *b)
{
	const struct out *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

static int add_out(struct outs *o, u32 tid, s64 ts, struct err *e)
{
	if (GROW(o->v, o->n, "wakeups", e) < 0)
		return ERR_FAIL;
	o->v[o->n++] = (struct out){ tid, ts };
	return 0;
}

/* Wakeups, answers and requests to upstreams: by threads of the examples. */
static int read_outs(struct samples *d, struct outs *o, const struct moment *m, size_t n,
		     const struct idmap *tids, struct err *e)
{
	sqlite3_stmt *q;
	size_t i;
	int ret = 0;

	for (i = 0; i < d->spans.n && ret == 0; i++) {
		const struct span *p = &d->spans.v[i];

		if (p->waker && p->context == CONTEXT_TASK && idmap_get(tids, p->waker))
			ret = add_out(o, p->waker, p->ts + p->dur, e);
	}
	for (i = 0; i < d->n_served && ret == 0; i++)
		ret = add_out(o, d->served[i].tid, d->served[i].end, e);
	if (ret == 0)
		ret = db_query(&q, d->db, e,
			       "SELECT ts, tid FROM upstream WHERE ts BETWEEN ? AND ?", "ii",
			       m[0].from, m[n - 1].to);
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (idmap_get(tids, sqlite3_column_int64(q, 1)) &&
		    add_out(o, sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 0), e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(q);
	if (ret >= 0 && o->n)
		qsort(o->v, o->n, sizeof(*o->v), by_time);
	return ret < 0 ? ret : 0;
}

/* Within one request, sleeps without output between them are one wait. */
static void join_in(struct samples *d, const struct outs *o, const struct unit *u, s64 *times)
{
	struct out first = { u->tid, u->ts };
	size_t low = 0, high = o->n, mid, k = 0;

	while (low < high) {
		mid = (low + high) / 2;
		if (by_time(&o->v[mid], &first) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < o->n && o->v[low].tid == u->tid && o->v[low].ts <= u->ts + u->dur; low++)
		times[k++] = o->v[low].ts;
	/* before the receive the thread waits for any request */
	spans_join_chained(&d->spans, u->tid, u->ts + u->queued, unit_sent(u), times, k);
}

static int join_waits(struct samples *d, const struct moment *m, size_t n, const struct idmap *tids,
		      struct err *e)
{
	struct outs o = { 0 };
	s64 *times = NULL;
	size_t i;
	int ret = read_outs(d, &o, m, n, tids, e);

	if (ret == 0)
		times = calloc(o.n + 1, sizeof(*times));
	if (ret == 0 && !times)
		ret = err_set(e, ERR_FAIL, "out of memory for wakeups");
	for (i = 0; i < d->n && ret == 0; i++)
		join_in(d, &o, &d->slow[i], times);
	for (i = 0; i < d->n_baseline && ret == 0; i++)
		join_in(d, &o, &d->baseline[i], times);
	free(o.v);
	free(times);
	return ret;
}

static int read_requests(struct samples *d, struct moment *m, struct err *e)
{
	struct idmap tids = { 0 };
	size_t i, n = 0;
	int ret = 0;

	if (d->u->kind == UNIT_WINDOW)
		return 0;
	for (i = 0; i < d->n + d->n_baseline && ret == 0; i++) {
		const struct unit *u = i < d->n ? &d->slow[i] : &d->baseline[i - d->n];

		m[i] = (struct moment){ u->ts, u->ts + u->dur };
		ret = idmap_put(&tids, u->tid, d, TASK_LIMIT, e);
	}
	n = moments_join(m, i);
	if (ret == 0 && n)
		ret = read_served(d, m, n, &tids, e);
	if (ret == 0 && n)
		ret = join_waits(d, m, n, &tids, e);
	idmap_free(&tids);
	return ret;
}

/* ---- all of it ---- */

int samples_open(struct samples *d, sqlite3 *db, const struct units *u,
		 const struct comparison *cmp, struct err *e)
{
	struct moment *moments;
	s64 filtered = 0;
	size_t k, step = 1;
	int ret = 0;

	*d = (struct samples){ .db = db, .u = u, .cmp = cmp };
	choose_examples(d);
	moments = calloc(2 * SAMPLED_MAX, sizeof(*moments));
	if (!moments)
		return err_set(e, ERR_FAIL, "out of memory for examples");
	do { /* if there are too many intervals around all of them, take fewer units */
		k = thin(d->slow, &d->n, step, moments);
		k += thin(d->baseline, &d->n_baseline, step, moments + k);
		step = 4;
		spans_free(&d->spans);
		ret = spans_load(&d->spans, db, moments, k, e);
	} while (ret == 0 && d->spans.cut && d->n > 1);
	if (ret == 0)
		ret = read_requests(d, moments, e);
	free(moments);
	if (ret == 0)
		ret = names_load(&d->names, db, e);
	if (ret == 0)
		ret = db_int(db, &filtered, e,
			     "SELECT count(*) FROM recording WHERE key='targets' AND value<>'all'",
			     "");
	d->everything = !filtered;
	if (ret == 0 && d->n)
		ret = samples_read_held(d, samples_around(d), e);
	return ret < 0 ? ret : read_own(d, e);
}

void samples_close(struct samples *d)
{
	spans_free(&d->spans);
	names_free(&d->names);
	idmap_free(&d->own);
	free(d->served);
	free(d->held);
}

void samples_each(struct samples *d, bool baseline, enum category category, each_fn fn, void *arg)
{
	const struct unit *units = baseline ? d->baseline : d->slow;
	size_t i, n = baseline ? d->n_baseline : d->n;
	const struct span *p;
	s64 ns;

	for (i = 0; i < n; i++) {
		const struct unit *u = &units[i];

		for (p = spans_at(&d->spans, u->tid, u->ts); p && p->ts < unit_sent(u);
		     p = spans_next(&d->spans, p)) {
			ns = span_within(p, u->ts, unit_sent(u));
			if (ns > 0 && category_of(p->state) == category)
				fn(arg, u, p, ns);
		}
	}
}

struct gathering {
	struct samples *d;
	struct pieces *to;
	bool baseline;
};

static void on_piece(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	struct gathering *g = arg;
	s64 from = p->ts > u->ts ? p->ts : u->ts;

	pieces_add(g->to, &(struct piece){ .tid = p->tid,
					   .state = p->state,
					   .object = p->object,
					   .from = from,
					   .to = from + ns,
					   .weight = samples_weight(g->d, u, g->baseline) });
}

void samples_pieces(struct samples *d, bool baseline, enum category category, struct pieces *to)
{
	struct gathering g = { d, to, baseline };

	samples_each(d, baseline, category, on_piece, &g);
}

double samples_weight(const struct samples *d, const struct unit *u, bool baseline)
{
	double n = baseline ? d->n_baseline : d->n;

	if (d->cmp->basis == BASIS_TAIL)
		return 1 / n;
	return (baseline ? d->cmp->usual : d->cmp->slow) / n / u->dur;
}

struct moment samples_around(const struct samples *d)
{
	struct moment m = { INT64_MAX, 0 };
	size_t i;

	for (i = 0; i < d->n; i++) {
		s64 end = d->slow[i].ts + d->slow[i].dur;

		m.from = d->slow[i].ts < m.from ? d->slow[i].ts : m.from;
		m.to = end > m.to ? end : m.to;
	}
	return m;
}

int samples_quota(const struct samples *d, struct quota *ret, struct err *e)
{
	struct moment around = samples_around(d);
	s64 own = samples_own(d);

	return quota_read(ret, d->db, own, d->u->kind == UNIT_REQUEST ? d->u->key : own,
			  around.from, around.to, e);
}

int samples_call(struct samples *d, s32 nr, char *text, size_t size, struct err *e)
{
	sqlite3_stmt *q;
	int ret;

	text[0] = '\0';
	if (nr < 0)
		return 0;
	ret = db_query(&q, d->db, e, "SELECT name FROM syscall_name WHERE nr=? LIMIT 1", "i",
		       (s64)nr);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		snprintf(text, size, "%s", sqlite3_column_text(q, 0));
	return db_end(q, ret);
}
