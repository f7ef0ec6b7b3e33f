// SPDX-License-Identifier: GPL-2.0-or-later
/* Which metrics both sides have, and each side's value, sample size and estimate. */
#include "compare_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ERRORS_LEAST 10	 /* fewer on both sides are no metric */
#define MANY	     1e6 /* degrees of freedom: nothing was estimated */

/* Half an error where there were none, so that a ratio exists (Haldane); sure of nothing else. */
static void without_errors(struct side_of_row *r)
{
	r->log = (struct estimate){ log(50 / fmax(r->n, 1)), M_SQRT2, MANY, false };
	r->units = 1;
}

static void from_windows(struct side_of_row *r, const struct sample *s)
{
	r->value = s->value;
	r->n = s->n;
	r->eff = s->tau > 0 ? s->n / s->tau : NAN;
	r->units = s->windows;
	r->log = s->log;
	r->wander = s->wander;
	r->burst = s->burst;
	if (s->metric == COMPARE_errors && s->value == 0)
		without_errors(r);
}

/* The recordings that have it; the value is their geometric mean. */
static void from_recordings(struct side_of_row *r, const struct sides *s, int side,
			    const struct row *row)
{
	const struct sample *x;
	size_t i;

	r->eff = NAN;
	for (i = 0; i < s->n[side]; i++) {
		x = compare_find(&s->of[side][i], row->subject, row->metric);
		if (!x || !(x->value > 0))
			continue;
		r->logs[r->units++] = log(x->value);
		r->n += x->n;
	}
	r->log = stats_mean_of(r->logs, r->units);
	r->log.dependent = false;
	r->value = exp(r->log.value);
}

bool rows_rare(enum compare_metric metric)
{
	return compare_metrics[metric].form == FORM_COUNT || metric == COMPARE_pause_time;
}

static void from_counts(struct side_of_row *r, const struct sides *s, int side,
			const struct row *row)
{
	const struct sample *x;
	struct events one;
	double total = 0;
	size_t i;

	r->eff = NAN;
	r->dispersion = 1;
	r->log = (struct estimate){ NAN, NAN, 0, false };
	for (i = 0; i < s->n[side]; i++) {
		x = compare_find(&s->of[side][i], row->subject, row->metric);
		if (!x || !(x->exposure > 0))
			continue;
		one = row->metric == COMPARE_slow_episodes ? x->slow[row->slow] : x->events;
		if (row->metric == COMPARE_pause_time)
			one.n = x->value;
		r->n += row->metric == COMPARE_pause_time ? x->n : one.n;
		r->dispersion = fmax(r->dispersion, one.dispersion);
		r->exposure += x->exposure;
		r->logs[r->units++] = one.n / x->exposure;
		total += one.n;
	}
	r->value = total / fmax(r->units, 1);
}

/* The first bound above twice the p99 of both sides: what is rarer than quantiles can show. */
static int slow_bound(const struct rows *r, const struct row *row)
{
	double p99 = 0;
	int side, i = 0;

	for (side = 0; side < 2; side++) {
		const struct sample *x =
			compare_find(&r->s->of[side][0], row->subject, COMPARE_request_p99);

		p99 = x ? fmax(p99, x->value) : p99;
	}
	while (i + 1 < SLOW_BOUNDS && compare_slow_bounds[i] < 2 * p99)
		i++;
	return i;
}

static void set_bound(const struct rows *r, struct row *row)
{
	row->bound = NAN;
	if (row->metric == COMPARE_pauses || row->metric == COMPARE_pause_time)
		row->bound = COMPARE_PAUSE;
	if (row->metric != COMPARE_slow_episodes)
		return;
	row->slow = slow_bound(r, row);
	row->bound = compare_slow_bounds[row->slow];
}

/* Errors of both sides; false: too few to speak of. */
static bool worth_it(const struct sides *s, const struct compared_subject *subject,
		     enum compare_metric metric)
{
	double errors = 0;
	size_t i;
	int side;

	if (metric != COMPARE_errors)
		return true;
	for (side = 0; side < 2; side++)
		for (i = 0; i < s->n[side]; i++) {
			const struct sample *x = compare_find(&s->of[side][i], subject, metric);

			errors = x ? fmax(errors, x->value * x->n / 100) : errors;
		}
	return errors >= ERRORS_LEAST;
}

static bool known(const struct rows *r, const struct sample *s)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->of[i].metric == s->metric && compare_same(r->of[i].subject, &s->subject))
			return true;
	return false;
}

static void read_row(const struct rows *r, struct row *row, const struct sample *a,
		     const struct sample *b)
{
	int side;

	row->mann_whitney = NAN;
	set_bound(r, row);
	for (side = 0; side < 2; side++)
		if (rows_rare(row->metric))
			from_counts(&row->of[side], r->s, side, row);
		else if (r->single)
			from_windows(&row->of[side], side ? b : a);
		else
			from_recordings(&row->of[side], r->s, side, row);
}

void rows_collect(struct rows *r)
{
	const struct sides *s = r->s;
	size_t i, k;

	for (i = 0; i < s->n[0]; i++)
		for (k = 0; k < s->of[0][i].n_samples && r->n < ROWS_MOST; k++) {
			const struct sample *a = &s->of[0][i].samples[k], *b;
			struct row *row = &r->of[r->n];

			b = compare_find(&s->of[1][0], &a->subject, a->metric);
			if (!b || known(r, a) || !worth_it(s, &a->subject, a->metric))
				continue;
			*row = (struct row){ .subject = &a->subject, .metric = a->metric };
			read_row(r, row, a, b);
			r->n += !rows_rare(a->metric) || row->of[0].value + row->of[1].value > 0;
		}
}
