// SPDX-License-Identifier: GPL-2.0-or-later
/* What ran on the CPU while slow units waited for it: a quota, or programs. */
#include "analyze/causes/causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUESSED_MOST 0.1 /* of the waits */
#define NAMED_LEAST  0.05
#define NAMED_MOST   3
#define OWN	     (-2) /* keys of no process */
#define NOT_KNOWN    (-1)
#define IDLE	     0

struct running {
	struct samples *d;
	struct tally threads; /* that had the CPU: ns of a mean unit */
	double all, preempted;
};

static void add_pieces(struct running *r, const struct pieces *p, double sign)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct piece *x = &p->v[i];

		if (category_of(x->state) != CATEGORY_runq)
			continue;
		tally_add(&r->threads, x->object, sign * x->weight * (x->to - x->from));
		r->all += sign > 0 ? x->to - x->from : 0;
		r->preempted += sign > 0 && x->state == SPAN_preempted ? x->to - x->from : 0;
	}
}

/* What baseline units wait for as well makes nothing slow. */
static void read_running(struct running *r, const struct pieces *ends)
{
	struct pieces p = { 0 };

	samples_pieces(r->d, false, CATEGORY_runq, &p);
	add_pieces(r, &p, 1);
	pieces_free(&p);
	add_pieces(r, ends, 1);
	samples_pieces(r->d, true, CATEGORY_runq, &p);
	add_pieces(r, &p, -1);
	pieces_free(&p);
}

/* ---- programs ---- */

/* Processes of one name that belong together: by their parent, their cgroup, or one made the
 * others. */
struct program {
	struct who who; /* the process with most of it */
	s64 key;	/* its pid, or one of the keys above */
	double sum;
	int processes;
};

static bool is_one(const struct program *p, const struct who *w)
{
	return p->key > 0 && strcmp(p->who.process, w->process) == 0 &&
	       (p->who.parent == w->pid || w->parent == p->who.pid ||
		(p->who.parent && p->who.parent == w->parent) ||
		(p->who.cgroup && p->who.cgroup == w->cgroup));
}

static void add_program(struct program *list, size_t *n, s64 key, const struct who *w, double sum)
{
	size_t i;

	for (i = 0; i < *n; i++)
		if (key > 0 ? is_one(&list[i], w) : list[i].key == key)
			break;
	if (i == *n)
		list[(*n)++] = (struct program){ .who = *w, .key = key };
	list[i].sum += sum;
	list[i].processes++;
}

static int by_sum(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	return x->sum > y->sum ? -1 : x->sum < y->sum;
}

/* Threads become processes, and these programs; those of the units are one. */
static size_t join_programs(struct running *r, struct program *list)
{
	struct tally processes = { 0 };
	size_t i, n = 0;
	struct who w;
	s64 key;

	for (i = 0; i < r->threads.n; i++) {
		key = r->threads.of[i].key;
		key = key > 0 ? (s64)names_of(&r->d->names, key).pid : key;
		tally_add(&processes, samples_is_own(r->d, key) ? OWN : key, r->threads.of[i].sum);
	}
	tally_sort(&processes);
	for (i = 0; i < processes.n; i++) {
		w = names_of(&r->d->names, processes.of[i].key > 0 ? processes.of[i].key : 0);
		add_program(list, &n, processes.of[i].key, &w, processes.of[i].sum);
	}
	tally_free(&processes);
	qsort(list, n, sizeof(*list), by_sum);
	return n;
}

/* What all of them had more of; what ran less than in baseline units is no part of it. */
static double more_of(const struct program *list, size_t n, double total)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += list[i].sum > 0 ? list[i].sum : 0;
	return sum > total ? sum : total;
}

/* Without the run-queue latency that the service itself makes. */
static void take_demand(struct running *r, const struct demand *m, struct program *list, size_t n)
{
	double own = 0, others = 0, all;
	size_t i;

	for (i = 0; i < n; i++)
		*(list[i].key == OWN ? &own : &others) += fmax(list[i].sum, 0);
	all = own + others;
	for (i = 0; i < n; i++) {
		bool is_own = list[i].key == OWN;
		double part = is_own ? m->own : m->others, sum = is_own ? own : others;

		if (sum > 0 && list[i].sum > 0)
			list[i].sum *= fmax(0, 1 - part * all / sum);
	}
	r->threads.total = 0;
	for (i = 0; i < n; i++)
		r->threads.total += list[i].sum;
	qsort(list, n, sizeof(*list), by_sum);
}

static void name_programs(struct running *r, const struct program *list, size_t n, struct cause *c)
{
	double all = more_of(list, n, r->threads.total), part;
	struct subject s;
	size_t i;
	int named = 0;
	bool idle = false; /* for most of it nothing ran */

	for (i = 0; i < n && named < NAMED_MOST; i++) {
		part = all > 0 ? list[i].sum / all : 0;
		if (list[i].key == NOT_KNOWN || part < NAMED_LEAST)
			continue;
		if (list[i].key == IDLE) {
			CAUSE_VALUE(c, VALUE_NUMBER, "idle", 100 * part, "%");
			idle |= !named;
			continue;
		}
		s = list[i].key == OWN ? r->d->u->of
				       : (struct subject){ list[i].processes > 1 ? SUBJECT_program
										 : SUBJECT_process,
							   list[i].key };
		if (s.kind == SUBJECT_service || s.kind == SUBJECT_function)
			s = (struct subject){ SUBJECT_process, samples_own(r->d) };
		cause_value(c, (struct value){ .name = "user",
					       .of = s,
					       .number = 100 * part,
					       .unit = "%",
					       .low = NAN,
					       .high = NAN });
		if (named++ || idle)
			continue;
		c->offender = s;
		c->part = part;
		c->own = list[i].key == OWN;
	}
	if (idle) {
		c->kind = category_names[c->category];
		c->finding = FINDING_cause_runq;
	}
}

/* How much of it is guessed because switches between other threads are missing. */
static int say_guessed(struct samples *d, struct cause *c, struct err *e)
{
	struct cause_child *child;
	sqlite3_stmt *q;
	double guessed = 0;
	int ret = db_query(
		&q, d->db, e,
		"SELECT total(guessed) / max(total(woken + preempted), 1) FROM cpu_contender"
		" WHERE pid=?",
		"i", (s64)samples_own(d));

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		guessed = sqlite3_column_double(q, 0);
	sqlite3_finalize(q);
	c->evidence = guessed < GUESSED_MOST ? OBSERVED : OVERLAP;
	if (guessed >= GUESSED_MOST) {
		child = cause_child(c, FINDING_caveat_guessed, OBSERVED);
		CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * guessed, "%");
	}
	return ret < 0 ? ret : 0;
}

static int put_throttled(struct samples *d, struct cause *c, const struct quota *quota,
			 struct err *e)
{
	struct moment around = samples_around(d);
	struct quota_spender by;
	int ret = quota_spender(&by, d->db, quota->cgroup, around.from, around.to, e);

	c->kind = "throttle";
	c->finding = FINDING_cause_throttle;
	c->evidence = OVERLAP; /* counters and waits over the same time */
	c->offender = c->object = (struct subject){ SUBJECT_cgroup, quota->cgroup };
	CAUSE_VALUE(c, VALUE_NUMBER, "throttled", quota->throttled, "");
	CAUSE_VALUE(c, VALUE_NUMBER, "periods", quota->periods, "");
	CAUSE_VALUE(c, VALUE_NUMBER, "stopped", quota->time, "ns");
	if (ret < 0 || !by.thread)
		return ret;
	CAUSE_VALUE(c, VALUE_SUBJECT, "spender", thread, by.thread);
	CAUSE_VALUE(c, VALUE_NUMBER, "used", 100 * by.share, "%");
	return 0;
}

int cause_runq(struct samples *d, const struct ranking *rank, struct cause *c, struct err *e)
{
	struct running r = { .d = d };
	struct program *list;
	struct quota quota;
	size_t n;
	int ret = samples_quota(d, &quota, e);

	if (ret < 0)
		return ret;
	if (quota.explains)
		return put_throttled(d, c, &quota, e);
	c->kind = "cpu_contender";
	c->finding = FINDING_cause_cpu_contender;
	read_running(&r, &rank->ends);
	list = calloc(r.threads.n + 1, sizeof(*list));
	if (!list) {
		tally_free(&r.threads);
		return err_set(e, ERR_FAIL, "out of memory for programs");
	}
	if (r.all > 0)
		CAUSE_VALUE(c, VALUE_NUMBER, "preempted", 100 * r.preempted / r.all, "%");
	n = join_programs(&r, list);
	take_demand(&r, &rank->demand, list, n);
	name_programs(&r, list, n, c);
	free(list);
	tally_free(&r.threads);
	return say_guessed(d, c, e);
}
