// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A host that is busy with other programs has its better and worse seconds. They are no incident of
 * the server: requests wait for a CPU in both, or no CPU of the host is ever idle. What is worse
 * counts if clients are hurt by it as by a pause that counts: who arrives in a pause of length P
 * waits P / 2, so it adds P * P / 2 per client that asks all the time; a slow range adds its length
 * times the added latency. Where no CPU is ever idle and the programs that had the CPU then had it
 * before as well, it is the state of the host, however long. What the server itself computes is
 * not: a pause that counts by the CPU time of its thread alone, dearer requests, or more of them.
 */
#include "analyze/analyses/waits/contenders.h"
#include "verdict_pauses.h"
#include "verdict_spent.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/request_rows.h"

#include <stdlib.h>

#define MOST  0.5
#define SPARE 0.05 /* of the CPUs' time: idle on a host that has some left */

/* Outside the ranges, and in them. */
struct latencies {
	double n[2], sum[2];
};

struct busy {
	const double (*range)[2];
	int n;
	s64 name;
	struct spent side[2];
	struct idmap names; /* id + 1 -> latencies; 1: no name */
};

static bool inside(const struct busy *b, double at)
{
	return verdict_in_ranges(b->range, b->n, at);
}

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct busy *b = arg;
	bool in = inside(b, (double)row->ts + (double)row->dur);
	u64 key = row->name == BULK_NULL ? 1 : (u64)row->name + 1;
	struct latencies *m = idmap_get(&b->names, key);

	if (b->name && row->name != b->name)
		return 0;
	spent_take(&b->side[in], rowid, row);
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m || idmap_put(&b->names, key, m, TASK_LIMIT, e) < 0) {
			free(m);
			return err_set(e, ERR_FAIL, "out of memory for the latency of names");
		}
	}
	m->n[in]++;
	m->sum[in] += (double)row->dur + (double)row->queued;
	return 0;
}

/* Against the mean of its own name outside: another mix of names adds nothing. */
static double added_to(struct busy *b)
{
	double n = 0, sum = 0;
	const struct latencies *m;
	size_t at = 0;

	while ((m = idmap_each(&b->names, &at))) {
		if (!(m->n[0] > 0))
			continue;
		n += m->n[1];
		sum += m->sum[1] - m->n[1] * m->sum[0] / m->n[0];
	}
	return n > 0 ? sum / n : NAN;
}

/* By the kernel's own count: were all CPUs of the host used outside the ranges? */
static int no_idle_cpu(struct analysis_ctx *c, const struct busy *b, bool *ret_none, struct err *e)
{
	double idle = 0, all = 0;
	sqlite3_stmt *q;
	int ret =
		db_query(&q, c->db, e, "SELECT ts + dur / 2, idle + iowait, dur FROM cpu_time", "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		bool in = inside(b, sqlite3_column_double(q, 0));

		idle += in ? 0 : sqlite3_column_double(q, 1);
		all += in ? 0 : sqlite3_column_double(q, 2);
	}
	sqlite3_finalize(q);
	*ret_none = all > 0 && idle < SPARE * all;
	return ret;
}

static int read_sides(struct analysis_ctx *c, struct busy *b, s64 server, struct err *e)
{
	int i, ret = 0;

	for (i = 0; i < 2 && ret == 0; i++)
		ret = spent_begin(&b->side[i], c->db, e);
	if (ret == 0)
		ret = requests_each(c->db, COLUMN_OF(request, split) | COLUMN_OF(request, recvs),
				    "SELECT id FROM service WHERE server=?1", server, add_request,
				    b, e);
	for (i = 0; i < 2 && ret == 0; i++)
		ret = spent_read(&b->side[i], c->db, server, 0, (double)c->duration, e);
	return ret;
}

/*
 * Run-queue latency that was added to a request, ns. A request that waits for a disk, or is stopped
 * by a tracer, more often than outside waits for a CPU after each of these: that is of the disk or
 * the tracer, not of other programs.
 */
static double added_runq(const struct spent *out, const struct spent *in)
{
	double further = in->held / in->n - out->held / out->n;
	double each = in->wakes > 0 ? in->woken / in->wakes : 0;

	return in->in[IN_runq] / in->n - out->in[IN_runq] / out->n - fmax(further, 0) * each;
}

static double runq_share(const struct busy *b)
{
	const struct spent *out = &b->side[0], *in = &b->side[1];

	return 100 * (in->in[IN_runq] + out->in[IN_runq]) / (in->total + out->total);
}

static void free_busy(struct busy *b)
{
	spent_free(&b->side[0]);
	spent_free(&b->side[1]);
	idmap_free_all(&b->names);
}

/* Of a range, the time that the busiest thread of the server computed, or was preempted. */
static int read_computing(sqlite3 *db, s64 server, const double *range, double *ret_ns,
			  struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(max(ns), 0) FROM (SELECT total(min(ts + dur, ?3) - max(ts, ?2)) AS ns FROM"
		" thread_state WHERE state IN (state_id('run'), state_id('preempted')) AND ts < ?3 AND ts + dur > ?2"
		" AND tid IN (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM service WHERE server=?1))"
		" GROUP BY tid)";
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "idd", server, range[0], range[1]);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	*ret_ns = ret > 0 ? sqlite3_column_double(q, 0) : 0;
	return db_end(q, ret);
}

/* Time outside the ranges in which requests ended: a server without any computes nothing. */
static double time_outside(const struct judged *j, const struct busy *b)
{
	double ns = 0;
	int i;

	for (i = 0; i < j->n_windows; i++)
		if (j->windows[i].n > 0 && !inside(b, (i + 0.5) * j->width))
			ns += j->width;
	return ns;
}

/*
 * The server took more CPU time of each second for its requests, most added run-queue latency
 * (runq, ns of a request) is of threads that were preempted, and one of them computed or was
 * preempted for most of the longest range: it wants more than its share. Threads that must wait
 * when they wake wait for others.
 */
static int wants_more(struct analysis_ctx *c, const struct judged *j, const struct busy *b,
		      double runq, const struct limits *l, bool *ret_more, struct err *e)
{
	const struct spent *out = &b->side[0], *in = &b->side[1];
	double length = 0, ns = 0, usual = out->in[IN_cpu] / time_outside(j, b);
	const double *longest = b->range[0];
	int i, ret = 0;

	for (i = 0; i < b->n; i++) {
		length += b->range[i][1] - b->range[i][0];
		if (b->range[i][1] - b->range[i][0] > longest[1] - longest[0])
			longest = b->range[i];
	}
	*ret_more = usual > 0 && in->in[IN_cpu] / length >= l->factor * usual &&
		    in->preempted / in->n - out->preempted / out->n > MOST * runq;
	if (*ret_more)
		ret = read_computing(c->db, j->about.id, longest, &ns, e);
	*ret_more &= ns > MOST * (longest[1] - longest[0]);
	return ret;
}

/* On the CPU, ns: outside the ranges, and in them. */
struct ran {
	const struct busy *b;
	double ns[2];
};

static int add_run(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct ran *r = arg;

	(void)e;
	r->ns[inside(r->b, sqlite3_column_double(q, 0))] += sqlite3_column_double(q, 1);
	return 0;
}

/*
 * The server took more CPU time of each second and for each request, by the limits of latency: that
 * for handshakes or for collecting garbage is not of a request, but delays those that come.
 */
static int is_dearer(struct analysis_ctx *c, const struct judged *j, const struct busy *b,
		     const struct limits *l, bool *ret_dearer, struct err *e)
{
	struct ran r = { .b = b };
	double in, out, length = 0;
	int i, ret = db_each(
		       c->db, e, add_run, &r,
		       "SELECT ts + dur / 2, dur FROM thread_state WHERE state=state_id('run')"
		       " AND tid IN (SELECT tid FROM thread WHERE pid IN (SELECT pid FROM service"
		       " WHERE server=?1))",
		       "i", j->about.id);

	for (i = 0; i < b->n; i++)
		length += b->range[i][1] - b->range[i][0];
	out = r.ns[0] / b->side[0].n;
	in = r.ns[1] / b->side[1].n;
	*ret_dearer = in - out >= l->latency && in >= l->factor * out &&
		      r.ns[1] / length >= l->factor * r.ns[0] / time_outside(j, b);
	return ret;
}

/* The range with most run-queue latency names the program. */
static int name_contender(struct analysis_ctx *c, struct judged *j, const struct busy *b,
			  const struct contended *of, struct err *e)
{
	int i, most = 0;

	for (i = 1; i < b->n; i++)
		most = of[i].usual > of[most].usual ? i : most;
	buf_clear(&j->contender);
	return contenders_first(&j->contender, c, j->about.id, b->range[most], e);
}

/* Is most run-queue latency of all ranges due to programs that had the CPU before? */
static int same_programs(struct analysis_ctx *c, struct judged *j, const struct busy *b,
			 const struct limits *l, bool *ret_same, struct err *e)
{
	struct contended of[WINDOWS], all = { 0 };
	int i, ret = contenders_read(of, c, j->about.id, b->range, b->n, l->pause, e);

	for (i = 0; i < b->n && ret == 0; i++) {
		all.total += of[i].total;
		all.usual += of[i].usual;
	}
	*ret_same = ret == 0 && all.usual > MOST * all.total;
	return *ret_same ? name_contender(c, j, b, of, e) : ret;
}

int verdict_busy(struct analysis_ctx *c, struct judged *j, s64 name, double ranges[][2], int n,
		 const struct limits *l, bool *ret_busy, struct err *e)
{
	struct busy b = { (const double(*)[2])ranges, n, name, { { 0 } }, { 0 } };
	const struct spent *out = &b.side[0], *in = &b.side[1];
	int i, ret = read_sides(c, &b, j->about.id, e);
	double length = 0, added, runq;
	bool full = false, same = false, more = false, dearer = false;

	for (i = 0; i < n; i++)
		length += ranges[i][1] - ranges[i][0];
	added = in->total / in->n - out->total / out->n;
	runq = added_runq(out, in);
	if (ret == 0)
		ret = no_idle_cpu(c, &b, &full, e);
	/* the server's own CPU time of a request alone is a problem: a host does not change that */
	*ret_busy = ret == 0 && !spent_is_dearer(out, in, l) &&
		    (full || out->in[IN_runq] > MOST * out->total) && runq > MOST * added;
	if (*ret_busy)
		ret = wants_more(c, j, &b, runq, l, &more, e);
	*ret_busy &= !more;
	if (*ret_busy && ret == 0)
		ret = is_dearer(c, j, &b, l, &dearer, e);
	*ret_busy &= !dearer;
	if (ret == 0 && *ret_busy && full)
		ret = same_programs(c, j, &b, l, &same, e);
	*ret_busy &= same || added_to(&b) * length < l->pause * l->pause / 2;
	if (*ret_busy)
		j->busy = runq_share(&b);
	j->steady |= *ret_busy && same;
	free_busy(&b);
	return ret;
}

/* And its thread's own CPU time in it is no pause that counts. */
static bool waits_for_cpu(const struct judged_pause *p, double least)
{
	return p->counts && p->queued > MOST && p->ran * (double)(p->end - p->start) < least;
}

static void mark_usual(struct judged *j, struct judged_pause *p)
{
	p->usual = true;
	j->steady = true;
	j->usual_pauses++;
	j->usual_pause = fmax(j->usual_pause, (double)(p->end - p->start));
}

/* The pauses that count, mostly in the run queue; range and of have room for all. */
static int judge_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			double (*range)[2], struct contended *of, struct err *e)
{
	struct busy b = { .range = (const double(*)[2])range };
	double p99 = verdict_quantile(&j->outside, 0.99);
	double least = fmax(l->pause, isnan(p99) ? 0 : l->factor * p99);
	int i, k = 0, ret;
	bool full = false;

	for (i = 0; i < j->n_pauses; i++) {
		if (!waits_for_cpu(&j->pauses[i], least))
			continue;
		range[b.n][0] = (double)j->pauses[i].start;
		range[b.n++][1] = (double)j->pauses[i].end;
	}
	ret = b.n ? no_idle_cpu(c, &b, &full, e) : 0;
	if (ret < 0 || !full)
		return ret;
	ret = contenders_read(of, c, j->about.id, b.range, b.n, l->pause, e);
	for (i = 0; i < j->n_pauses && ret == 0; i++) {
		if (!waits_for_cpu(&j->pauses[i], least))
			continue;
		if (of[k].usual > MOST * of[k].total)
			mark_usual(j, &j->pauses[i]);
		k++;
	}
	if (ret == 0 && j->steady)
		ret = name_contender(c, j, &b, of, e);
	if (ret == 0 && j->steady)
		ret = read_sides(c, &b, j->about.id, e);
	if (ret == 0 && j->steady)
		j->busy = runq_share(&b);
	free_busy(&b);
	return ret;
}

int verdict_busy_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e)
{
	double(*range)[2] = calloc((size_t)j->n_pauses + 1, sizeof(*range));
	struct contended *of = calloc((size_t)j->n_pauses + 1, sizeof(*of));
	int ret = range && of ? judge_pauses(c, j, l, range, of, e)
			      : err_set(e, ERR_FAIL, "out of memory for pauses");

	free(range);
	free(of);
	return ret;
}
