// SPDX-License-Identifier: GPL-2.0-or-later
/* Statistics on series of windows. */
#include "stats_series.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define TWO_SIDED  0.975
#define KNEES	   24	/* candidates */
#define LOWEST	   0.02 /* quantiles of x between which they lie */
#define HIGHEST	   0.98
#define RISE_LEAST 1e-9 /* of a hinge, relative: less is rounding */

static double bounded(double v, double low, double high)
{
	return v < low ? low : v > high ? high : v;
}

static int constant(const double *v, size_t n)
{
	size_t i;

	for (i = 1; i < n && v[i] == v[0]; i++)
		;
	return i >= n;
}

struct correlation stats_pearson(const double *x, const double *y, size_t n)
{
	struct correlation c = { NAN, NAN, NAN, NAN, n };
	double ab, z, error;

	if (n < 3 || constant(x, n) || constant(y, n))
		return c;
	c.r = bounded(gsl_stats_correlation(x, 1, y, 1, n), -1, 1);
	ab = gsl_stats_lag1_autocorrelation(x, 1, n) * gsl_stats_lag1_autocorrelation(y, 1, n);
	c.n_eff = bounded(n * (1 - ab) / (1 + ab), 0, n);
	if (c.n_eff <= 4)
		return c;
	z = atanh(bounded(c.r, -1 + 1e-12, 1 - 1e-12));
	error = 1 / sqrt(c.n_eff - 3);
	c.low = tanh(z - gsl_cdf_ugaussian_Pinv(TWO_SIDED) * error);
	c.high = tanh(z + gsl_cdf_ugaussian_Pinv(TWO_SIDED) * error);
	c.p = 2 * gsl_cdf_ugaussian_Q(fabs(z) / error);
	return c;
}

int stats_ranks(const double *v, size_t n, double *ret)
{
	size_t *order = malloc((n + 1) * sizeof(*order)), i, k, last;

	if (!order)
		return 0;
	gsl_sort_index(order, v, 1, n);
	for (i = 0; i < n; i = last + 1) {
		for (last = i; last + 1 < n && v[order[last + 1]] == v[order[i]]; last++)
			;
		for (k = i; k <= last; k++)
			ret[order[k]] = (i + last) / 2.0 + 1;
	}
	free(order);
	return 1;
}

struct correlation stats_spearman(const double *x, const double *y, size_t n, double *scratch)
{
	struct correlation none = { NAN, NAN, NAN, NAN, n };

	if (!stats_ranks(x, n, scratch) || !stats_ranks(y, n, scratch + n))
		return none;
	return stats_pearson(scratch, scratch + n, n);
}

int stats_fdr(const double *p, size_t n, double *ret)
{
	size_t *order = malloc((n + 1) * sizeof(*order)), i;
	double least = 1;

	if (!order)
		return 0;
	gsl_sort_index(order, p, 1, n);
	for (i = n; i > 0; i--) {
		double q = p[order[i - 1]] * n / i;

		least = q < least ? q : least;
		ret[order[i - 1]] = least;
	}
	free(order);
	return 1;
}

double stats_median(double *v, size_t n)
{
	if (!n)
		return NAN;
	gsl_sort(v, 1, n);
	return gsl_stats_median_from_sorted_data(v, 1, n);
}

struct line stats_line(const double *x, const double *y, size_t n)
{
	struct line l = { NAN, NAN, NAN, NAN, NAN };
	double var, chi2, mean, total = 0, off = 0, half, r;
	size_t i;

	if (n < 3 || constant(x, n) || constant(y, n))
		return l;
	gsl_fit_mul(x, 1, y, 1, n, &l.slope, &var, &chi2);
	half = gsl_cdf_tdist_Pinv(TWO_SIDED, n - 1) * sqrt(var);
	l.low = l.slope - half;
	l.high = l.slope + half;
	r = gsl_stats_correlation(x, 1, y, 1, n);
	l.r2 = r * r;
	mean = gsl_stats_mean(y, 1, n);
	for (i = 0; i < n; i++) {
		total += (y[i] - mean) * (y[i] - mean);
		off += (y[i] - x[i]) * (y[i] - x[i]);
	}
	l.r2_identity = 1 - off / total;
	return l;
}

/* Points sorted by x, about their means, and sums over the first i of them. */
struct prefix {
	double *x, *y;
	double *sx, *sy, *sxx, *sxy;
	double mean_x, mean_y, syy;
	size_t n;
};

static bool prefix_open(struct prefix *p, const double *x, const double *y, const size_t *order,
			size_t n)
{
	double *all = calloc(6 * (n + 1), sizeof(*all));
	size_t i;

	*p = (struct prefix){ .x = all, .n = n };
	if (!all)
		return false;
	p->y = all + (n + 1);
	p->sx = all + 2 * (n + 1);
	p->sy = all + 3 * (n + 1);
	p->sxx = all + 4 * (n + 1);
	p->sxy = all + 5 * (n + 1);
	for (i = 0; i < n; i++) {
		p->x[i] = x[order[i]];
		p->y[i] = y[order[i]];
	}
	gsl_sort2(p->x, 1, p->y, 1, n);
	p->mean_x = gsl_stats_mean(p->x, 1, n);
	p->mean_y = gsl_stats_mean(p->y, 1, n);
	for (i = 0; i < n; i++) {
		p->x[i] -= p->mean_x;
		p->y[i] -= p->mean_y;
		p->sx[i + 1] = p->sx[i] + p->x[i];
		p->sy[i + 1] = p->sy[i] + p->y[i];
		p->sxx[i + 1] = p->sxx[i] + p->x[i] * p->x[i];
		p->sxy[i + 1] = p->sxy[i] + p->x[i] * p->y[i];
		p->syy += p->y[i] * p->y[i];
	}
	return true;
}

static size_t points_below(const struct prefix *p, double x)
{
	size_t low = 0, high = p->n, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (p->x[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Least squares of y on 0 up to knee, x - knee up to top, and top - knee above; a step if equal. */
static struct hinge fit_at(const struct prefix *p, double knee, double top)
{
	size_t i = points_below(p, knee), k = points_below(p, top);
	double w = top > knee ? top - knee : 1, n = p->n, above = n - k, between = k - i;
	double bx = p->sx[k] - p->sx[i], by = p->sy[k] - p->sy[i];
	double sh = bx - knee * between + w * above;
	double shh = p->sxx[k] - p->sxx[i] - 2 * knee * bx + knee * knee * between + w * w * above;
	double shy = p->sxy[k] - p->sxy[i] - knee * by + w * (p->sy[p->n] - p->sy[k]);
	struct hinge f = { knee + p->mean_x, NAN, NAN, 0, 0 };

	shh -= sh * sh / n;
	f.slope = shh > 0 ? shy / shh : 0;
	f.level = p->mean_y - f.slope * sh / n;
	f.explained = shh > 0 && p->syy > 0 ? shy * shy / (shh * p->syy) : 0;
	return f;
}

struct hinge stats_hinge(const double *x, const double *y, const size_t *order, size_t n)
{
	struct hinge best = { NAN, NAN, NAN, 0, 0 }, f;
	size_t few = n / 20 > 3 ? n / 20 : 3;
	double low, step, knee, line = 0;
	struct prefix p;
	int i, k;

	if (n < 2 * few || !prefix_open(&p, x, y, order, n))
		return best;
	low = gsl_stats_quantile_from_sorted_data(p.x, 1, n, LOWEST);
	step = (gsl_stats_quantile_from_sorted_data(p.x, 1, n, HIGHEST) - low) / KNEES;
	for (i = 0; i < KNEES && step > 0; i++)
		for (k = i; k <= KNEES; k++) {
			/* what rises from the lowest x on has no knee, wherever it ends */
			knee = i ? low + i * step : p.x[0];
			f = fit_at(&p, knee, k == KNEES ? p.x[n - 1] : low + k * step);
			if (f.slope <= 0 || (!i && k == i))
				continue;
			if (!i && f.explained > line)
				line = f.explained;
			if (points_below(&p, knee) + few > n || (i && points_below(&p, knee) < few))
				continue;
			if (f.explained > best.explained + RISE_LEAST)
				best = f;
		}
	free(p.x);
	best.line = line;
	return best;
}
