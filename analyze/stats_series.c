// SPDX-License-Identifier: GPL-2.0-or-later
/* Statistics on series of windows. */
#include "stats_series.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#define TWO_SIDED  0.975
#define KNEES	   40	/* candidates */
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

/* Least squares of y on max(0, x - knee). */
static struct hinge fit_at(const double *x, const double *y, const size_t *order, size_t n,
			   double knee)
{
	double sh = 0, sy = 0, shh = 0, shy = 0, syy = 0, h, v, my, mh, spread;
	struct hinge f = { knee, NAN, NAN, 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		sh += fmax(x[order[i]] - knee, 0);
		sy += y[order[i]];
	}
	mh = sh / n;
	my = sy / n;
	for (i = 0; i < n; i++) { /* about the means: no difference of large squares */
		h = fmax(x[order[i]] - knee, 0) - mh;
		v = y[order[i]] - my;
		shh += h * h;
		shy += h * v;
		syy += v * v;
	}
	spread = shh * syy;
	f.slope = shh > 0 ? shy / shh : 0;
	f.level = my - f.slope * mh;
	f.explained = spread > 0 ? shy * shy / spread : 0;
	return f;
}

struct hinge stats_hinge(const double *x, const double *y, const size_t *order, size_t n)
{
	struct hinge best = { NAN, NAN, NAN, 0 }, f;
	double *sorted = malloc((n + 1) * sizeof(*sorted));
	size_t i;

	for (i = 0; sorted && i < n; i++)
		sorted[i] = x[order[i]];
	if (sorted)
		gsl_sort(sorted, 1, n);
	for (i = 0; sorted && n >= 3 && i < KNEES; i++) {
		f = fit_at(x, y, order, n,
			   gsl_stats_quantile_from_sorted_data(sorted, 1, n, (double)i / KNEES));
		if (f.slope > 0 && f.explained > best.explained + RISE_LEAST)
			best = f;
	}
	free(sorted);
	return best;
}
