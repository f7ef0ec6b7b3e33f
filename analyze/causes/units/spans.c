// SPDX-License-Identifier: GPL-2.0-or-later
/* Intervals of threads in memory, by thread and time. */
#include "spans.h"

#include "analyze/store/columns/columns.h"
#include "format/grow.h"
#include "format/linux_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 400000

static int by_from(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

size_t moments_join(struct moment *m, size_t n)
{
	size_t i, k = 0;

	if (!n)
		return 0;
	qsort(m, n, sizeof(*m), by_from);
	for (i = 1; i < n; i++) {
		if (m[i].from > m[k].to)
			m[++k] = m[i];
		else if (m[i].to > m[k].to)
			m[k].to = m[i].to;
	}
	return k + 1;
}

bool moments_touch(const struct moment *m, size_t n, s64 from, s64 to)
{
	size_t low = 0, high = n, mid;

	while (low < high) { /* the first that ends at or after from */
		mid = (low + high) / 2;
		if (m[mid].to < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && m[low].from <= to;
}

static s64 or_minus_one(s64 value)
{
	return value == BULK_NULL ? -1 : value;
}

static int by_thread(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

struct scan {
	struct spans *s;
	const struct moment *m;
	size_t n;
};

static int take_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct scan *scan = arg;
	struct spans *s = scan->s;
	struct span p = { .ts = row->ts, .dur = row->dur };

	(void)rowid;
	if (p.ts > scan->m[scan->n - 1].to || p.ts + p.dur < scan->m[0].from ||
	    !moments_touch(scan->m, scan->n, p.ts, p.ts + p.dur))
		return 0;
	s->cut = s->n == SPANS_MAX;
	if (s->cut)
		return 1;
	p.tid = row->tid;
	p.cpu = row->cpu == BULK_NULL ? 0 : row->cpu;
	p.state = (int)row->state % N_SPAN_STATES;
	p.nr = or_minus_one(row->nr);
	p.waker = row->waker == BULK_NULL ? 0 : row->waker;
	p.context = or_minus_one(row->context);
	p.object = or_minus_one(row->object);
	if (GROW(s->v, s->n, "intervals", e) < 0)
		return ERR_FAIL;
	s->v[s->n++] = p;
	return 0;
}

static int scan(struct spans *s, sqlite3 *db, const struct moment *m, size_t n, struct err *e)
{
	struct scan all = { s, m, n };
	int ret = rows_each(db, TABLE_thread_state, COLUMNS_ALL, take_state, &all, e);

	return ret < 0 ? ret : 0;
}

static bool is_wait(const struct span *p)
{
	return p->state != SPAN_run && p->state != SPAN_woken && p->state != SPAN_preempted &&
	       p->state != SPAN_unknown;
}

/* The wait before span i of which i, a wait too, is the continuation; SIZE_MAX: it is none. */
static size_t interrupted(const struct spans *s, size_t i)
{
	const struct span *p = &s->v[i];
	size_t k = i;
	s64 ran = 0;

	if (!is_wait(p) || p->object < 0)
		return SIZE_MAX;
	while (k > 0 && s->v[k - 1].tid == p->tid) {
		k--;
		if (s->v[k].state == SPAN_run)
			ran += s->v[k].dur;
		else if (s->v[k].state != SPAN_woken && s->v[k].state != SPAN_preempted)
			break;
		if (ran >= SPURIOUS_MOST)
			return SIZE_MAX;
	}
	return k < i && s->v[k].tid == p->tid && s->v[k].state == p->state &&
			       s->v[k].object == p->object
		       ? k
		       : SIZE_MAX;
}

/*
 * Joins waits that were interrupted in vain: a thread that is woken, runs less than SPURIOUS_MOST
 * and sleeps again for the same thing waited for its last waker.
 */
static void join(struct spans *s)
{
	size_t i, k;

	for (i = s->n; i-- > 0;) { /* the last one first: its waker is everybody's */
		k = interrupted(s, i);
		if (k == SIZE_MAX)
			continue;
		s->v[k].waker = s->v[i].waker;
		s->v[k].context = s->v[i].context;
	}
}

int spans_load(struct spans *s, sqlite3 *db, struct moment *list, size_t n, struct err *e)
{
	size_t i;
	int ret;

	*s = (struct spans){ 0 };
	n = moments_join(list, n);
	if (!n)
		return 0;
	ret = scan(s, db, list, n, e);
	if (ret == 0 && s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_thread);
	for (i = 0; i < s->n && ret == 0; i++)
		if (i == 0 || s->v[i].tid != s->v[i - 1].tid)
			ret = idmap_put(&s->first, s->v[i].tid, (void *)(uintptr_t)(i + 1),
					SPANS_MAX, e);
	if (ret == 0)
		join(s);
	return ret;
}

/* Was there an output in from..to? */
static bool has_output(const s64 *outs, size_t n, s64 from, s64 to)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (outs[mid] < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && outs[low] <= to;
}

void spans_join_chained(struct spans *s, u32 tid, s64 from, s64 to, const s64 *outs, size_t n)
{
	struct span *p = (struct span *)spans_at(s, tid, from), *wait = NULL, *chain[64];
	int i, k = 0;

	for (; p && p->ts < to; p = (struct span *)spans_next(s, p)) {
		if (!is_wait(p))
			continue;
		if (!wait || wait->state != p->state || wait->object != p->object || k == 64 ||
		    has_output(outs, n, wait->ts + wait->dur, p->ts))
			k = 0;
		wait = p;
		chain[k++] = p;
		for (i = 0; i < k - 1; i++) {
			chain[i]->waker = p->waker;
			chain[i]->context = p->context;
		}
	}
}

void pieces_add(struct pieces *p, const struct piece *piece)
{
	struct piece *grown;
	size_t cap;

	if (p->n == p->cap) {
		cap = p->cap ? 2 * p->cap : 256;
		grown = cap <= PIECES_MAX ? realloc(p->v, cap * sizeof(*grown)) : NULL;
		if (!grown) {
			p->cut = true;
			return;
		}
		p->v = grown;
		p->cap = cap;
	}
	p->v[p->n++] = *piece;
}

void pieces_free(struct pieces *p)
{
	free(p->v);
	*p = (struct pieces){ 0 };
}

const struct span *spans_at(const struct spans *s, u32 tid, s64 ts)
{
	size_t first = (uintptr_t)idmap_get(&s->first, tid), low, high, mid;

	if (!first)
		return NULL;
	low = first - 1;
	high = s->n;
	while (low < high) {
		mid = (low + high) / 2;
		if (s->v[mid].tid == tid && s->v[mid].ts + s->v[mid].dur <= ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->n && s->v[low].tid == tid ? &s->v[low] : NULL;
}

const struct span *spans_next(const struct spans *s, const struct span *p)
{
	const struct span *next = p + 1;

	return next < s->v + s->n && next->tid == p->tid ? next : NULL;
}

s64 span_within(const struct span *p, s64 from, s64 to)
{
	s64 begin = p->ts > from ? p->ts : from;
	s64 end = p->ts + p->dur < to ? p->ts + p->dur : to;

	return end > begin ? end - begin : 0;
}

void spans_free(struct spans *s)
{
	free(s->v);
	idmap_free(&s->first);
	*s = (struct spans){ 0 };
}

static bool kernel_name(const char *comm)
{
	static const char *const names[] = { "kworker/", "ksoftirqd/", "kswapd",  "jbd2/",
					     "rcu_",	 "migration/", "kblockd", "kcompactd" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(comm, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

int names_load(struct names *names, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT t.tid, t.pid, t.comm, max(coalesce(nullif(p.comm,''),t.comm)),"
		" max(p.parent), t.wall IS NOT NULL, max(p.cgroup) FROM thread t LEFT JOIN process p USING(pid)"
		" GROUP BY t.tid LIMIT ?";
	sqlite3_stmt *q;
	size_t i;
	int ret = db_query(&q, db, e, sql, "i", (s64)THREADS_MAX);

	*names = (struct names){ 0 };
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		struct who w = { .tid = sqlite3_column_int64(q, 0),
				 .pid = sqlite3_column_int64(q, 1),
				 .recorded = sqlite3_column_int(q, 5) };

		snprintf(w.comm, sizeof(w.comm), "%s", (const char *)sqlite3_column_text(q, 2));
		if (sqlite3_column_text(q, 3))
			snprintf(w.process, sizeof(w.process), "%s",
				 (const char *)sqlite3_column_text(q, 3));
		w.parent = sqlite3_column_int64(q, 4);
		w.cgroup = sqlite3_column_int64(q, 6);
		w.kernel = sqlite3_column_int64(q, 4) == LINUX_KTHREADD ||
			   w.pid == LINUX_KTHREADD || kernel_name(w.comm);
		ret = GROW(names->v, names->n, "names", e);
		if (ret < 0)
			break;
		names->v[names->n++] = w;
	}
	sqlite3_finalize(q);
	for (i = 0; i < names->n && ret >= 0; i++)
		ret = idmap_put(&names->by_tid, names->v[i].tid, &names->v[i], THREADS_MAX, e);
	return ret < 0 ? ret : 0;
}

struct who names_of(const struct names *names, u32 tid)
{
	const struct who *w = idmap_get(&names->by_tid, tid);

	return w ? *w : (struct who){ .tid = tid, .pid = tid, .comm = "?", .process = "?" };
}

void names_free(struct names *names)
{
	free(names->v);
	idmap_free(&names->by_tid);
	*names = (struct names){ 0 };
}
