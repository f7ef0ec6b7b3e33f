// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Idle shares of services. With k CPUs and a threads active (running or runnable) the busy share of
 * an instant is min(a, k) / k. The time of each thread in a window bounds its integral: all
 * threads together from above, the k busiest from below. Where these differ, the instants are
 * walked through.
 */
#include "idle.h"

#include <math.h>
#include <stdlib.h>

#define WINDOWS_LEAST 8
#define REPS	      1000
#define EXACT	      0.005 /* of a window's CPU time */

#define PIDS	"(SELECT ?1 UNION SELECT pid FROM service WHERE server=?2 AND requests > 0)"
#define THREADS "(SELECT tid FROM thread WHERE pid IN " PIDS ")"

struct walk {
	const struct grid *g;
	double k, *low, *high; /* bounds of the busy CPU time by window, ns */
	s64 window, last;
	int rank, active;
};

/* Threads of a window, the busiest first. */
static int add_thread(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct walk *w = arg;
	s64 at = sqlite3_column_int64(q, 0);
	double time = sqlite3_column_double(q, 1);

	(void)e;
	if (at < 0 || (size_t)at >= w->g->n)
		return 0;
	w->rank = at == w->window ? w->rank + 1 : 1;
	w->window = at;
	w->high[at] += time;
	if (w->rank <= w->k)
		w->low[at] += time;
	return 0;
}

/* The time since the last change of the number of active threads, by window. */
static int add_edge(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct walk *w = arg;
	s64 at = sqlite3_column_int64(q, 0), step = w->g->step, from = w->last, to;

	(void)e;
	while (from < at && from >= 0 && (size_t)(from / step) < w->g->n) {
		to = (from / step + 1) * step < at ? (from / step + 1) * step : at;
		w->low[from / step] += fmin(w->active, w->k) * (double)(to - from);
		from = to;
	}
	w->active += sqlite3_column_int(q, 1);
	w->last = at;
	return 0;
}

static int number(sqlite3 *db, double *ret, struct err *e, const char *sql, s64 pid, s64 server)
{
	s64 v = 0;
	int r = db_int(db, &v, e, sql, "ii", pid, server);

	*ret = (double)v;
	return r;
}

/* Threads that move bytes of clients, CPUs that its threads ran on, and a quota's worth of CPUs. */
static int read_cpus(sqlite3 *db, s64 pid, s64 server, double *ret_cpus, struct err *e)
{
	double serving = 0, ran = 0, milli = 0;
	int ret = number(
		db, &serving, e,
		"SELECT count(DISTINCT tid) FROM series WHERE kind IN (series_id('socket_recv'), series_id('socket_send')) AND n > 0 AND tid IN " THREADS
		" AND resource NOT IN (SELECT r.id FROM resource r JOIN fd f ON"
		" f.ino=r.number AND f.dev=r.dev WHERE r.kind='socket' AND f.kind='socket' AND"
		" f.role='connected')",
		pid, server);

	*ret_cpus = 1;
	if (ret < 0 || serving < 2)
		return ret;
	ret = number(
		db, &ran, e,
		"SELECT count(DISTINCT cpu) FROM thread_state WHERE state=state_id('run') AND tid IN " THREADS,
		pid, server);
	if (ret == 0)
		ret = number(
			db, &milli, e,
			"SELECT min(1000 * quota / period) FROM throttle WHERE quota > 0 AND period > 0"
			" AND cgroup IN (SELECT cgroup FROM process WHERE pid IN " PIDS ")",
			pid, server);
	*ret_cpus = fmax(fmin(serving, ran), 1);
	if (milli > 0)
		*ret_cpus = fmax(fmin(*ret_cpus, milli / 1000), 1);
	return ret;
}

static int read_busy(sqlite3 *db, struct walk *w, s64 pid, s64 server, struct err *e)
{
	double all = w->k * (double)w->g->step;
	bool exact = true;
	size_t i;
	int ret = db_each(
		db, e, add_thread, w,
		"SELECT ts / ?3 AS w, sum(time) FROM series WHERE kind IN (series_id('runtime'), series_id('rq_time')) AND tid IN " THREADS
		" GROUP BY w, tid ORDER BY w, 2 DESC",
		"iii", pid, server, w->g->step);

	for (i = 0; i < w->g->n; i++) {
		w->high[i] = fmin(w->high[i], all);
		w->low[i] = fmin(w->low[i], all);
		exact &= w->high[i] - w->low[i] <= 2 * EXACT * all;
		w->low[i] = (w->low[i] + w->high[i]) / 2;
	}
	if (ret < 0 || exact)
		return ret;
	for (i = 0; i < w->g->n; i++)
		w->low[i] = 0;
	return db_each(
		db, e, add_edge, w,
		"WITH x AS MATERIALIZED (SELECT ts, dur FROM thread_state WHERE state IN (state_id('run'), state_id('woken'), state_id('preempted'))"
		" AND tid IN " THREADS ") SELECT ts AS at, 1 FROM x UNION ALL SELECT ts + dur, -1"
		" FROM x ORDER BY at",
		"ii", pid, server);
}

static double mean(void *arg, const size_t *order, size_t n)
{
	const double *v = arg;
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += v[order[i]];
	return sum / (double)n;
}

/* Windows without loss in which the service lived. */
static int sum_up(sqlite3 *db, const struct walk *w, s64 pid, s64 server, struct idle *ret,
		  struct err *e)
{
	const struct grid *g = w->g;
	double *known = calloc(g->n + 1, sizeof(double)), start = 0, end = 0;
	size_t i, n = 0;
	int r = number(db, &start, e, "SELECT min(start) FROM process WHERE pid IN " PIDS, pid,
		       server);

	if (r == 0)
		r = number(
			db, &end, e,
			"SELECT max(coalesce(end, 9000000000000000000)) FROM process WHERE pid IN " PIDS,
			pid, server);
	if (!known)
		r = err_set(e, ERR_FAIL, "out of memory for windows");
	ret->min = NAN;
	for (i = 0; r == 0 && i < g->n; i++) {
		bool lived = (double)(s64)i * g->step >= start && ((double)i + 1) * g->step <= end;

		ret->share[i] = g->lossy[i] || (g->n > 1 && !lived)
					? NAN
					: 100 * (1 - w->low[i] / (w->k * (double)g->step));
		if (isnan(ret->share[i]))
			continue;
		known[n++] = ret->share[i];
		ret->min = fmin(ret->min, ret->share[i]);
	}
	if (r == 0)
		ret->total = stats_boot(n, stats_boot_block(n), REPS, mean, known);
	if (r == 0 && n > 0 && n < 3)
		ret->total.value = n == 1 ? known[0] : (known[0] + known[1]) / 2;
	if (n < WINDOWS_LEAST)
		ret->total.low = ret->total.high = NAN;
	free(known);
	return r;
}

int idle_read(sqlite3 *db, const struct grid *g, s64 pid, s64 server, struct idle *ret,
	      struct err *e)
{
	struct walk w = { .g = g, .window = -1 };
	int r;

	*ret = (struct idle){ .total = { NAN, NAN, NAN, 0 }, .min = NAN };
	w.low = calloc(g->n + 1, sizeof(double));
	w.high = calloc(g->n + 1, sizeof(double));
	ret->share = calloc(g->n + 1, sizeof(double));
	if (!w.low || !w.high || !ret->share)
		r = err_set(e, ERR_FAIL, "out of memory for windows");
	else
		r = read_cpus(db, pid, server, &ret->cpus, e);
	w.k = ret->cpus;
	if (r == 0)
		r = read_busy(db, &w, pid, server, e);
	if (r == 0)
		r = sum_up(db, &w, pid, server, ret, e);
	free(w.low);
	free(w.high);
	return r;
}

void idle_free(struct idle *i)
{
	free(i->share);
	i->share = NULL;
}
