// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads of a runtime with green threads, as those of Go, serve any request: the one that read it
 * does not work on it, and waits on a futex, in poll or for a timer when it has no work. So the
 * thread of a pause is the one of its process that was for longest on a CPU, queued for one, or
 * waiting for a disk, the kernel or another server, if that was half of the pause or more: one scan
 * of the states of such processes.
 */
#include "pauses.h"

#include "analyze/base/idmap.h"

#include <stdlib.h>

#define THREADS_MOST (1u << 22)

/* Of one pause: the thread at hand, and the one with most time. */
struct work {
	s64 ns, most, tid;
};

static int by_process(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int on_green(void *arg, sqlite3_stmt *q, struct err *e)
{
	return idmap_put(arg, (u64)sqlite3_column_int64(q, 0), arg, THREADS_MOST, e);
}

static bool mark(struct pause *v, size_t n, const struct idmap *green)
{
	bool any = false;
	size_t i;

	for (i = 0; i < n; i++) {
		v[i].green = v[i].server && idmap_get(green, (u64)v[i].tid);
		v[i].latest = v[i].end;
		if (i && v[i - 1].pid == v[i].pid && v[i - 1].latest > v[i].end)
			v[i].latest = v[i - 1].latest;
		any |= v[i].green;
	}
	return any;
}

static void settle(struct work *w, size_t n, s64 tid)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (w[i].ns > w[i].most) {
			w[i].most = w[i].ns;
			w[i].tid = tid;
		}
		w[i].ns = 0;
	}
}

/* Rows are in the order of threads, then of time. Columns: tid, pid, ts, end. */
static int read_work(const struct pause *v, struct work *w, size_t n, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"WITH t AS MATERIALIZED (SELECT DISTINCT tid, pid FROM thread WHERE pid IN (SELECT pid FROM thread"
		" WHERE green)) SELECT s.tid, t.pid, s.ts, s.ts + s.dur FROM t JOIN thread_state s ON s.tid=t.tid"
		" WHERE s.dur > 0 AND s.state IN (state_id('run'), state_id('woken'), state_id('preempted'),"
		" state_id('disk'), state_id('blocked'), state_id('lock'), state_id('client'), state_id('stopped'))"
		" ORDER BY s.tid, s.ts";
	s64 tid = 0, pid, ts, end;
	sqlite3_stmt *q;
	size_t i, first = 0;
	int ret = db_query(&q, db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		if (sqlite3_column_int64(q, 0) != tid) {
			settle(w, n, tid);
			first = 0;
		}
		tid = sqlite3_column_int64(q, 0);
		pid = sqlite3_column_int64(q, 1);
		ts = sqlite3_column_int64(q, 2);
		end = sqlite3_column_int64(q, 3);
		while (first < n &&
		       (v[first].pid < pid || (v[first].pid == pid && v[first].latest <= ts)))
			first++;
		for (i = first; i < n && v[i].pid == pid && v[i].start < end; i++)
			w[i].ns += pause_within(&v[i], ts, end);
	}
	settle(w, n, tid);
	return db_end(q, ret);
}

int pauses_green(struct pause *v, size_t n, sqlite3 *db, struct err *e)
{
	struct idmap green = { 0 };
	struct work *w = NULL;
	size_t i;
	int ret =
		n ? db_each(db, e, on_green, &green, "SELECT tid FROM thread WHERE green", "") : 0;

	if (ret < 0 || !green.n)
		goto out;
	qsort(v, n, sizeof(*v), by_process);
	if (!mark(v, n, &green))
		goto out;
	w = calloc(n, sizeof(*w));
	ret = w ? read_work(v, w, n, db, e) : err_set(e, ERR_FAIL, "out of memory for pauses");
	for (i = 0; i < n && ret == 0; i++)
		if (v[i].green && 2 * w[i].most >= v[i].end - v[i].start)
			v[i].tid = w[i].tid;
out:
	idmap_free(&green);
	free(w);
	return ret < 0 ? ret : 0;
}
