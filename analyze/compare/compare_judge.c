// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ratio of each metric with its interval (stats_welch of stats/stats_compare.c),
 * and a verdict. With one recording a side the
 * windows of the recordings are the sample; with several, the recordings are, because runs differ
 * from each other more than windows of one run do.
 */
#include "compare_rows.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH		5   /* recordings a side */
#define SAMPLES_LEAST	300 /* below, --fail-on does not count it */
#define EFFECTIVE_LEAST 20
#define EFFECTIVE_FEW	100
#define CLEAR		0.01
#define MOSTLY		0.5 /* of the errors */
#define SIGNIFICANT	0.05

static const struct shape *shape_of(const struct measured *m, const struct row *row)
{
	return compare_shape(m, row->subject, compare_metrics[row->metric].what);
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

/* Of the same kind of duration; rows of other metrics: any of the subject or its process. */
static bool concerns(const struct shape *s, const struct row *row)
{
	const struct compared_subject *of = row->subject;

	if (of->kind == COMPARE_PROCESS)
		return s->subject.kind == COMPARE_SERVICE && strcmp(s->subject.comm, of->comm) == 0;
	return compare_same(&s->subject, of) &&
	       (compare_metrics[row->metric].form != FORM_QUANTILE ||
		strcmp(s->what, compare_metrics[row->metric].what) == 0);
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
			if (concerns(s, row) && is_so(s, row))
				return true;
		}
	}
	return false;
}

/* A difference no larger than what one recording does by itself. */
static bool within_levels(const struct shape *s, const struct row *row)
{
	return s->range >= fabs(row->c.diff);
}

/*
 * With 100 the windows have 10 each. With fewer their error is discounted, and the difference must
 * be clearer: how they scatter depends on few events. With less than EFFECTIVE_LEAST there is no
 * basis.
 */
static bool few_independent(const struct shape *s, const struct row *row)
{
	double worth = s->n / s->tau;

	return worth < EFFECTIVE_LEAST || (worth < EFFECTIVE_FEW && row->p >= CLEAR);
}

/* Errors of one moment (clients that hang up) are one event, however many calls it fails. */
static bool one_moment(const struct row *row)
{
	const struct side_of_row *more = &row->of[row->verdict == VERDICT_HIGHER];

	return row->metric == COMPARE_errors && more->burst > MOSTLY;
}

/* Why --fail-on excludes it; NULL: it counts. */
static const char *excluded(const struct rows *r, const struct row *row)
{
	const struct side_of_row *a = &row->of[0], *b = &row->of[1];

	if (row->metric >= COMPARE_block_p50 && row->metric <= COMPARE_block_p99) {
		if (strcmp(row->subject->protocol, "read") != 0 &&
		    strcmp(row->subject->protocol, "write") != 0)
			return "neither read nor write";
		if (r->s->of[0][0].chosen)
			return "other processes use the disk, too";
	}
	if (fmin(a->n, b->n) < SAMPLES_LEAST)
		return "few samples";
	return NULL;
}

/* Waits for a CPU that hardly exist next to the time on it: their ratio means nothing. */
static bool negligible(const struct rows *r, const struct row *row)
{
	enum compare_metric run =
		row->metric == COMPARE_runq_request ? COMPARE_run_request : COMPARE_run_share;
	const struct sample *a, *b;

	if (row->metric != COMPARE_runq_request && row->metric != COMPARE_runq_share)
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
static void widen(const struct rows *r, struct row *row)
{
	double pooled = (row->of[0].wander + row->of[1].wander) / 2;
	int side;

	for (side = 0; side < 2; side++)
		compare_discount(&row->of[side].log, row->of[side].units, &r->s->of[side][0],
				 row->subject, compare_metrics[row->metric].what);
	row->wanders = pooled > row->of[0].log.error * row->of[0].log.error +
					row->of[1].log.error * row->of[1].log.error;
	for (side = 0; side < 2 && pooled > 0; side++)
		stats_widen(&row->of[side].log, pooled, COMPARE_WANDER_DF);
}

/* Of a pair the exact test of independent events; of several recordings the rank test of rates. */
static void contrast_counts(const struct rows *r, struct row *row)
{
	struct side_of_row *a = &row->of[0], *b = &row->of[1];
	double clump;

	if (r->single && compare_metrics[row->metric].form == FORM_COUNT) {
		clump = (a->dispersion * a->n + b->dispersion * b->n) / (a->n + b->n);
		a->eff = a->n / clump;
		b->eff = b->n / clump;
		row->c = stats_counts(floor(a->eff), a->exposure, floor(b->eff), b->exposure);
		row->c.diff = log(b->n / b->exposure * a->exposure / a->n);
		return;
	}
	row->c = (struct contrast){ log(b->value / a->value), NAN, NAN, NAN, NAN, NAN, NAN };
	if (!r->single)
		row->mann_whitney = stats_mann_whitney(a->logs, a->units, b->logs, b->units);
	row->c.p = row->mann_whitney;
}

static void judge_rare(const struct rows *r, struct row *row)
{
	if (isnan(row->p)) {
		row->verdict = VERDICT_NO_DATA;
		snprintf(row->note, sizeof(row->note), "one value per recording");
		return;
	}
	row->verdict = VERDICT_INCONCLUSIVE;
	if (row->p < SIGNIFICANT && fabs(row->c.diff) >= log1p(r->threshold))
		row->verdict = row->c.diff > 0 ? VERDICT_HIGHER : VERDICT_LOWER;
	else if (row->c.low90 > -log1p(r->threshold) && row->c.high90 < log1p(r->threshold))
		row->verdict = VERDICT_EQUIVALENT;
}

/* Why a difference that one pair shows is not proved; NULL: it is. */
static const char *doubt(const struct rows *r, const struct row *row)
{
	const char *what = compare_metrics[row->metric].what;
	bool of_durations = strcmp(what, "rate") != 0 && strcmp(what, "idle") != 0;

	if (of_durations && any_shape(r, row, within_levels))
		return "its level changes as much in one of them";
	if (of_durations && any_shape(r, row, few_independent))
		return "too few independent durations";
	if (one_moment(row))
		return "most of them in one of the windows";
	if (!confirmed(r, row))
		return "the bootstrap does not confirm it";
	return NULL;
}

static void judge_row(const struct rows *r, struct row *row)
{
	bool dependent = row->of[0].log.dependent || row->of[1].log.dependent, moved;
	const char *why = NULL;

	row->verdict = stats_judge(&row->c, row->p, r->threshold);
	moved = row->verdict == VERDICT_HIGHER || row->verdict == VERDICT_LOWER;
	if (row->verdict == VERDICT_NO_DATA)
		why = !r->single					? "in too few recordings"
		      : compare_metrics[row->metric].form == FORM_VALUE ? "one value per recording"
									: "too few for windows";
	else if (negligible(r, row)) {
		row->verdict = VERDICT_EQUIVALENT;
		snprintf(row->note, sizeof(row->note), "below %.3g %% of the CPU time",
			 100 * r->threshold);
	} else if (r->single && moved && (why = doubt(r, row)))
		row->verdict = VERDICT_INCONCLUSIVE;
	else if (!r->single && (row->of[0].units < ENOUGH || row->of[1].units < ENOUGH))
		snprintf(row->note, sizeof(row->note), "fewer than %d recordings a side", ENOUGH);
	else if (row->wanders)
		why = "its level is non-stationary";
	else if (dependent && r->single)
		why = "windows depend on each other";
	if (why)
		snprintf(row->note, sizeof(row->note), "%s", why);
}

static void judge_gate(const struct rows *r, struct row *row)
{
	const char *why = excluded(r, row);

	row->gates = !why;
	if (why && row->verdict == VERDICT_HIGHER &&
	    strcmp(compare_metrics[row->metric].higher, "slower") == 0)
		snprintf(row->note, sizeof(row->note), "not for --fail-on: %s", why);
}

static void contrast_of(const struct rows *r, struct row *row)
{
	if (rows_rare(row->metric)) {
		contrast_counts(r, row);
		return;
	}
	if (r->single)
		widen(r, row);
	row->c = stats_welch(&row->of[0].log, &row->of[1].log);
	if (!r->single)
		row->mann_whitney = stats_mann_whitney(row->of[0].logs, row->of[0].units,
						       row->of[1].logs, row->of[1].units);
}

static bool judge_all(struct rows *r)
{
	double p[ROWS_MOST], holm[ROWS_MOST];
	size_t i;

	for (i = 0; i < r->n; i++) {
		contrast_of(r, &r->of[i]);
		p[i] = r->of[i].c.p;
	}
	if (!stats_holm(p, r->n, holm))
		return false;
	for (i = 0; i < r->n; i++) {
		r->of[i].p = holm[i];
		if (rows_rare(r->of[i].metric))
			judge_rare(r, &r->of[i]);
		else
			judge_row(r, &r->of[i]);
		judge_gate(r, &r->of[i]);
	}
	return true;
}

/* What changed first, the most first; the rest stays in its order. */
static int by_importance(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	bool cx = x->verdict == VERDICT_HIGHER || x->verdict == VERDICT_LOWER;
	bool cy = y->verdict == VERDICT_HIGHER || y->verdict == VERDICT_LOWER;
	char text[2][COMPARE_TEXT];

	if (cx != cy)
		return cy - cx;
	if (cx && fabs(x->c.diff) != fabs(y->c.diff))
		return fabs(x->c.diff) < fabs(y->c.diff) ? 1 : -1;
	compare_subject_text(text[0], sizeof(text[0]), x->subject);
	compare_subject_text(text[1], sizeof(text[1]), y->subject);
	if (strcmp(text[0], text[1]) != 0)
		return strcmp(text[0], text[1]);
	return (int)x->metric - (int)y->metric;
}

static double or_nan(double v)
{
	return isfinite(v) ? v : NAN;
}

static int put_row(sqlite3 *db, const struct row *r, struct err *e)
{
	const struct compare_desc *d = &compare_metrics[r->metric];
	const char *words[] = { [VERDICT_NO_DATA] = "too few",
				[VERDICT_INCONCLUSIVE] = "inconclusive",
				[VERDICT_EQUIVALENT] = "equivalent",
				[VERDICT_HIGHER] = d->higher,
				[VERDICT_LOWER] = d->lower };
	char text[COMPARE_TEXT];
	const struct compared_subject *s = r->subject;

	compare_subject_text(text, sizeof(text), s);
	return db_insert(db, TABLE_change, e, COMPARE_COLUMNS_FMT "ssssdddddddssdddddiii",
			 COMPARE_COLUMNS(s), text, d->what, d->name, d->unit, r->of[0].value,
			 r->of[1].value, or_nan(exp(r->c.diff)), exp(r->c.low),
			 or_nan(exp(r->c.high)), r->p, r->mann_whitney, words[r->verdict], r->note,
			 r->bound, r->of[0].n, r->of[1].n, r->of[0].eff, r->of[1].eff,
			 (s64)r->of[0].units, (s64)r->of[1].units, (s64)r->gates);
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
	rows_collect(r);
	if (!judge_all(r))
		ret = err_set(e, ERR_FAIL, "out of memory for metrics");
	qsort(r->of, r->n, sizeof(*r->of), by_importance);
	for (i = 0; i < r->n && ret == 0; i++)
		ret = put_row(db, &r->of[i], e);
	free(r);
	return ret;
}
