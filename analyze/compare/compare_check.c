// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Are the recordings comparable? What was recorded, on what machine, under which load, how
 * completely. A difference that makes comparing meaningless refuses it; others are findings.
 */
#include "compare.h"

#include "analyze/base/number.h"
#include "analyze/store/finding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOAD_NEAR 1.05 /* rates of requests that differ more are reported */
#define LOAD_FAR                                                                        \
	2.0 /* more of it refuses: a higher load is another question; less is a finding \
	     */
#define LOSS_MOST    0.01
#define LOSS_RATIO   3.0
#define LOSS_LITTLE  0.001 /* less is comparable whatever its ratio */
#define LENGTH_RATIO 3.0

enum comparable { COMPARABLE, DIFFERS, REFUSED };

struct check {
	sqlite3 *db;
	const struct sides *s;
	int refused;
	struct err *e;
};

/* One row, and a finding unless comparable. unit NULL: the values are texts. */
struct checked {
	const char *what;
	enum comparable verdict;
	enum finding_kind kind;
	const char *text[2];
	const char *unit;
	double number[2];
};

static int put(struct check *c, const struct checked *x)
{
	static const char *const words[] = { "comparable", "differs", "refused" };
	struct value values[3] = { VALUE_TEXT("before", x->text[0]),
				   VALUE_TEXT("after", x->text[1]),
				   { 0 } };
	struct finding f = { x->kind, x->verdict == REFUSED ? WARNING : NOTE, LIMIT,
			     .sql = "SELECT * FROM comparability", .values = values };
	char text[2][32];
	s64 id = 0;
	int i, ret = 0;

	for (i = 0; i < 2; i++) {
		if (x->unit) {
			number_text(text[i], sizeof(text[i]), x->number[i], x->unit);
			if (strcmp(x->unit, "%") == 0)
				snprintf(text[i], sizeof(text[i]), "%.3g %%", x->number[i]);
			values[i].text = NULL;
			values[i].number = x->number[i];
			values[i].unit = x->unit;
		} else if (!*values[i].text) {
			values[i].text = "none";
		}
	}
	if (x->verdict != COMPARABLE)
		ret = finding_put(c->db, "compare", &f, &id, c->e);
	c->refused += x->verdict == REFUSED;
	if (ret < 0)
		return ret;
	return db_insert(c->db, TABLE_comparability, c->e, "ssssi", x->what,
			 x->unit ? text[0] : x->text[0], x->unit ? text[1] : x->text[1],
			 words[x->verdict], id);
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
		enum comparable otherwise;
		enum finding_kind kind;
	} rows[] = {
		{ FACT_groups, "groups", REFUSED, FINDING_compare_groups },
		{ FACT_functions, "functions", REFUSED, FINDING_compare_functions },
		{ FACT_machine, "architecture", REFUSED, FINDING_compare_machine },
		{ FACT_cpus, "CPUs", REFUSED, FINDING_compare_cpus },
		{ FACT_targets, "targets", REFUSED, FINDING_compare_targets },
		{ FACT_kernel, "kernel", DIFFERS, FINDING_compare_kernel },
		{ FACT_host, "host", DIFFERS, FINDING_compare_host },
		{ FACT_obsrec, "obsrec", DIFFERS, FINDING_compare_obsrec },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]) && ret == 0; i++) {
		const char *before = of_side(c->s, 0, rows[i].fact);
		const char *after = of_side(c->s, 1, rows[i].fact);
		bool same = strcmp(before, after) == 0 && strcmp(before, "several") != 0;

		if (!*before && !*after)
			continue;
		ret = put(c, &(struct checked){ rows[i].what, same ? COMPARABLE : rows[i].otherwise,
						rows[i].kind, .text = { before, after } });
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
	return share ? seen + lost > 0 ? lost / (seen + lost) : 0 : lost;
}

static int check_losses(struct check *c)
{
	double a = sum_lost(c->s, 0, true), b = sum_lost(c->s, 1, true);
	double least = fmax(fmin(a, b), 1e-12);
	enum comparable v = a > 0 || b > 0 ? DIFFERS : COMPARABLE;

	if (a > LOSS_MOST || b > LOSS_MOST ||
	    (fmax(a, b) > LOSS_LITTLE && fmax(a, b) / least > LOSS_RATIO))
		v = REFUSED;
	return put(c, &(struct checked){ "lost events", v,
					 v == REFUSED ? FINDING_compare_lost_much
						      : FINDING_compare_lost,
					 .unit = "%", .number = { 100 * a, 100 * b } });
}

static int check_lengths(struct check *c)
{
	double sum[2] = { 0, 0 }, ratio;
	size_t i;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < c->s->n[side]; i++)
			sum[side] += (double)c->s->of[side][i].duration / c->s->n[side];
	ratio = fmax(sum[0], sum[1]) / fmax(fmin(sum[0], sum[1]), 1);
	return put(c, &(struct checked){ "length", ratio > LENGTH_RATIO ? DIFFERS : COMPARABLE,
					 FINDING_compare_length, .unit = "ns",
					 .number = { sum[0], sum[1] } });
}

/* All requests per second of a side, names aside, which are parts of them; else probed calls. */
static double load_of(const struct sides *s, int side, enum compare_metric metric)
{
	const struct sample *a;
	double sum = 0;
	size_t i, k;

	for (i = 0; i < s->n[side]; i++)
		for (k = 0; k < s->of[side][i].n_samples; k++) {
			a = &s->of[side][i].samples[k];
			if (a->metric == metric && a->subject.kind != COMPARE_REQUEST)
				sum += a->value / s->n[side];
		}
	return sum;
}

static int check_load(struct check *c)
{
	enum compare_metric metric = COMPARE_request_rate;
	double a = load_of(c->s, 0, metric), b = load_of(c->s, 1, metric);
	enum comparable v = COMPARABLE;

	if (!(a > 0) && !(b > 0)) {
		metric = COMPARE_call_rate;
		a = load_of(c->s, 0, metric);
		b = load_of(c->s, 1, metric);
	}
	if (!(a > 0) && !(b > 0))
		return 0;
	if (b > LOAD_FAR * a)
		v = REFUSED;
	else if (fmax(a, b) > LOAD_NEAR * fmin(a, b))
		v = DIFFERS;
	return put(c, &(struct checked){ compare_metrics[metric].name, v,
					 v == REFUSED ? FINDING_compare_load_high
						      : FINDING_compare_load,
					 .unit = "", .number = { a, b } });
}

/* Recordings in which the level of durations changes mix phases. */
static int check_steady(struct check *c)
{
	size_t unsteady[2] = { 0, 0 }, i, k;
	bool moved;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < c->s->n[side]; i++) {
			const struct measured *m = &c->s->of[side][i];

			for (moved = false, k = 0; k < m->n_shapes; k++)
				moved |= m->shapes[k].levels > 1;
			unsteady[side] += moved;
		}
	return put(c, &(struct checked){ "level", unsteady[0] || unsteady[1] ? DIFFERS : COMPARABLE,
					 FINDING_compare_unsteady,
					 .text = { unsteady[0] ? "changes of level" : "steady",
						   unsteady[1] ? "changes of level" : "steady" } });
}

static int check_complete(struct check *c)
{
	size_t cut[2] = { 0, 0 }, i;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < c->s->n[side]; i++)
			cut[side] += !c->s->of[side][i].complete;
	return put(c,
		   &(struct checked){ "completeness", cut[0] || cut[1] ? DIFFERS : COMPARABLE,
				      FINDING_compare_truncated,
				      .text = { cut[0] ? "truncated or damaged" : "complete",
						cut[1] ? "truncated or damaged" : "complete" } });
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
				return put(c, &(struct checked){ "recording", DIFFERS,
								 FINDING_compare_same,
								 .text = { id, id } });
		}
	return 0;
}

static int check_subjects(struct check *c)
{
	size_t i, common = 0;

	for (i = 0; i < c->s->of[0][0].n_samples; i++)
		common += compare_find(&c->s->of[1][0], &c->s->of[0][0].samples[i].subject,
				       c->s->of[0][0].samples[i].metric) != NULL;
	if (common)
		return 0;
	return put(c, &(struct checked){ "subjects", REFUSED, FINDING_compare_no_subject,
					 .text = { "", "" } });
}

int compare_check(sqlite3 *db, const struct sides *s, int *ret_refused, struct err *e)
{
	static int (*const checks[])(struct check * c) = {
		check_facts,	check_load,   check_losses, check_lengths,
		check_complete, check_steady, check_same,   check_subjects,
	};
	struct check c = { db, s, 0, e };
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]) && ret == 0; i++)
		ret = checks[i](&c);
	*ret_refused = c.refused;
	return ret;
}
