// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * More late requests while the typical one is as fast as before: a neighbour on the CPU, a disk
 * that stalls now and then. A request is late against the mean of its own name, so that another mix
 * of names makes none late. The units are windows of time, as for a change of latency.
 *
 * More demand and dearer requests make late requests of a healthy server, so do clients that send a
 * request in parts: it is a problem only if the requests that were late first waited for something
 * else, most of the time that they took longer than others.
 */
#include "verdict_levels.h"
#include "verdict_spent.h"

#include "analyze/store/request_rows.h"
#include "analyze/store/row_types.h"

#include <gsl/gsl_cdf.h>
#include <stdlib.h>

#define MOST	    0.5	   /* of the added latency */
#define SIGNIFICANT 0.0001 /* the time range was chosen for what it has */
#define BOUNDS_MOST 4096   /* names; requests of others have the bound of all */

struct lateness {
	s64 name; /* 0: none */
	double late;
	/* those answered in time so far */
	double n, sum;
	double came; /* arrival of the latest */
};

struct tail {
	struct judged *j;
	const struct limits *l;
	struct lateness *v; /* by name */
	int n;
	struct lateness others; /* requests of other names, or of none */
	struct levels levels;
	double late[WINDOWS], all[WINDOWS];
	double from[WINDOWS];	/* arrival of the first late one that ended in it */
	double events[WINDOWS]; /* late requests of one stall are one */
	double until;		/* end of the last event */
	struct hist in, out;	/* latency in the time range, and outside */
	struct spent first;	/* requests that begin an event in it */
	struct spent usual;	/* those that are not late */
};

static int read_bounds(struct analysis_ctx *c, struct tail *t, const struct limits *l,
		       struct err *e)
{
	static const char sql[] =
		"SELECT name, 1.0 * sum(latency) / sum(exchanges) FROM request_stat WHERE service IN (SELECT"
		" id FROM service WHERE server=?1) GROUP BY name HAVING sum(exchanges) > 0 ORDER BY name"
		" LIMIT ?2";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii", t->j->about.id, (s64)BOUNDS_MOST);

	t->others.late = verdict_late_bound(t->j->queued + t->j->served, l);
	if (ret < 0)
		return ret;
	t->v = calloc(BOUNDS_MOST, sizeof(*t->v));
	ret = t->v ? 0 : err_set(e, ERR_FAIL, "out of memory for late requests");
	while (ret >= 0 && t->n < BOUNDS_MOST && (ret = db_step(q, e)) > 0)
		t->v[t->n++] = (struct lateness){ .name = sqlite3_column_int64(q, 0),
						  .late = verdict_late_bound(
							  sqlite3_column_double(q, 1), l) };
	return db_end(q, ret);
}

static int by_name(const void *a, const void *b)
{
	const struct lateness *x = a, *y = b;

	return x->name < y->name ? -1 : x->name > y->name;
}

/* Whether a request is late. In the order of the rows, which is that of the answers. */
static bool is_late(struct tail *t, const struct row_request *row, struct lateness **ret_name)
{
	struct lateness key = { .name = row->name == BULK_NULL ? 0 : row->name };
	struct lateness *b = bsearch(&key, t->v, (size_t)t->n, sizeof(*t->v), by_name);
	double took = (double)row->dur + (double)row->queued;

	*ret_name = b = b ? b : &t->others;
	if (took > b->late)
		return true;
	b->n++;
	b->sum += took;
	b->came = fmax(b->came, (double)row->ts - (double)row->queued);
	return false;
}

/*
 * Whether a late request is the first of an event. Those that overlap are of one stall, and of the
 * queue after it, until a request of their name that came later is answered in time: what is then
 * late by the time since the end of the event is another.
 */
static bool begins_event(struct tail *t, const struct row_request *row, const struct lateness *b)
{
	double arrived = (double)row->ts - (double)row->queued, end = (double)row->ts + row->dur,
	       since = fmax(arrived, t->until);
	bool passed = b->came > since, first = arrived >= t->until;

	first = first || (passed && end - since > verdict_late_bound(b->sum / b->n, t->l));
	if (first || !passed)
		t->until = fmax(t->until, end);
	return first;
}

static int add_request(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct tail *t = arg;
	struct lateness *name;
	int w = verdict_window_at(t->j, (double)row->ts + (double)row->dur);

	(void)rowid;
	(void)e;
	t->all[w]++;
	if (!is_late(t, row, &name))
		return 0;
	if (!t->late[w]++ || (double)row->ts - (double)row->queued < t->from[w])
		t->from[w] = (double)row->ts - (double)row->queued;
	t->events[w] += begins_event(t, row, name);
	return 0;
}

static int add_latency(void *arg, s64 rowid, const void *request, struct err *e)
{
	const struct row_request *row = request;
	struct tail *t = arg;
	struct lateness *name;
	double end = (double)row->ts + (double)row->dur,
	       took = (double)row->dur + (double)row->queued;
	bool inside = end >= t->j->start && end < t->j->end;

	(void)e;
	hist_add(inside ? &t->in : &t->out, took > 0 ? (u64)took : 0);
	if (!is_late(t, row, &name))
		spent_take(&t->usual, rowid, row);
	else if (begins_event(t, row, name) && inside)
		spent_take(&t->first, rowid, row);
	return 0;
}

static bool is_wait(int in)
{
	return in != IN_cpu && in != IN_queue && in != IN_server && in != IN_unknown;
}

/* What the first late requests took longer than others, and waits of that: most of it? */
static int they_waited(bool *ret_waited, struct analysis_ctx *c, struct tail *t, struct err *e)
{
	double all = 0, waits = 0, added;
	int i, ret = spent_read(&t->first, c->db, t->j->about.id, t->j->start, t->j->end, e);

	if (ret == 0)
		ret = spent_read(&t->usual, c->db, t->j->about.id, 0, (double)c->duration, e);
	for (i = 0; i < N_IN && ret == 0; i++) {
		added = t->first.in[i] / t->first.n - t->usual.in[i] / t->usual.n;
		all += added > 0 ? added : 0;
		waits += added > 0 && is_wait(i) ? added : 0;
	}
	*ret_waited = waits > 0 && waits >= MOST * all;
	return ret;
}

/* The time range that was found: p99, and whether it is a problem. */
static int judge_range(struct analysis_ctx *c, struct tail *t, const struct limits *l,
		       bool *ret_problem, struct err *e)
{
	static const char services[] = "SELECT id FROM service WHERE server=?1";
	struct verdict_late *m = &t->j->late;
	double range[2] = { t->j->start, t->j->end };
	bool busy = false;
	int i, ret = spent_begin(&t->first, c->db, e);

	*ret_problem = false;
	t->until = t->others.came = t->others.n = t->others.sum = 0;
	for (i = 0; i < t->n; i++)
		t->v[i].came = t->v[i].n = t->v[i].sum = 0;
	if (ret == 0)
		ret = spent_begin(&t->usual, c->db, e);
	if (ret == 0)
		ret = requests_each(c->db,
				    COLUMN_OF(request, name) | COLUMN_OF(request, split) |
					    COLUMN_OF(request, recvs),
				    services, t->j->about.id, add_latency, t, e);
	if (ret < 0)
		return ret;
	m->p99 = verdict_quantile(&t->in, 0.99);
	m->p99_otherwise = verdict_quantile(&t->out, 0.99);
	if (!(m->p99 >= m->p99_otherwise + l->latency && m->p99 >= m->p99_otherwise * l->factor))
		return 0;
	ret = they_waited(ret_problem, c, t, e);
	if (ret == 0 && *ret_problem)
		ret = verdict_busy(c, t->j, 0, &range, 1, l, &busy, e);
	*ret_problem = *ret_problem && !busy;
	return ret;
}

/* Of all requests: said of a server without a problem. */
static double share_of(const struct tail *t)
{
	double late = 0, all = 0;
	int i;

	for (i = 0; i < t->j->n_windows; i++) {
		late += t->late[i];
		all += t->all[i];
	}
	return all > 0 ? late / all : 0;
}

/* One stall makes many late: events are counted, per request, by the exact binomial test. */
static bool is_more_often(const double events[2], const double all[2])
{
	return events[1] >= 1 &&
	       gsl_cdf_binomial_Q((unsigned int)events[1] - 1, all[1] / (all[0] + all[1]),
				  (unsigned int)(events[0] + events[1])) < SIGNIFICANT;
}

/* Fewer requests make them a larger share: verdict_load.c. Events are no more per time. */
static bool is_load(const struct tail *t, int first, int last, const double events[2])
{
	struct levels v = t->levels;
	double time[2] = { 0 };
	int i, in, until;

	for (i = 0; i < v.n; i++) {
		in = i >= first && i <= last;
		v.neither[i] |= !in && v.slow[i];
		v.slow[i] = in;
		until = i + 1 < v.n ? v.window[i + 1] : v.window[i] + 1;
		time[in] += v.neither[i] ? 0 : until - v.window[i];
	}
	return verdict_fewer_open(t->j, &v) && !is_more_often(events, time);
}

/*
 * The time range with most late requests; false: none, no more of them with confidence, or too few
 * of all requests.
 */
static bool find_range(struct tail *t, const struct limits *l)
{
	struct levels *v = &t->levels;
	struct judged *j = t->j;
	double low, high, late[2], all[2], events[2], most = 0, more = 0, total = 0;
	int i, first, last = -1;

	for (i = 0; i < j->n_windows; i++) {
		if (t->all[i] <= 0 || i * j->width < j->chance.drained)
			continue;
		total += t->all[i];
		v->window[v->n] = i;
		v->x[v->n++] = t->late[i] / t->all[i];
	}
	if (v->n < 4 * LEVELS_SHORTEST)
		return false;
	levels_find(v, LATE_MORE);
	levels_skip_edges(v, j);
	if (!levels_differ(v, LEVELS_SHORTEST, LEVELS_ERROR, &low, &high) || low <= LATE_MORE)
		return false;
	while (levels_range(v, last + 1, &first, &last)) {
		late[0] = late[1] = all[0] = all[1] = events[0] = events[1] = 0;
		for (i = 0; i < v->n; i++) {
			bool inside = i >= first && i <= last;

			if (!inside && (v->slow[i] || v->neither[i]))
				continue;
			late[inside] += t->late[v->window[i]];
			all[inside] += t->all[v->window[i]];
			events[inside] += t->events[v->window[i]];
		}
		if (late[1] * all[0] < l->factor * late[0] * all[1] ||
		    !is_more_often(events, all) || is_load(t, first, last, events))
			continue;
		more += late[1] - late[0] * all[1] / all[0];
		if (late[1] <= most)
			continue;
		most = late[1];
		j->start = v->window[first] * j->width;
		if (t->late[v->window[first]] > 0)
			j->start = fmin(j->start, fmax(t->from[v->window[first]], 0));
		j->end = (v->window[last] + 1) * j->width;
		j->late = (struct verdict_late){ .share = 100 * late[1] / all[1],
						 .before = 100 * late[0] / all[0],
						 .n = late[1],
						 .events = events[1] };
	}
	return most > 0 && more >= LATE_MORE * total;
}

int verdict_tail(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	static const char services[] = "SELECT id FROM service WHERE server=?1";
	struct tail *t = calloc(1, sizeof(*t));
	struct verdict_late *m = &j->late;
	int ret = t ? 0 : err_set(e, ERR_FAIL, "out of memory for late requests");
	bool found = false;

	if (ret < 0)
		return ret;
	t->j = j;
	t->l = l;
	ret = read_bounds(c, t, l, e);
	if (ret == 0)
		ret = requests_each(c->db, COLUMN_OF(request, name), services, j->about.id,
				    add_request, t, e);
	if (ret >= 0 && find_range(t, l))
		ret = judge_range(c, t, l, &found, e);
	if (!found) {
		j->start = j->end = NAN;
		*m = (struct verdict_late){ .share = 100 * share_of(t) };
	}
	hist_free(&t->in);
	hist_free(&t->out);
	spent_free(&t->first);
	spent_free(&t->usual);
	free(t->v);
	free(t);
	return ret < 0 ? ret : found;
}

int verdict_tail_say(struct analysis_ctx *c, struct judged *j, struct err *e)
{
	const struct verdict_late *m = &j->late;
	const struct value values[] = {
		VALUE_NUMBER("p99", m->p99, "ns"),
		VALUE_NUMBER("start", j->start, "at"),
		VALUE_NUMBER("end", verdict_until(j, j->end), "at"),
		VALUE_NUMBER("baseline", m->p99_otherwise, "ns"),
		VALUE_NUMBER("share", m->share, "%"),
		VALUE_NUMBER("before", m->before, "%"),
		VALUE_NUMBER("n", m->n, ""),
		VALUE_NUMBER("events", m->events, ""),
		{ 0 },
	};
	struct finding f = { FINDING_verdict_tail, PROBLEM, OBSERVED, j->about, NULL, values, 0 };

	return finding_put(c->db, c->analysis->name, &f, &j->finding, e);
}
