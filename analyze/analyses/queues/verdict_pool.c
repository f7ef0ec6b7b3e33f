// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All threads of a pool have requests, and further ones wait until one of them is free: from their
 * arrival in the kernel, which may precede accept, to their read. A thread that was made after the
 * request had arrived was made for it, and is no pool's. Threads that another server leaves without
 * an answer until the end are missing in the pool.
 */
#include "pool_busy.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/columns/columns.h"
#include "analyze/store/state.h"

#include <string.h>

#define NOTABLE	 0.5 /* of the time of the threads: what most of them do, and for which name */
#define ACCEPT	 0.1 /* of the wait: less before accept is not said */
#define POOL_MIN 2

struct pool_sums {
	struct pool p;
	struct verdict_side side[2];
	double waited;	     /* of the inner side: requests that waited */
	double accept;	     /* of the same, of their wait: before accept */
	double full, length; /* of the time of the verdict */
	int threads;
	s64 processes;
	struct idmap names; /* id + 1 -> struct of_name */
	double busy;	    /* ns of threads with requests, while all had one */
	s64 name;
	double of_name;
	int state;
	double of_state;
	struct pool_held held;
};

struct of_name {
	s64 id;
	double ns;
};

/* ns of from..to in which all had a request and that the verdict is about. */
static double full_within(const struct pool_sums *s, const struct verdict_when *w, s64 from, s64 to)
{
	double sum = 0, start, end;
	int i;

	for (i = verdict_when_first(w, (double)from); i < w->n && w->v[i][0] < (double)to; i++) {
		start = fmax(w->v[i][0], (double)from);
		end = fmin(w->v[i][1], (double)to);
		sum += pool_full(&s->p, (s64)end) - pool_full(&s->p, (s64)start);
	}
	return sum;
}

static int take_name(struct pool_sums *s, s64 id, double ns, struct err *e)
{
	struct of_name *of = idmap_get(&s->names, (u64)id + 1);

	s->busy += ns;
	if (!of)
		of = idmap_add(&s->names, (u64)id + 1, sizeof(*of), TASK_LIMIT, "names", e);
	if (!of)
		return ERR_FAIL;
	of->id = id;
	of->ns += ns;
	if (id && (of->ns > s->of_name || (of->ns >= s->of_name && id < s->name))) {
		s->name = id;
		s->of_name = of->ns;
	}
	return 0;
}

static int take(struct pool_sums *s, const struct pooled *r, const struct verdict_when *w,
		struct err *e)
{
	bool in = verdict_when_has(w, (double)r->arrival, (double)r->end);
	double wait = 0;

	if (r->free_for_all && s->p.workers[r->worker].start <= r->arrival)
		wait = pool_full(&s->p, r->read) - pool_full(&s->p, r->arrival);
	s->side[in].n++;
	s->side[in].latency += (double)(r->end - r->arrival);
	s->side[in].part += wait;
	if (!in)
		return 0;
	s->waited += wait > 0;
	if (wait > 0 && r->accepted > r->arrival) /* a part of the wait, measured like all of it */
		s->accept += pool_full(&s->p, r->accepted < r->read ? r->accepted : r->read) -
			     pool_full(&s->p, r->arrival);
	return take_name(s, r->name, full_within(s, w, r->read, r->end), e);
}

static void count_workers(struct pool_sums *s)
{
	s64 serving = 0;
	size_t i;

	s->threads = s->p.most;
	for (i = 0; i < s->p.n_workers; i++)
		if (s->p.workers[i].serves)
			s->processes += s->p.workers[i].pid == s->p.workers[i].tid;
	for (i = 0; i < s->p.n_workers; i++)
		serving += s->p.workers[i].serves;
	/* processes with one thread each */
	s->processes = s->processes == serving ? s->threads : 0;
}

struct states {
	const struct verdict_when *when;
	struct idmap serving; /* tid -> anything */
	double ns[N_STATES], all;
};

static int add_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	struct states *s = arg;
	double ns;

	(void)rowid;
	(void)e;
	if (row->state < 0 || row->state >= N_STATES || !idmap_get(&s->serving, (u64)row->tid))
		return 0;
	ns = verdict_when_within(s->when, (double)row->ts, (double)row->ts + (double)row->dur);
	s->ns[row->state] += ns;
	s->all += ns;
	return 0;
}

/* What its threads did most in that time. */
static int read_state(struct pool_sums *s, struct analysis_ctx *c, const struct verdict_when *w,
		      struct err *e)
{
	struct states of = { .when = w };
	size_t i;
	int k, ret = 0;

	for (i = 0; i < s->p.n_workers && ret == 0; i++)
		if (s->p.workers[i].serves)
			ret = idmap_put(&of.serving, (u64)s->p.workers[i].tid, &of, TASK_LIMIT, e);
	if (ret == 0)
		ret = rows_each(c->db, TABLE_thread_state,
				COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
					COLUMN_OF(thread_state, tid) |
					COLUMN_OF(thread_state, state),
				add_state, &of, e);
	for (k = 0; k < N_STATES; k++)
		s->state = of.ns[k] > of.ns[s->state] ? k : s->state;
	s->of_state = of.all > 0 ? of.ns[s->state] / of.all : 0;
	idmap_free(&of.serving);
	return ret;
}

/* 1: requests wait for the pool for most of the latency; 0: not so. */
static int read_pool(struct pool_sums *s, struct analysis_ctx *c, const struct judged *j,
		     const struct verdict_when *w, const struct limits *l, struct err *e)
{
	int ret = pool_read(&s->p, c, j->about.id, e);
	size_t i;

	if (ret <= 0 || s->p.most < POOL_MIN)
		return ret < 0 ? ret : 0;
	for (i = 0; i < s->p.n && ret >= 0; i++)
		ret = take(s, &s->p.v[i], w, e);
	if (ret < 0 || !side_is_most(s->side, l->latency))
		return ret < 0 ? ret : 0;
	s->length = verdict_when_length(w);
	s->full = full_within(s, w, 0, c->duration);
	count_workers(s);
	ret = read_state(s, c, w, e);
	if (ret == 0 && s->state == STATE_lock && s->of_state > NOTABLE && w->n)
		ret = pool_held(&s->held, c->db, j->about.id, (s64)w->v[0][0],
				(s64)w->v[w->n - 1][1], e);
	return ret < 0 ? ret : 1;
}

static int put_pool(struct analysis_ctx *c, const struct judged *j, const struct pool_sums *s,
		    s64 parent, s64 *ret_id, struct err *e)
{
	const struct verdict_side *in = &s->side[1];
	bool named = s->name && s->of_name > NOTABLE * s->busy;
	bool stated = s->of_state > NOTABLE;
	double n = parent ? s->waited : in->n; /* the level is about the latency of all */
	const struct value values[] = {
		VALUE_NUMBER("threads", s->processes ? NAN : s->threads, ""),
		VALUE_NUMBER("processes", s->processes ? (double)s->processes : NAN, ""),
		VALUE_NUMBER("full", fmin(100, percent(s->full, s->length)), "%"),
		VALUE_MAYBE("name", request_name, named ? s->name : 0),
		VALUE_NUMBER("of_name", named ? percent(s->of_name, s->busy) : NAN, "%"),
		VALUE_TEXT("state", stated ? verdict_does[s->state] : NULL),
		VALUE_NUMBER("part", stated ? 100 * s->of_state : NAN, "%"),
		VALUE_MAYBE("holder", thread, s->held.tid),
		VALUE_TEXT("function", s->held.function.len ? s->held.function.data : NULL),
		VALUE_NUMBER("latency", in->latency / in->n, "ns"),
		VALUE_NUMBER("waited", s->waited, ""),
		VALUE_NUMBER("of", in->n, ""),
		VALUE_NUMBER("queued", in->part / n, "ns"),
		VALUE_NUMBER("accept", s->accept >= ACCEPT * in->part ? s->accept / n : NAN, "ns"),
		{ 0 },
	};
	const struct finding f = {
		parent ? FINDING_verdict_pool : FINDING_verdict_pool_level,
		j->status == STATUS_UNCHANGED ? WARNING : PROBLEM,
		OBSERVED,
		j->about,
		"SELECT tid, name, count(*), sum(dur), sum(queued) FROM request GROUP BY 1, 2",
		values,
		parent,
	};

	return finding_put(c->db, c->analysis->name, &f, ret_id, e);
}

static void free_sums(struct pool_sums *s)
{
	pool_free(&s->p);
	buf_free(&s->held.function);
	idmap_free_all(&s->names);
}

/* Threads with a request that wait for what another server has not answered. */
struct missing {
	double n, since; /* n 0: none */
	struct buf address;
};

static int take_missing(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct missing *m = arg;

	m->n = sqlite3_column_double(q, 0);
	m->since = sqlite3_column_double(q, 1);
	return buf_printf(&m->address, e, "%s", db_text(q, 2));
}

/*
 * Until the end: the other server that most of them wait for, as their last wait has it. The pool
 * was full then.
 */
static int put_missing(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		       const struct limits *l, struct err *e)
{
	static const char sql[] =
		"SELECT count(DISTINCT a.tid), min(a.ts), f.remote FROM unanswered u JOIN upstream_unanswered a ON"
		" a.tid=u.tid AND a.ts >= u.read JOIN fd f ON f.pid=a.pid AND f.fd=a.fd AND f.ts <= a.ts AND f.end IS"
		" NULL WHERE u.service IN (SELECT id FROM service WHERE server=?1) AND coalesce(u.name, 0) NOT IN"
		" (SELECT id FROM request_name WHERE awaits(protocol, name)) AND NOT a.answered AND NOT a.closed AND"
		" NOT a.datagram AND ?2 - a.ts >= ?3 AND f.remote<>'' AND a.tid IN (SELECT s.tid FROM thread_state s"
		" WHERE s.state=state_id('client') AND s.ts + s.dur >= ?2 - ?3 AND s.dur >= ?3) GROUP BY f.remote ORDER BY 1"
		" DESC, 2 LIMIT 1";
	bool full = w->all || (w->n && w->v[w->n - 1][1] >= (double)c->duration - j->width);
	struct missing m = { 0 };
	int ret = full && !(j->connect.n > 0)
			  ? db_each(c->db, e, take_missing, &m, sql, "iid", j->about.id,
				    c->duration, fmax(l->pause, DUE_LEAST))
			  : 0;
	const struct value values[] = {
		VALUE_NUMBER("n", m.n, ""),
		VALUE_TEXT("address", m.address.data),
		VALUE_NUMBER("max", (double)c->duration - m.since, "ns"),
		{ 0 },
	};
	const struct finding f = {
		FINDING_connect_unanswered,	     PROBLEM, OBSERVED,	 j->about,
		"SELECT * FROM upstream_unanswered", values,  j->finding
	};

	if (ret == 0 && m.n > 0)
		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	buf_free(&m.address);
	return ret;
}

int verdict_pool(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		 const struct limits *l, struct err *e)
{
	struct pool_sums s = { 0 };
	int ret = read_pool(&s, c, j, w, l, e);

	if (ret > 0 &&
	    (put_pool(c, j, &s, j->finding, NULL, e) < 0 || put_missing(c, j, w, l, e) < 0))
		ret = ERR_FAIL;
	free_sums(&s);
	return ret;
}

int verdict_pool_level(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e)
{
	struct verdict_when w;
	struct pool_sums s = { 0 };
	int ret = verdict_when(c, j, &w, e);

	if (ret == 0)
		ret = read_pool(&s, c, j, &w, l, e);
	if (ret > 0) {
		j->status = percent(s.full, s.length) >= POOL_ALWAYS ? STATUS_PROBLEM
								     : STATUS_UNCHANGED;
		j->kind = VERDICT_pool;
		if (put_pool(c, j, &s, 0, &j->finding, e) < 0)
			ret = ERR_FAIL;
	}
	free_sums(&s);
	verdict_when_free(&w);
	return ret;
}
