// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the additional time of a request went, and which quantiles of durations moved. Means are
 * estimated as compare_judge.c estimates ratios: from windows of time, widened by how far their
 * level moves within a recording; with several recordings a side, from these. So explanation and
 * verdict cannot contradict each other.
 */
#include "compare.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct split *split_of(const struct measured *m, const struct compared_subject *s)
{
	size_t i;

	for (i = 0; i < m->n_splits; i++)
		if (compare_same(&m->splits[i].subject, s))
			return &m->splits[i];
	return NULL;
}

struct unit_mean compare_mean(const double count[COMPARE_WINDOWS],
			      const double sum[COMPARE_WINDOWS])
{
	struct unit_mean m = { 0, { NAN, NAN, 0, false }, NAN };
	double x[COMPARE_WINDOWS], all = 0, squares = 0, off;
	int w, k = 0;

	for (w = 0; w < COMPARE_WINDOWS; w++) {
		m.n += count[w];
		all += sum[w];
		if (count[w] > 0)
			x[k++] = sum[w] / count[w];
	}
	m.est.value = m.n > 0 ? all / m.n : NAN;
	if (k < WINDOWS_LEAST)
		return m;
	for (w = 0; w < COMPARE_WINDOWS; w++) {
		off = sum[w] - m.est.value * count[w];
		squares += off * off;
	}
	m.est.error = sqrt(k / (k - 1.0) * squares) / m.n;
	m.est.df = k - 1;
	m.wander = stats_wander(x, k);
	return m;
}

static struct unit_mean from_windows(const struct split *s, int part)
{
	double sum[COMPARE_WINDOWS];
	int w;

	for (w = 0; w < COMPARE_WINDOWS; w++)
		sum[w] = s->sum[w][part];
	return compare_mean(s->count, sum);
}

struct contrast compare_contrast(struct unit_mean mean[2])
{
	double pooled = (mean[0].wander + mean[1].wander) / 2;
	int side;

	for (side = 0; side < 2 && pooled > 0; side++)
		stats_widen(&mean[side].est, pooled, COMPARE_WANDER_DF);
	return stats_welch(&mean[0].est, &mean[1].est);
}

static struct unit_mean from_recordings(const struct sides *s, int side,
					const struct compared_subject *subject, int part)
{
	double x[COMPARE_SIDE_MOST];
	struct unit_mean m = { 0 };
	size_t i, found = 0;

	for (i = 0; i < s->n[side]; i++) {
		const struct split *one = split_of(&s->of[side][i], subject);

		if (!one || !(one->n > 0))
			continue;
		m.n += one->n;
		x[found++] = from_windows(one, part).est.value;
	}
	m.est = stats_mean_of(x, found);
	m.wander = NAN;
	return m;
}

static int put_part(sqlite3 *db, const struct sides *s, const struct split *like, int part,
		    struct err *e)
{
	const char *name = part == PART_ALL ? "all" : category_names[part];
	const char *says = part == PART_ALL ? "all of it" : category_says[part];
	bool single = s->n[0] == 1 && s->n[1] == 1;
	char text[COMPARE_TEXT];
	struct unit_mean m[2];
	struct contrast c;
	int side;

	for (side = 0; side < 2; side++)
		m[side] = single ? from_windows(split_of(&s->of[side][0], &like->subject), part)
				 : from_recordings(s, side, &like->subject, part);
	for (side = 0; side < 2 && single; side++)
		compare_discount(&m[side].est, COMPARE_WINDOWS, &s->of[side][0], &like->subject,
				 like->unit);
	if (!(m[0].est.value > 0) && !(m[1].est.value > 0))
		return 0;
	c = compare_contrast(m);
	compare_subject_text(text, sizeof(text), &like->subject);
	return db_insert(db, TABLE_excess, e, COMPARE_COLUMNS_FMT "ssssddddddd",
			 COMPARE_COLUMNS(&like->subject), text, like->unit, name, says,
			 m[0].est.value, m[1].est.value, c.diff, c.low, c.high, m[0].n, m[1].n);
}

static int put_excess(sqlite3 *db, const struct sides *s, struct err *e)
{
	const struct measured *first = &s->of[0][0];
	const struct split *other;
	size_t i;
	int part, ret = 0;

	for (i = 0; i < first->n_splits && ret == 0; i++) {
		other = split_of(&s->of[1][0], &first->splits[i].subject);
		if (!other || !(other->n > 0) || !(first->splits[i].n > 0))
			continue;
		ret = put_part(db, s, &first->splits[i], PART_ALL, e);
		for (part = 0; part < PART_ALL && ret == 0; part++)
			ret = put_part(db, s, &first->splits[i], part, e);
	}
	return ret;
}

/* ---- distributions ---- */

static const struct shape *same_shape(const struct measured *m, const struct shape *like)
{
	size_t i;

	for (i = 0; i < m->n_shapes; i++)
		if (compare_same(&m->shapes[i].subject, &like->subject) &&
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
	char text[COMPARE_TEXT];
	struct contrast c;
	int i, ret = 0;

	compare_subject_text(text, sizeof(text), &like->subject);
	for (i = 0; i < SHAPE_POINTS && ret == 0; i++) {
		if (fmin(like->n, b->n) * (1 - compare_shape_at[i]) < 10)
			break;
		before = point_of(s, 0, like, i);
		after = point_of(s, 1, like, i);
		c = stats_welch(&before, &after);
		if (s->n[0] == 1 && s->n[1] == 1)
			shift_interval(like, b, i, &c);
		ret = db_insert(db, TABLE_shift, e, COMPARE_COLUMNS_FMT "ssdddddd",
				COMPARE_COLUMNS(&like->subject), text, like->what,
				compare_shape_at[i], before.value, after.value, c.diff, c.low,
				c.high);
	}
	return ret;
}

static int put_cdf(sqlite3 *db, const struct sides *s, const struct shape *like, struct err *e)
{
	char text[COMPARE_TEXT];
	int side, i, ret = 0;
	size_t k;

	compare_subject_text(text, sizeof(text), &like->subject);
	for (side = 0; side < 2; side++)
		for (k = 0; k < s->n[side]; k++) {
			const struct shape *x = same_shape(&s->of[side][k], like);

			for (i = 0; x && i < CDF_POINTS && ret == 0; i++)
				ret = db_insert(db, TABLE_cdf, e, "sssidd", text, like->what,
						side ? "after" : "before", (s64)k + 1,
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
