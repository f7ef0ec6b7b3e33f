// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is counted in time: CPU and run-queue time of processes, per request or per second, the
 * share of time in which none of their threads is runnable, and failed calls. It is summed in fine
 * bins, from which windows are made; bins in which events were lost are excluded.
 */
#include "compare.h"

#include "analyze/base/idmap.h"
#include "analyze/stats/sorted.h"
#include "analyze/store/columns/columns.h"
#include "format/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS	       960
#define GROUPS_MOST    16 /* processes of one name are one group */
#define CALLS_MOST     24
#define THREADS_MOST   4000000
#define LEAST_REQUESTS 30
#define LEAST_CPU      0.01			      /* share of a CPU */
#define NOT_YET	       11, 115, 4, 512, 513, 514, 516 /* EAGAIN, EINPROGRESS, EINTR, restarts */
#define TEXT(...)      #__VA_ARGS__
#define TEXT_OF(list)  TEXT(list)

struct group {
	struct compared_subject subject;
	bool requests; /* else its time is divided by seconds */
	/* when a thread of it is runnable: what touches the one before is one with it */
	s64 *from, *to;
	size_t n_ranges;
	double run[BINS], runq[BINS], done[BINS], busy[BINS], idle[BINS];
};

struct failing {
	struct compared_subject subject;
	double calls[BINS], errors[BINS];
};

struct bins {
	struct measured *m;
	s64 bin; /* ns */
	bool lost[BINS];
	struct group groups[GROUPS_MOST];
	size_t n_groups;
	struct failing calls[CALLS_MOST];
	size_t n_calls;
	struct idmap threads; /* tid to group */
	struct idmap pids;    /* pid to group */
	struct idmap callers; /* tid to its pid */
	struct idmap failing; /* pid and call to failing */
};

static size_t bin_at(const struct bins *b, s64 ts)
{
	s64 at = ts / b->bin;

	return at < 0 ? 0 : at >= BINS ? BINS - 1 : (size_t)at;
}

static int read_losses(struct bins *b, sqlite3 *db, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, "SELECT ts, ts + dur FROM loss", "");
	size_t i;

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		for (i = bin_at(b, sqlite3_column_int64(q, 0));
		     i <= bin_at(b, sqlite3_column_int64(q, 1)); i++)
			b->lost[i] = true;
	return db_end(q, ret);
}

/* Processes that answer requests; else those that use most CPU time. */
static int read_groups(struct bins *b, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT p.comm, p.pid, coalesce(t.n, 0) AS requests, coalesce(c.run, 0) AS run FROM process p"
		" LEFT JOIN (SELECT pid, sum(requests) AS n FROM service WHERE kind<>'function'"
		" GROUP BY pid) t ON t.pid=p.pid"
		" LEFT JOIN (SELECT pid, sum(run) AS run, sum(switches) AS s FROM thread GROUP BY pid) c"
		" ON c.pid=p.pid WHERE c.s > 0 AND (requests >= ? OR run >= ?)"
		" ORDER BY requests DESC, run DESC, p.pid LIMIT 256";
	struct compared_subject subject;
	sqlite3_stmt *q;
	size_t i;
	int ret = db_query(&q, db, e, sql, "id", (s64)LEAST_REQUESTS, LEAST_CPU * b->m->duration);

	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		compare_subject(&subject, COMPARE_PROCESS, db_text(q, 0), NULL, COMPARE_NO_PORT,
				NULL);
		for (i = 0; i < b->n_groups && !compare_same(&b->groups[i].subject, &subject); i++)
			;
		if (i == GROUPS_MOST)
			continue;
		b->groups[i].subject = subject;
		b->n_groups += i == b->n_groups;
		b->groups[i].requests |= sqlite3_column_int64(q, 2) >= LEAST_REQUESTS;
		ret = idmap_put(&b->pids, sqlite3_column_int64(q, 1), &b->groups[i], THREADS_MOST,
				e);
	}
	return db_end(q, ret);
}

static int read_threads(struct bins *b, sqlite3 *db, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, "SELECT tid, pid FROM thread", "");

	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		void *group = idmap_get(&b->pids, sqlite3_column_int64(q, 1));

		if (group)
			ret = idmap_put(&b->threads, sqlite3_column_int64(q, 0), group,
					THREADS_MOST, e);
	}
	return db_end(q, ret);
}

/* Adds an interval to the bins that it touches. */
static void spread(const struct bins *b, double *sums, s64 ts, s64 dur)
{
	size_t i, last = bin_at(b, ts + dur);
	s64 from, to;

	for (i = bin_at(b, ts); i <= last; i++) {
		from = ts > (s64)i * b->bin ? ts : (s64)i * b->bin;
		to = ts + dur < (s64)(i + 1) * b->bin ? ts + dur : (s64)(i + 1) * b->bin;
		sums[i] += to > from ? to - from : 0;
	}
}

static int add_range(struct group *g, s64 from, s64 to, struct err *e)
{
	size_t last = g->n_ranges - 1;

	if (g->n_ranges && from <= g->to[last] && to >= g->from[last]) {
		g->from[last] = from < g->from[last] ? from : g->from[last];
		g->to[last] = to > g->to[last] ? to : g->to[last];
		return 0;
	}
	if (GROW(g->from, g->n_ranges, "windows", e) < 0 ||
	    GROW(g->to, g->n_ranges, "windows", e) < 0)
		return ERR_FAIL;
	g->from[g->n_ranges] = from;
	g->to[g->n_ranges++] = to;
	return 0;
}

/* Time in which the group is not idle: that of its ranges, once where they overlap. */
static int spread_busy(const struct bins *b, struct group *g, struct err *e)
{
	s64 until = 0, from;
	size_t i;

	if (!sort_keys(g->from, g->to, g->n_ranges))
		return err_set(e, ERR_FAIL, "out of memory for windows");
	for (i = 0; i < g->n_ranges; i++) {
		from = g->from[i] > until ? g->from[i] : until;
		if (g->to[i] <= from)
			continue;
		spread(b, g->busy, from, g->to[i] - from);
		until = g->to[i];
	}
	return 0;
}

static int on_state(void *arg, s64 rowid, const void *interval, struct err *e)
{
	const struct row_thread_state *row = interval;
	const struct bins *b = arg;
	struct group *g;

	(void)rowid;
	if (row->state != SPAN_run && row->state != SPAN_woken && row->state != SPAN_preempted)
		return 0;
	g = idmap_get(&b->threads, row->tid);
	if (!g)
		return 0;
	spread(b, row->state == SPAN_run ? g->run : g->runq, row->ts, row->dur);
	return add_range(g, row->ts, row->ts + row->dur, e);
}

static int read_states(struct bins *b, sqlite3 *db, struct err *e)
{
	int ret = rows_each(db, TABLE_thread_state,
			    COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
				    COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state),
			    on_state, b, e);
	size_t i;

	for (i = 0; i < b->n_groups && ret == 0; i++)
		ret = spread_busy(b, &b->groups[i], e);
	return ret;
}

static int on_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	const struct bins *b = arg;
	struct group *g = idmap_get(&b->pids, row->pid);

	(void)rowid;
	(void)e;
	if (g && g->requests)
		g->done[bin_at(b, row->ts + row->dur)]++;
	return 0;
}

static int read_requests(struct bins *b, sqlite3 *db, struct err *e)
{
	return rows_each(db, TABLE_request,
			 COLUMN_OF(request, pid) | COLUMN_OF(request, ts) | COLUMN_OF(request, dur),
			 on_request, b, e);
}

/* ---- failed calls ---- */

static u64 call_key(s64 pid, s64 abi, s64 nr)
{
	return (u64)pid << 32 | (u64)(abi & 0xff) << 24 | (u64)(nr & 0xffffff);
}

/* comm and system call of a row. */
static void call_subject(struct compared_subject *ret, sqlite3_stmt *q)
{
	compare_subject(ret, COMPARE_CALL, db_text(q, 0), NULL, COMPARE_NO_PORT, db_text(q, 1));
}

/* The calls that failed most often, of processes with one name together. */
static int choose_failing(struct bins *b, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT p.comm, coalesce(n.name, x.nr), x.pid, x.abi, x.nr"
		" FROM (SELECT pid, abi, nr, sum(n) AS n FROM syscall_error WHERE error NOT IN (" TEXT_OF(
			NOT_YET) ") GROUP BY pid, abi, nr) x"
				 " JOIN (SELECT pid, max(comm) AS comm FROM process GROUP BY pid) p ON p.pid=x.pid"
				 " LEFT JOIN syscall_name n ON n.abi=x.abi AND n.nr=x.nr ORDER BY x.n DESC, 1, 2 LIMIT 256";
	struct compared_subject subject;
	sqlite3_stmt *q;
	size_t i;
	int ret = db_query(&q, db, e, sql, "");

	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		call_subject(&subject, q);
		for (i = 0; i < b->n_calls && !compare_same(&b->calls[i].subject, &subject); i++)
			;
		if (i == CALLS_MOST)
			continue;
		b->calls[i].subject = subject;
		b->n_calls += i == b->n_calls;
		ret = idmap_put(&b->failing,
				call_key(sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3),
					 sqlite3_column_int64(q, 4)),
				&b->calls[i], THREADS_MOST, e);
	}
	return db_end(q, ret);
}

static bool has_failed(s64 ret)
{
	static const s64 not_yet[] = { NOT_YET };
	size_t i;

	for (i = 0; i < sizeof(not_yet) / sizeof(not_yet[0]); i++)
		if (-ret == not_yet[i])
			return false;
	return ret < 0;
}

static int on_call(void *arg, s64 rowid, const void *call, struct err *e)
{
	const struct row_syscall *row = call;
	const struct bins *b = arg;
	const s64 *pid;
	struct failing *f;
	size_t at;

	(void)rowid;
	(void)e;
	pid = row->ret == BULK_NULL ? NULL : idmap_get(&b->callers, row->tid);
	f = pid ? idmap_get(&b->failing, call_key(*pid, row->abi, row->nr)) : NULL;
	if (!f)
		return 0;
	at = bin_at(b, row->ts + (row->dur == BULK_NULL ? 0 : row->dur));
	f->calls[at]++;
	f->errors[at] += has_failed(row->ret);
	return 0;
}

/* The threads of processes whose calls failed. */
static int read_callers(struct bins *b, sqlite3 *db, struct err *e)
{
	sqlite3_stmt *q;
	s64 *pid;
	int ret = db_query(&q, db, e, "SELECT tid, max(pid) FROM thread GROUP BY tid", "");

	while (ret >= 0 && (ret = db_step(q, e)) > 0) {
		pid = malloc(sizeof(*pid));
		if (!pid) {
			ret = err_set(e, ERR_FAIL, "out of memory for windows");
			break;
		}
		*pid = sqlite3_column_int64(q, 1);
		ret = idmap_put(&b->callers, sqlite3_column_int64(q, 0), pid, THREADS_MOST, e);
		if (ret < 0)
			free(pid);
	}
	return db_end(q, ret);
}

static int read_failing(struct bins *b, sqlite3 *db, struct err *e)
{
	int ret = b->n_calls ? read_callers(b, db, e) : 0;

	if (ret < 0 || !b->n_calls)
		return ret;
	return rows_each(db, TABLE_syscall,
			 COLUMN_OF(syscall, ts) | COLUMN_OF(syscall, dur) |
				 COLUMN_OF(syscall, tid) | COLUMN_OF(syscall, abi) |
				 COLUMN_OF(syscall, nr) | COLUMN_OF(syscall, ret),
			 on_call, b, e);
}

/* Calls that never failed: the other side's errors are compared with 0. */
static int put_sound(struct bins *b, sqlite3 *db, struct err *e)
{
	static const char sql[] =
		"SELECT p.comm, coalesce(n.name, x.nr), x.n FROM syscall_stat x"
		" JOIN (SELECT pid, max(comm) AS comm FROM process GROUP BY pid) p ON p.pid=x.pid"
		" LEFT JOIN syscall_name n ON n.abi=x.abi AND n.nr=x.nr ORDER BY x.n DESC, 1, 2 LIMIT 256";
	struct compared_subject subject;
	struct sample *s;
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "");

	while ((ret = db_step(q, e)) > 0) {
		call_subject(&subject, q);
		if (compare_find(b->m, &subject, COMPARE_errors))
			continue;
		s = compare_add(b->m, &subject, COMPARE_errors, e);
		if (!s) {
			ret = ERR_FAIL;
			break;
		}
		s->n = sqlite3_column_double(q, 2);
		s->tau = NAN;
	}
	return db_end(q, ret);
}

/* ---- windows ---- */

/* sum(num) / sum(den) over the bins without loss; den NULL: seconds. */
static int put_ratio(struct bins *b, const struct compared_subject *subject,
		     enum compare_metric metric, const double *num, const double *den, double scale,
		     struct err *e)
{
	double n[COMPARE_WINDOWS] = { 0 }, d[COMPARE_WINDOWS] = { 0 }, top = 0, bottom = 0,
	       most = 0;
	struct sample *s = compare_add(b->m, subject, metric, e);
	size_t i, k = 0, w;

	if (!s)
		return ERR_FAIL;
	for (i = 0; i < BINS; i++) {
		w = i * COMPARE_WINDOWS / BINS;
		if (b->lost[i])
			continue;
		n[w] += num[i];
		d[w] += den ? den[i] : b->bin;
	}
	for (w = 0; w < COMPARE_WINDOWS; w++) {
		top += n[w];
		most = fmax(most, n[w]);
		bottom += d[w];
		if (!(d[w] > 0))
			continue;
		n[k] = n[w];
		d[k++] = d[w];
	}
	s->value = bottom > 0 ? scale * top / bottom : NAN;
	s->n = metric == COMPARE_errors ? bottom : den ? bottom : k;
	s->tau = NAN;
	s->burst = top > 0 ? most / top : 0;
	s->windows = k >= WINDOWS_LEAST ? k : 0;
	s->log = stats_log_ratio(n, d, s->windows, metric == COMPARE_errors);
	s->log.value += log(scale);
	if (metric != COMPARE_errors)
		s->wander = compare_wander(n, d, s->windows);
	return 0;
}

static int put_samples_of(struct bins *b, struct err *e)
{
	size_t i, k;
	int ret = 0;

	for (i = 0; i < b->n_groups && ret == 0; i++) {
		struct group *g = &b->groups[i];
		const double *den = g->requests ? g->done : NULL;

		for (k = 0; k < BINS; k++)
			g->idle[k] = fmax(0, b->bin - g->busy[k]);
		ret = put_ratio(b, &g->subject,
				g->requests ? COMPARE_run_request : COMPARE_run_share, g->run, den,
				den ? 1 : 100, e);
		if (ret == 0)
			ret = put_ratio(b, &g->subject,
					g->requests ? COMPARE_runq_request : COMPARE_runq_share,
					g->runq, den, den ? 1 : 100, e);
		if (ret == 0)
			ret = put_ratio(b, &g->subject, COMPARE_idle, g->idle, NULL, 100, e);
	}
	for (i = 0; i < b->n_calls && ret == 0; i++)
		ret = put_ratio(b, &b->calls[i].subject, COMPARE_errors, b->calls[i].errors,
				b->calls[i].calls, 100, e);
	return ret;
}

static void free_bins(struct bins *b)
{
	size_t i;

	for (i = 0; i < b->n_groups; i++) {
		free(b->groups[i].from);
		free(b->groups[i].to);
	}
	idmap_free(&b->threads);
	idmap_free(&b->pids);
	idmap_free_all(&b->callers);
	idmap_free(&b->failing);
	free(b);
}

int compare_bins(struct measured *m, sqlite3 *db, struct err *e)
{
	struct bins *b = calloc(1, sizeof(*b));
	int ret;

	if (!b)
		return err_set(e, ERR_FAIL, "out of memory for windows");
	b->m = m;
	b->bin = m->duration / BINS + 1;
	ret = read_losses(b, db, e);
	if (ret == 0)
		ret = read_groups(b, db, e);
	if (ret == 0)
		ret = read_threads(b, db, e);
	if (ret == 0)
		ret = read_states(b, db, e);
	if (ret == 0)
		ret = read_requests(b, db, e);
	if (ret == 0)
		ret = choose_failing(b, db, e);
	if (ret == 0)
		ret = read_failing(b, db, e);
	if (ret == 0)
		ret = put_samples_of(b, e);
	if (ret == 0)
		ret = put_sound(b, db, e);
	free_bins(b);
	return ret;
}
