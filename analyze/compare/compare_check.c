// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Are the recordings alike? What was recorded, on what machine, under which load, how completely.
 * What must be alike and is not refuses the comparison; the rest is said.
 */
#include "compare.h"

#include "analyze/base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOAD_NEAR    1.05 /* rates of turns that differ more are said */
#define LOAD_FAR     2.0  /* and these refuse: another load is another question */
#define LOSS_MOST    0.01
#define LOSS_APART   3.0
#define LOSS_LITTLE  0.001 /* less is alike whatever its ratio */
#define LENGTH_APART 3.0

enum checked { ALIKE, DIFFERS, REFUSED };

struct check {
	sqlite3 *db;
	const struct sides *s;
	struct buf *refused;
	struct err *e;
};

static int put(struct check *c, const char *what, const char *before, const char *after,
	       enum checked f, const char *sentence)
{
	static const char *const words[] = { "alike", "differs", "refused" };
	int ret;

	if (f != ALIKE) {
		before = *before ? before : "none";
		after = *after ? after : "none";
	}
	ret = db_insert(c->db, TABLE_comparability, c->e, "sssss", what, before, after, words[f],
			f == ALIKE ? "" : sentence);
	if (ret == 0 && f == REFUSED)
		ret = buf_printf(c->refused, c->e, "%s%s (%.100s before, %.100s after)",
				 c->refused->len ? "; " : "", sentence, before, after);
	return ret;
}

/* What the recordings of a side have; more than one thing: "several". */
static const char *of_side(const struct sides *s, int side, enum compare_fact f)
{
	size_t i;

	for (i = 1; i < s->n[side]; i++)
		if (strcmp(s->of[side][i].facts[f], s->of[side][0].facts[f]) != 0)
			return "several";
	return s->of[side][0].facts[f];
}

static int check_facts(struct check *c)
{
	static const struct {
		enum compare_fact fact;
		const char *what;
		enum checked otherwise;
		const char *sentence;
	} rows[] = {
		{ FACT_groups, "groups", REFUSED, "other events were recorded" },
		{ FACT_functions, "functions", REFUSED, "other functions were probed" },
		{ FACT_machine, "architecture", REFUSED, "the processors are of another kind" },
		{ FACT_cpus, "CPUs", REFUSED, "the hosts have another number of CPUs" },
		{ FACT_targets, "targets", REFUSED,
		  "one is of all processes, the other of chosen ones" },
		{ FACT_kernel, "kernel", DIFFERS,
		  "the kernel is another one, which can be a cause by itself" },
		{ FACT_host, "host", DIFFERS,
		  "the host is another one, which can be a cause by itself" },
		{ FACT_obsrec, "obsrec", DIFFERS,
		  "the recorder, and its cost, is another version" },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]) && ret == 0; i++) {
		const char *before = of_side(c->s, 0, rows[i].fact);
		const char *after = of_side(c->s, 1, rows[i].fact);
		bool same = strcmp(before, after) == 0 && strcmp(before, "several") != 0;

		if (!*before && !*after)
			continue;
		ret = put(c, rows[i].what, before, after, same ? ALIKE : rows[i].otherwise,
			  rows[i].sentence);
	}
	return ret;
}

static double sum_lost(const struct sides *s, int side, bool share)
{
	double lost = 0, seen = 0;
	size_t i;

	for (i = 0; i < s->n[side]; i++) {
		lost += s->of[side][i].lost;
		seen += s->of[side][i].seen;
	}
	return share ? seen > 0 ? lost / seen : 0 : lost;
}

static int check_losses(struct check *c)
{
	double a = sum_lost(c->s, 0, true), b = sum_lost(c->s, 1, true);
	double least = fmax(fmin(a, b), 1e-12);
	char before[32], after[32];
	enum checked f = ALIKE;

	if (a > LOSS_MOST || b > LOSS_MOST ||
	    (fmax(a, b) > LOSS_LITTLE && fmax(a, b) / least > LOSS_APART))
		f = REFUSED;
	else if (a > 0 || b > 0)
		f = DIFFERS;
	snprintf(before, sizeof(before), "%.3g %%", 100 * a);
	snprintf(after, sizeof(after), "%.3g %%", 100 * b);
	return put(c, "lost events", before, after, f,
		   f == REFUSED ? "too many events were lost, or on one side only"
				: "events were lost; what they touch is left out");
}

static int check_lengths(struct check *c)
{
	double sum[2] = { 0, 0 }, apart;
	char text[2][32];
	size_t i;
	int side;

	for (side = 0; side < 2; side++) {
		for (i = 0; i < c->s->n[side]; i++)
			sum[side] += (double)c->s->of[side][i].duration / c->s->n[side];
		number_text(text[side], sizeof(text[side]), sum[side], "ns");
	}
	apart = fmax(sum[0], sum[1]) / fmax(fmin(sum[0], sum[1]), 1);
	return put(c, "length", text[0], text[1], apart > LENGTH_APART ? DIFFERS : ALIKE,
		   "one is much shorter: it has seen less of what happens seldom");
}

/* All requests a second of a side: of turns, else of probed calls. */
static double load_of(const struct sides *s, int side, enum compare_metric metric)
{
	double sum = 0;
	size_t i, k;

	for (i = 0; i < s->n[side]; i++)
		for (k = 0; k < s->of[side][i].n_samples; k++)
			if (s->of[side][i].samples[k].metric == metric)
				sum += s->of[side][i].samples[k].value / s->n[side];
	return sum;
}

static int check_load(struct check *c)
{
	enum compare_metric metric = COMPARE_turn_rate;
	double a = load_of(c->s, 0, metric), b = load_of(c->s, 1, metric), apart;
	char before[48], after[48];
	enum checked f;

	if (!(a > 0) && !(b > 0)) {
		metric = COMPARE_call_rate;
		a = load_of(c->s, 0, metric);
		b = load_of(c->s, 1, metric);
	}
	if (!(a > 0) && !(b > 0))
		return 0;
	apart = fmax(a, b) / fmax(fmin(a, b), 1e-9);
	f = apart > LOAD_FAR ? REFUSED : apart > LOAD_NEAR ? DIFFERS : ALIKE;
	snprintf(before, sizeof(before), "%.6g %s", a, compare_metrics[metric].name);
	snprintf(after, sizeof(after), "%.6g %s", b, compare_metrics[metric].name);
	return put(c, "load", before, after, f,
		   f == REFUSED ? "the load is another one"
				: "the load differs by more than 5 %: with more of it everything "
				  "waits longer");
}

/* Recordings in which the level of durations changes mix phases. */
static int check_steady(struct check *c)
{
	size_t unsteady[2] = { 0, 0 }, i, k;
	char text[2][64];
	bool moved;
	int side;

	for (side = 0; side < 2; side++) {
		for (i = 0; i < c->s->n[side]; i++) {
			const struct measured *m = &c->s->of[side][i];

			for (moved = false, k = 0; k < m->n_shapes; k++)
				moved |= m->shapes[k].levels > 1;
			unsteady[side] += moved;
		}
		snprintf(text[side], sizeof(text[side]),
			 unsteady[side] ? "changes of level" : "steady");
	}
	return put(c, "level", text[0], text[1], unsteady[0] || unsteady[1] ? DIFFERS : ALIKE,
		   "durations change their level within a recording: the whole of it mixes phases");
}

static int check_whole(struct check *c)
{
	size_t cut[2] = { 0, 0 }, i;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < c->s->n[side]; i++)
			cut[side] += !c->s->of[side][i].whole;
	return put(c, "completeness", cut[0] ? "cut or damaged" : "whole",
		   cut[1] ? "cut or damaged" : "whole", cut[0] || cut[1] ? DIFFERS : ALIKE,
		   "a recording is cut or damaged: what could be read was used");
}

static int check_same(struct check *c)
{
	size_t i, k;
	char id[16];

	for (i = 0; i < c->s->n[0]; i++)
		for (k = 0; k < c->s->n[1]; k++) {
			const char *a = c->s->of[0][i].facts[FACT_uuid];

			snprintf(id, sizeof(id), "%.8s", a);
			if (*a && strcmp(a, c->s->of[1][k].facts[FACT_uuid]) == 0)
				return put(c, "recording", id, id, DIFFERS,
					   "the same recording is on both sides");
		}
	return 0;
}

static int check_subjects(struct check *c)
{
	size_t i, common = 0;

	for (i = 0; i < c->s->of[0][0].n_samples; i++)
		common += compare_find(&c->s->of[1][0], c->s->of[0][0].samples[i].subject,
				       c->s->of[0][0].samples[i].metric) != NULL;
	if (common)
		return 0;
	return put(c, "subjects", "", "", REFUSED,
		   "no process, function or device is in both with enough work");
}

int compare_check(sqlite3 *db, const struct sides *s, struct buf *refused, struct err *e)
{
	static int (*const checks[])(struct check * c) = {
		check_facts, check_load,   check_losses, check_lengths,
		check_whole, check_steady, check_same,	 check_subjects,
	};
	struct check c = { db, s, refused, e };
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]) && ret == 0; i++)
		ret = checks[i](&c);
	return ret;
}
