// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All threads of a pool have requests, and further ones wait until one of them is free: from their
 * arrival in the kernel, which may precede accept, to their read. A thread that was made after the
 * request had arrived was made for it, and is no pool's.
 */
#include "pool_busy.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"
#include "analyze/store/state.h"

#include <string.h>

#define ALWAYS	 98.0 /* %, of the time, as for a thread that is saturated */
#define NOTABLE	 0.5  /* of the time of the threads: what most of them do, and for which name */
#define ACCEPT	 0.1  /* of the wait: less before accept is not said */
#define POOL_MIN 2

struct pool_sums {
	struct pool p;
	struct verdict_side side[2];
	double accept;	     /* of the inner side: before accept */
	double full, length; /* of the time of the verdict */
	int threads;
	s64 processes;
	struct idmap names; /* id + 1 -> struct of_name */
	double busy;	    /* ns of threads with requests, while all had one */
	s64 name;
	double of_name;
	int state;
	double of_state;
};

struct of_name {
	s64 id;
	double ns;
};

/* ns of from..to in which all had a request and that the verdict is about. */
static double full_within(const struct pool_sums *s, const struct verdict_when *w, s64 from, s64 to)
{
	double sum = 0, start, end;
	int low = 0, high = w->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (w->v[mid][1] <= (double)from)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < w->n && w->v[low][0] < (double)to; low++) {
		start = fmax(w->v[low][0], (double)from);
		end = fmin(w->v[low][1], (double)to);
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
	if (wait > 0 && r->accepted > r->arrival)
		s->accept += (double)((r->accepted < r->read ? r->accepted : r->read) - r->arrival);
	return take_name(s, r->name, full_within(s, w, r->read, r->end), e);
}

static void count_workers(struct pool_sums *s)
{
	s64 last = 0;
	size_t i;

	s->threads = s->p.most;
	for (i = 0; i < s->p.n_workers; i++)
		if (s->p.workers[i].serves)
			s->processes += s->p.workers[i].pid == s->p.workers[i].tid;
	for (i = 0; i < s->p.n_workers; i++)
		last += s->p.workers[i].serves;
	/* processes with one thread each */
	s->processes = s->processes == last ? s->threads : 0;
}

struct states {
	const struct pool *p;
	double ns[N_STATES], all;
};

static int add_state(void *arg, sqlite3_stmt *q, struct err *e)
{
	s64 tid = sqlite3_column_int64(q, 0), state = sqlite3_column_int64(q, 1);
	struct states *s = arg;
	bool serves = false;
	size_t i;

	(void)e;
	for (i = 0; i < s->p->n_workers && !serves; i++)
		serves = s->p->workers[i].tid == tid && s->p->workers[i].serves;
	if (!serves || state < 0 || state >= N_STATES)
		return 0;
	s->ns[state] += sqlite3_column_double(q, 2);
	s->all += sqlite3_column_double(q, 2);
	return 0;
}

/* What its threads did most in that time. */
static int read_state(struct pool_sums *s, struct analysis_ctx *c, s64 server,
		      const struct verdict_when *w, struct err *e)
{
	struct states of = { .p = &s->p };
	int i, ret = 0;

	for (i = 0; i < w->n && ret == 0; i++)
		ret = db_each(
			c->db, e, add_state, &of,
			"SELECT tid, state, total(min(ts + dur, ?3) - max(ts, ?2)) FROM thread_state WHERE"
			" ts < ?3 AND ts + dur > ?2 AND tid IN (SELECT tid FROM thread WHERE pid IN"
			" (SELECT pid FROM service WHERE server=?1)) GROUP BY tid, state",
			"idd", server, w->v[i][0], w->v[i][1]);
	for (i = 0; i < N_STATES; i++)
		s->state = of.ns[i] > of.ns[s->state] ? i : s->state;
	s->of_state = of.all > 0 ? of.ns[s->state] / of.all : 0;
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
	ret = read_state(s, c, j->about.id, w, e);
	return ret < 0 ? ret : 1;
}

static int put_pool(struct analysis_ctx *c, const struct judged *j, const struct pool_sums *s,
		    s64 parent, s64 *ret_id, struct err *e)
{
	const struct verdict_side *in = &s->side[1];
	bool named = s->name && s->of_name > NOTABLE * s->busy;
	bool stated = s->of_state > NOTABLE;
	const struct value values[] = {
		VALUE_NUMBER("threads", s->processes ? NAN : s->threads, ""),
		VALUE_NUMBER("processes", s->processes ? (double)s->processes : NAN, ""),
		VALUE_NUMBER("full", fmin(100, percent(s->full, s->length)), "%"),
		VALUE_MAYBE("name", request_name, named ? s->name : 0),
		VALUE_NUMBER("of_name", named ? percent(s->of_name, s->busy) : NAN, "%"),
		VALUE_TEXT("state", stated ? verdict_does[s->state] : NULL),
		VALUE_NUMBER("part", stated ? 100 * s->of_state : NAN, "%"),
		VALUE_NUMBER("latency", in->latency / in->n, "ns"),
		VALUE_NUMBER("queued", in->part / in->n, "ns"),
		VALUE_NUMBER("accept", s->accept >= ACCEPT * in->part ? s->accept / in->n : NAN,
			     "ns"),
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
	idmap_free_all(&s->names);
}

int verdict_pool(struct analysis_ctx *c, const struct judged *j, const struct verdict_when *w,
		 const struct limits *l, struct err *e)
{
	struct pool_sums s = { 0 };
	int ret = read_pool(&s, c, j, w, l, e);

	if (ret > 0 && put_pool(c, j, &s, j->finding, NULL, e) < 0)
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
		j->status = percent(s.full, s.length) >= ALWAYS ? STATUS_PROBLEM : STATUS_UNCHANGED;
		j->kind = "pool";
		if (put_pool(c, j, &s, 0, &j->finding, e) < 0)
			ret = ERR_FAIL;
	}
	free_sums(&s);
	verdict_when_free(&w);
	return ret;
}
