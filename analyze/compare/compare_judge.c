// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ratio of each metric with its interval, and a verdict. With one recording a side the
 * windows of the recordings are the sample; with several, the recordings are, because runs differ
 * from each other more than windows of one run do.
 */
#include "compare.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MOST	400
#define ERRORS_LEAST	10  /* fewer on both sides are no metric */
#define MANY		1e6 /* degrees of freedom: nothing was estimated */
#define ENOUGH		5   /* recordings a side */
#define SAMPLES_LEAST	300 /* below, --fail-on does not count it */
#define EFFECTIVE_LEAST 100
#define MOSTLY		0.5 /* of the errors */
#define WANDER_DF	6   /* of the pooled variance of 4 quarters of 2 recordings */

struct side_of_row {
	double value, n, eff;
	int units;
	struct estimate log;
	double wander, burst;
	double logs[COMPARE_SIDE_MOST];
};

struct row {
	const char *subject;
	enum compare_metric metric;
	struct side_of_row of[2];
	struct contrast c;
	double p, mann_whitney;
	enum verdict verdict;
	bool gates;   /* counts for --fail-on */
	bool wanders; /* its level, by more than the windows scatter */
	char note[120];
};

struct rows {
	const struct sides *s;
	double threshold;
	bool single; /* one recording a side */
	struct row of[ROWS_MOST];
	size_t n;
};

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

/* Errors of both sides; false: too few to speak of. */
static bool worth_it(const struct sides *s, const char *subject, enum compare_metric metric)
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
		if (r->of[i].metric == s->metric && strcmp(r->of[i].subject, s->subject) == 0)
			return true;
	return false;
}

/* Every metric that both sides have. */
static void collect(struct rows *r)
{
	const struct sides *s = r->s;
	size_t i, k;
	int side;

	for (i = 0; i < s->n[0]; i++)
		for (k = 0; k < s->of[0][i].n_samples && r->n < ROWS_MOST; k++) {
			const struct sample *a = &s->of[0][i].samples[k], *b;
			struct row *row = &r->of[r->n];

			b = compare_find(&s->of[1][0], a->subject, a->metric);
			if (!b || known(r, a) || !worth_it(s, a->subject, a->metric))
				continue;
			*row = (struct row){ .subject = a->subject, .metric = a->metric };
			row->mann_whitney = NAN;
			r->n++;
			for (side = 0; side < 2; side++)
				if (!r->single)
					from_recordings(&row->of[side], s, side, row);
			if (r->single) {
				from_windows(&row->of[0], a);
				from_windows(&row->of[1], b);
			}
		}
}

static const struct shape *shape_of(const struct measured *m, const struct row *row)
{
	size_t i, n = strcspn(compare_metrics[row->metric].name, " ");

	for (i = 0; i < m->n_shapes; i++)
		if (strcmp(m->shapes[i].subject, row->subject) == 0 &&
		    strncmp(m->shapes[i].what, compare_metrics[row->metric].name, n) == 0)
			return &m->shapes[i];
	return NULL;
}

/* Does the block bootstrap of the whole recordings see a difference in the same direction? */
static bool confirmed(const struct rows *r, const struct row *row)
{
	const struct shape *a = shape_of(&r->s->of[0][0], row), *b = shape_of(&r->s->of[1][0], row);
	double diff[SHAPE_REPS], q = compare_metrics[row->metric].quantile;
	size_t i, at;

	if (q == 0 || !a || !b || !a->boot || !b->boot)
		return true;
	for (at = 0; at + 1 < SHAPE_POINTS && compare_shape_at[at] < q; at++)
		;
	for (i = 0; i < SHAPE_REPS; i++)
		diff[i] = b->boot[i * SHAPE_POINTS + at] - a->boot[i * SHAPE_POINTS + at];
	gsl_sort(diff, 1, SHAPE_REPS);
	if (row->verdict == VERDICT_HIGHER)
		return gsl_stats_quantile_from_sorted_data(diff, 1, SHAPE_REPS, 0.025) > 0;
	return gsl_stats_quantile_from_sorted_data(diff, 1, SHAPE_REPS, 0.975) < 0;
}

/* True if the durations of the row's subject, or those of its process, are so on either side. */
static bool any_shape(const struct rows *r, const struct row *row,
		      bool (*is_so)(const struct shape *s, const struct row *row))
{
	const struct measured *m;
	const struct shape *s;
	size_t i;
	int side;

	for (side = 0; side < 2; side++) {
		m = &r->s->of[side][0];
		for (i = 0; i < m->n_shapes; i++) {
			s = &m->shapes[i];
			if ((strcmp(s->subject, row->subject) == 0 ||
			     strcmp(s->process, row->subject) == 0) &&
			    is_so(s, row))
				return true;
		}
	}
	return false;
}

/* A difference no larger than what one recording does by itself. */
static bool within_levels(const struct shape *s, const struct row *row)
{
	return s->apart >= fabs(row->c.diff);
}

/*
 * The method needs 20 tau in each of 10 windows. With less than half of it, the windows hardly hold
 * more than one independent duration, and what they scatter by says little about the next
 * recording.
 */
static bool few_independent(const struct shape *s, const struct row *row)
{
	(void)row;
	return s->n < EFFECTIVE_LEAST * s->tau;
}

/* Errors of one moment (clients that hang up) are one event, however many calls it fails. */
static bool one_moment(const struct row *row)
{
	const struct side_of_row *more = &row->of[row->verdict == VERDICT_HIGHER];

	return row->metric == COMPARE_errors && more->burst > MOSTLY;
}

static bool reads_or_writes(const char *subject)
{
	const char *last = strrchr(subject, ' ');

	return last && (strcmp(last, " read") == 0 || strcmp(last, " write") == 0);
}

/* Why --fail-on leaves it out; NULL: it counts. */
static const char *left_out(const struct rows *r, const struct row *row)
{
	const struct side_of_row *a = &row->of[0], *b = &row->of[1];

	if (row->metric >= COMPARE_block_p50 && row->metric <= COMPARE_block_p99) {
		if (!reads_or_writes(row->subject))
			return "neither read nor write";
		if (strncmp(r->s->of[0][0].facts[FACT_targets], "chosen", 6) == 0)
			return "disks serve other processes, too";
	}
	if (fmin(a->n, b->n) < SAMPLES_LEAST)
		return "few samples";
	return NULL;
}

/* Waits for a CPU that hardly exist beside the time on it: their ratio means nothing. */
static bool negligible(const struct rows *r, const struct row *row)
{
	enum compare_metric run =
		row->metric == COMPARE_runq_turn ? COMPARE_run_turn : COMPARE_run_share;
	const struct sample *a, *b;

	if (row->metric != COMPARE_runq_turn && row->metric != COMPARE_runq_share)
		return false;
	a = compare_find(&r->s->of[0][0], row->subject, run);
	b = compare_find(&r->s->of[1][0], row->subject, run);
	return a && b && row->of[0].value < r->threshold * a->value &&
	       row->of[1].value < r->threshold * b->value;
}

/*
 * One recording a side: how far levels wander within the two is pooled and counts as their
 * least variance from run to run. Without it, pairs of the same server and load differ
 * significantly as soon as the machine has slower and faster seconds.
 */
static void widen(struct row *row)
{
	double pooled = (row->of[0].wander + row->of[1].wander) / 2;
	int side;

	row->wanders = pooled > row->of[0].log.error * row->of[0].log.error +
					row->of[1].log.error * row->of[1].log.error;
	for (side = 0; side < 2 && pooled > 0; side++)
		stats_widen(&row->of[side].log, pooled, WANDER_DF);
}

static void judge_row(const struct rows *r, struct row *row)
{
	bool dependent = row->of[0].log.dependent || row->of[1].log.dependent, moved;
	const char *why;

	row->verdict = stats_judge(&row->c, row->p, r->threshold);
	moved = row->verdict == VERDICT_HIGHER || row->verdict == VERDICT_LOWER;
	if (row->verdict == VERDICT_NO_DATA)
		snprintf(row->note, sizeof(row->note), "%s",
			 r->single ? "too few for windows" : "in too few recordings");
	else if (negligible(r, row)) {
		row->verdict = VERDICT_EQUIVALENT;
		snprintf(row->note, sizeof(row->note), "below %.3g %% of the CPU time",
			 100 * r->threshold);
	} else if (r->single && moved && any_shape(r, row, within_levels)) {
		row->verdict = VERDICT_INCONCLUSIVE;
		snprintf(row->note, sizeof(row->note), "its level changes as much in one of them");
	} else if (r->single && moved && any_shape(r, row, few_independent)) {
		row->verdict = VERDICT_INCONCLUSIVE;
		snprintf(row->note, sizeof(row->note), "too few independent durations");
	} else if (r->single && moved && one_moment(row)) {
		row->verdict = VERDICT_INCONCLUSIVE;
		snprintf(row->note, sizeof(row->note), "most of them in one of the windows");
	} else if (r->single && moved && !confirmed(r, row)) {
		row->verdict = VERDICT_INCONCLUSIVE;
		snprintf(row->note, sizeof(row->note), "the bootstrap does not confirm it");
	} else if (!r->single && (row->of[0].units < ENOUGH || row->of[1].units < ENOUGH))
		snprintf(row->note, sizeof(row->note), "fewer than %d recordings a side", ENOUGH);
	else if (row->wanders)
		snprintf(row->note, sizeof(row->note), "its level wanders");
	else if (dependent && r->single)
		snprintf(row->note, sizeof(row->note), "windows depend on each other");
	why = left_out(r, row);
	row->gates = !why;
	if (why && row->verdict == VERDICT_HIGHER)
		snprintf(row->note, sizeof(row->note), "not for --fail-on: %s", why);
}

static bool judge_all(struct rows *r)
{
	double p[ROWS_MOST], holm[ROWS_MOST];
	size_t i;

	for (i = 0; i < r->n; i++) {
		struct row *row = &r->of[i];

		if (r->single)
			widen(row);
		row->c = stats_welch(&row->of[0].log, &row->of[1].log);
		p[i] = row->c.p;
		if (!r->single)
			row->mann_whitney = stats_mann_whitney(row->of[0].logs, row->of[0].units,
							       row->of[1].logs, row->of[1].units);
	}
	if (!stats_holm(p, r->n, holm))
		return false;
	for (i = 0; i < r->n; i++) {
		r->of[i].p = holm[i];
		judge_row(r, &r->of[i]);
	}
	return true;
}

/* What changed first, the most first; the rest stays in its order. */
static int by_importance(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	bool cx = x->verdict == VERDICT_HIGHER || x->verdict == VERDICT_LOWER;
	bool cy = y->verdict == VERDICT_HIGHER || y->verdict == VERDICT_LOWER;

	if (cx != cy)
		return cy - cx;
	if (cx && fabs(x->c.diff) != fabs(y->c.diff))
		return fabs(x->c.diff) < fabs(y->c.diff) ? 1 : -1;
	if (strcmp(x->subject, y->subject) != 0)
		return strcmp(x->subject, y->subject);
	return (int)x->metric - (int)y->metric;
}

static int put_row(sqlite3 *db, const struct row *r, struct err *e)
{
	const struct compare_desc *d = &compare_metrics[r->metric];
	const char *words[] = { [VERDICT_NO_DATA] = "no data",
				[VERDICT_INCONCLUSIVE] = "inconclusive",
				[VERDICT_EQUIVALENT] = "equivalent",
				[VERDICT_HIGHER] = d->higher,
				[VERDICT_LOWER] = d->lower };

	return db_insert(db, TABLE_change, e, "sssdddddddssddddiii", r->subject, d->name, d->unit,
			 r->of[0].value, r->of[1].value, exp(r->c.diff), exp(r->c.low),
			 exp(r->c.high), r->p, r->mann_whitney, words[r->verdict], r->note,
			 r->of[0].n, r->of[1].n, r->of[0].eff, r->of[1].eff, (s64)r->of[0].units,
			 (s64)r->of[1].units, (s64)r->gates);
}

int compare_judge(sqlite3 *db, const struct sides *s, double threshold, struct err *e)
{
	struct rows *r = calloc(1, sizeof(*r));
	size_t i;
	int ret = 0;

	if (!r)
		return err_set(e, ERR_FAIL, "out of memory for metrics");
	r->s = s;
	r->threshold = threshold;
	r->single = s->n[0] == 1 && s->n[1] == 1;
	collect(r);
	if (!judge_all(r))
		ret = err_set(e, ERR_FAIL, "out of memory for metrics");
	qsort(r->of, r->n, sizeof(*r->of), by_importance);
	for (i = 0; i < r->n && ret == 0; i++)
		ret = put_row(db, &r->of[i], e);
	free(r);
	return ret;
}
