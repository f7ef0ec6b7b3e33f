// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_work.h"

#include "analyze/store/columns/columns.h"
#include "analyze/store/db_idmap.h"
#include "analyze/store/row_types.h"

#define CHANCE 3.0 /* standard deviations */
#define MOST   0.5
#define IDLE_MOST \
	0.08 /* of the time: less leaves no room, as analyze/analyses/load/idle.h has it */

struct reading {
	struct work *work;
	const struct judged *j;
	struct idmap threads;
};

static int on_state(void *arg, s64 rowid, const void *state, struct err *e)
{
	const struct row_thread_state *row = state;
	const struct reading *r = arg;
	double from = (double)row->ts, to = from + (double)row->dur, width = r->j->width;
	double *into = row->state == STATE_run ? r->work->run : r->work->runq;
	int i;

	(void)rowid;
	(void)e;
	if (row->state > STATE_preempted || to <= 0 || !idmap_get(&r->threads, (u64)row->tid))
		return 0;
	for (i = verdict_window_at(r->j, from); i < r->j->n_windows && i * width < to; i++)
		into[i] += fmax(fmin(to, (i + 1) * width) - fmax(from, i * width), 0);
	return 0;
}

int work_read(struct work *l, struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const u32 set = COLUMN_OF(thread_state, ts) | COLUMN_OF(thread_state, dur) |
			       COLUMN_OF(thread_state, tid) | COLUMN_OF(thread_state, state);
	struct reading r = { .work = l, .j = j };
	int ret = db_each(
		c->db, e, db_idmap, &r.threads,
		"SELECT tid FROM (SELECT tid, row_number() OVER (PARTITION BY pid ORDER BY run DESC, tid) AS k"
		" FROM thread WHERE wall > 0 AND pid IN (SELECT pid FROM service WHERE server=?1)) WHERE k=1",
		"i", j->about.id);

	l->threads = (double)r.threads.n;
	if (ret == 0 && r.threads.n)
		ret = rows_each(c->db, TABLE_thread_state, set, on_state, &r, e);
	idmap_free(&r.threads);
	return ret < 0 ? ret : 0;
}

void work_divide(struct work *l, const struct judged *j, const struct levels *v)
{
	int i;

	l->in = l->out = (struct work_side){ 0 };
	for (i = 0; i < v->n; i++) {
		const struct verdict_traffic *t = &j->traffic[v->window[i]];
		struct work_side *s = v->slow[i] ? &l->in : &l->out;

		if (v->neither[i])
			continue;
		s->time += j->width;
		s->arrived += t->arrived;
		s->answered += t->exchanges;
		s->run += l->run[v->window[i]];
		s->runq += l->runq[v->window[i]];
		s->queued += t->queued;
		s->waited += t->waited;
	}
}

static double expected(const struct work *l)
{
	return l->out.arrived * l->in.time / l->out.time;
}

static double served_of(const struct work_side *s)
{
	return s->waited - s->queued;
}

/* A thread that spins runs all the time: a request takes no longer than it is served. */
double work_by_chance(const struct work *l)
{
	double each = fmin(l->out.run, served_of(&l->out)) / l->out.answered;

	return each * CHANCE * sqrt(expected(l) * (1 + l->in.time / l->out.time));
}

bool work_is_full(const struct work *l, const struct judged *j, const struct levels *v)
{
	struct work_side inner = { 0 };
	const struct work_side *of;
	int i;

	for (i = 1; i + 1 < v->n; i++) {
		const struct verdict_traffic *t = &j->traffic[v->window[i]];

		if (!v->slow[i - 1] || !v->slow[i] || !v->slow[i + 1] || v->neither[i])
			continue;
		inner.run += l->run[v->window[i]];
		inner.runq += l->runq[v->window[i]];
		inner.queued += t->queued;
		inner.waited += t->waited;
		inner.time += j->width;
	}
	of = inner.time > 0 ? &inner : &l->in;
	return of->run + of->runq >= (1 - IDLE_MOST) * l->threads * of->time &&
	       served_of(of) >= MOST * l->threads * of->time;
}

bool work_is_usual(const struct work *l, double early, double spare)
{
	double answers = l->in.answered / l->out.answered, time = l->in.time / l->out.time;
	double chance = CHANCE * sqrt(expected(l) * (1 + time));
	double runq = l->in.runq - l->out.runq * time, dearer = l->in.run - l->out.run * answers;
	double served = served_of(&l->in) - served_of(&l->out) * answers;

	return fabs(l->in.arrived - early - expected(l)) <= chance &&
	       fmax(fmax(runq, dearer), served) - spare <= work_by_chance(l);
}
