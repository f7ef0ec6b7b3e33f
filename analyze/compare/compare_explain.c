// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the extra time of a unit of work went, and which quantiles of durations moved. Both
 * sides are drawn again on their own: blocks of time of one recording, or recordings.
 */
#include "compare.h"

#include "analyze/causes/category.h"
#include "analyze/stats/stats_boot.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPETITIONS 1000
#define SUBJECTS    8 /* units explained */

/* Mean times of a unit of one subject on one side, [N_CATEGORIES] is all of it. */
struct means {
	double n;
	double mean[N_CATEGORIES + 1];
	struct estimate est[N_CATEGORIES + 1]; /* over recordings */
	double *boot[N_CATEGORIES + 1];	       /* over blocks; NULL: none */
};

struct drawing_of {
	const struct units **u; /* units of one subject: processes with one name */
	size_t n;
	int category;
};

static double sum_of(const struct unit_sums *s, int category)
{
	double sum = 0;
	int i;

	if (category == N_CATEGORIES)
		return s->wall;
	for (i = 0; i < N_SPENT; i++)
		sum += (int)category_of(i) == category ? s->spent[i] : 0;
	return sum;
}

/* The mean over the blocks that order names. */
static double mean_of(const struct drawing_of *d, const size_t *order, size_t n)
{
	double sum = 0, units = 0;
	size_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < d->n; k++) {
			const struct unit_sums *s = &d->u[k]->blocks[order ? order[i] : i].all;

			sum += sum_of(s, d->category);
			units += s->n;
		}
	return units > 0 ? sum / units : NAN;
}

struct recorder_of_draws {
	struct drawing_of d;
	double *to;
	size_t n;
};

/* stats_boot keeps no draws; the first call is the estimate itself. */
static double keep_draw(void *arg, const size_t *order, size_t n)
{
	struct recorder_of_draws *r = arg;
	double v = mean_of(&r->d, order, n);

	r->to[r->n++] = v;
	return v;
}

/* The units of the subject in one recording. */
static size_t units_of(const struct measured *m, const char *subject, const struct units **ret)
{
	char name[COMPARE_SUBJECT];
	size_t i, n = 0;

	for (i = 0; i < m->n_units && n < UNIT_SUBJECTS; i++) {
		compare_strip(name, sizeof(name), m->units[i].name);
		if (strcmp(name, subject) == 0)
			ret[n++] = &m->units[i];
	}
	return n;
}

static int boot_side(struct means *ret, const struct units **u, size_t n, int category,
		     struct err *e)
{
	struct recorder_of_draws r = { { u, n, category }, NULL, 0 };

	r.to = calloc(REPETITIONS + 1, sizeof(*r.to));
	if (!r.to)
		return err_set(e, ERR_FAIL, "out of memory for the bootstrap");
	stats_boot(UNIT_BLOCKS, stats_boot_block(UNIT_BLOCKS), REPETITIONS, keep_draw, &r);
	ret->boot[category] = r.to;
	ret->mean[category] = r.to[0];
	return 0;
}

static int means_of(struct means *ret, const struct sides *s, int side, const char *subject,
		    struct err *e)
{
	const struct units *u[UNIT_SUBJECTS];
	double logs[COMPARE_SIDE_MOST];
	size_t i, k, n, found;
	int c, r = 0;

	*ret = (struct means){ 0 };
	for (c = 0; c <= N_CATEGORIES && r == 0; c++) {
		for (found = 0, i = 0; i < s->n[side] && r == 0; i++) {
			n = units_of(&s->of[side][i], subject, u);
			for (k = 0; k < n && c == 0; k++)
				ret->n += u[k]->n;
			if (n && s->n[side] == 1)
				r = boot_side(ret, u, n, c, e);
			else if (n)
				logs[found++] =
					mean_of(&(struct drawing_of){ u, n, c }, NULL, UNIT_BLOCKS);
		}
		if (s->n[side] == 1)
			continue;
		ret->est[c] = stats_mean_of(logs, found);
		ret->mean[c] = ret->est[c].value;
	}
	return r;
}

static void interval(const struct means *a, const struct means *b, int c, double *low, double *high)
{
	double diff[REPETITIONS];
	struct contrast w;
	size_t i, n = 0;

	*low = *high = NAN;
	if (!a->boot[c] || !b->boot[c]) {
		w = stats_welch(&a->est[c], &b->est[c]);
		*low = w.low;
		*high = w.high;
		return;
	}
	/* the same seed drew the blocks of both sides: paired backwards, draws are unlike */
	for (i = 1; i <= REPETITIONS; i++) {
		diff[n] = b->boot[c][REPETITIONS + 1 - i] - a->boot[c][i];
		n += !isnan(diff[n]);
	}
	if (n < REPETITIONS / 2)
		return;
	gsl_sort(diff, 1, n);
	*low = gsl_stats_quantile_from_sorted_data(diff, 1, n, 0.025);
	*high = gsl_stats_quantile_from_sorted_data(diff, 1, n, 0.975);
}

static int put_subject(sqlite3 *db, const char *subject, const struct means *a,
		       const struct means *b, struct err *e)
{
	double low, high;
	int c, at, ret = 0;

	for (at = 0; at <= N_CATEGORIES && ret == 0; at++) {
		c = at == 0 ? N_CATEGORIES : at - 1; /* all of it first */
		if (!(a->mean[c] > 0) && !(b->mean[c] > 0))
			continue;
		interval(a, b, c, &low, &high);
		ret = db_insert(db, TABLE_excess, e, "sssddddddd", subject,
				c == N_CATEGORIES ? "all" : category_names[c],
				c == N_CATEGORIES ? "all of it" : category_says[c], a->mean[c],
				b->mean[c], b->mean[c] - a->mean[c], low, high, a->n, b->n);
	}
	return ret;
}

static int explain_subject(sqlite3 *db, const struct sides *s, const char *subject, struct err *e)
{
	struct means m[2] = { 0 };
	int side, c, ret = 0;

	for (side = 0; side < 2 && ret == 0; side++)
		ret = means_of(&m[side], s, side, subject, e);
	if (ret == 0 && m[0].n > 0 && m[1].n > 0)
		ret = put_subject(db, subject, &m[0], &m[1], e);
	for (side = 0; side < 2; side++)
		for (c = 0; c <= N_CATEGORIES; c++)
			free(m[side].boot[c]);
	return ret;
}

static int put_excess(sqlite3 *db, const struct sides *s, struct err *e)
{
	char done[SUBJECTS][COMPARE_SUBJECT];
	size_t i, k, n = 0, d;
	int ret = 0;

	for (i = 0; i < s->n[0]; i++)
		for (k = 0; k < s->of[0][i].n_units && n < SUBJECTS && ret == 0; k++) {
			compare_strip(done[n], sizeof(done[n]), s->of[0][i].units[k].name);
			for (d = 0; d < n && strcmp(done[d], done[n]) != 0; d++)
				;
			if (d == n)
				ret = explain_subject(db, s, done[n++], e);
		}
	return ret;
}

/* ---- distributions ---- */

static const struct shape *same_shape(const struct measured *m, const struct shape *like)
{
	size_t i;

	for (i = 0; i < m->n_shapes; i++)
		if (strcmp(m->shapes[i].subject, like->subject) == 0 &&
		    strcmp(m->shapes[i].what, like->what) == 0)
			return &m->shapes[i];
	return NULL;
}

static struct estimate point_of(const struct sides *s, int side, const struct shape *like, int at)
{
	double v[COMPARE_SIDE_MOST];
	size_t i, n = 0;

	for (i = 0; i < s->n[side]; i++) {
		const struct shape *x = same_shape(&s->of[side][i], like);

		if (x)
			v[n++] = x->at[at];
	}
	return stats_mean_of(v, n);
}

static void shift_interval(const struct shape *a, const struct shape *b, int at,
			   struct contrast *ret)
{
	double diff[SHAPE_REPS];
	int i;

	if (!a->boot || !b->boot)
		return;
	for (i = 0; i < SHAPE_REPS; i++)
		diff[i] = exp(b->boot[(SHAPE_REPS - 1 - i) * SHAPE_POINTS + at]) -
			  exp(a->boot[i * SHAPE_POINTS + at]);
	gsl_sort(diff, 1, SHAPE_REPS);
	ret->low = gsl_stats_quantile_from_sorted_data(diff, 1, SHAPE_REPS, 0.025);
	ret->high = gsl_stats_quantile_from_sorted_data(diff, 1, SHAPE_REPS, 0.975);
}

/* A quantile needs at least 10 durations above it. */
static int put_shift(sqlite3 *db, const struct sides *s, const struct shape *like, struct err *e)
{
	const struct shape *b = same_shape(&s->of[1][0], like);
	struct estimate before, after;
	struct contrast c;
	int i, ret = 0;

	for (i = 0; i < SHAPE_POINTS && ret == 0; i++) {
		if (fmin(like->n, b->n) * (1 - compare_shape_at[i]) < 10)
			break;
		before = point_of(s, 0, like, i);
		after = point_of(s, 1, like, i);
		c = stats_welch(&before, &after);
		if (s->n[0] == 1 && s->n[1] == 1)
			shift_interval(like, b, i, &c);
		ret = db_insert(db, TABLE_shift, e, "ssdddddd", like->subject, like->what,
				compare_shape_at[i], before.value, after.value, c.diff, c.low,
				c.high);
	}
	return ret;
}

static int put_cdf(sqlite3 *db, const struct sides *s, const struct shape *like, struct err *e)
{
	int side, i, ret = 0;
	size_t k;

	for (side = 0; side < 2; side++)
		for (k = 0; k < s->n[side]; k++) {
			const struct shape *x = same_shape(&s->of[side][k], like);

			for (i = 0; x && i < CDF_POINTS && ret == 0; i++)
				ret = db_insert(db, TABLE_cdf, e, "sssidd", like->subject,
						like->what, side ? "after" : "before", (s64)k + 1,
						compare_cdf_at(i), x->cdf[i]);
		}
	return ret;
}

int compare_explain(sqlite3 *db, const struct sides *s, struct err *e)
{
	const struct measured *first = &s->of[0][0];
	int ret = put_excess(db, s, e);
	size_t i;

	for (i = 0; i < first->n_shapes && ret == 0; i++) {
		if (!same_shape(&s->of[1][0], &first->shapes[i]))
			continue;
		ret = put_shift(db, s, &first->shapes[i], e);
		if (ret == 0)
			ret = put_cdf(db, s, &first->shapes[i], e);
	}
	return ret;
}
