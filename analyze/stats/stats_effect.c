// SPDX-License-Identifier: GPL-2.0-or-later
/* Cliff's delta of windows whose neighbours are not independent. */
#include "stats_effect.h"

#include "stats_levels.h"
#include "stats_series.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#define HALVINGS 50
#define Z	 1.959964 /* of a 95 % interval */

/* Standard error of the probability of superiority s of m against n (Hanley, McNeil; Newcombe). */
static double error_of(double s, double m, double n)
{
	double more = (m + n) / 2 - 1;

	return sqrt(s * (1 - s) * (1 + more * (1 - s) / (2 - s) + more * s / (1 + s)) / (m * n));
}

/* The end of the interval between s and `end`: that far from s as its own error explains. */
static double end_of(double s, double end, double m, double n)
{
	double in = s, out = end, middle = s;
	int i;

	for (i = 0; i < HALVINGS; i++) {
		middle = (in + out) / 2;
		if (fabs(middle - s) <= Z * error_of(middle, m, n))
			in = middle;
		else
			out = middle;
	}
	return middle;
}

/* Variance of ranks, without ties (n^2 - 1) / 12. */
static double spread(const double *rank, size_t n)
{
	double mean = ((double)n + 1) / 2, sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += (rank[i] - mean) * (rank[i] - mean);
	return sum / (double)n;
}

struct effect stats_effect(const double *x, size_t m, size_t n, double *scratch)
{
	struct effect r = { NAN, NAN, NAN, NAN, 0, 0 };
	size_t edge[LEVELS_MAX + 1] = { 0, m, m + n }, i;
	double sum = 0, all = (double)(m + n), s, tau, ties;

	if (!m || !n || !stats_ranks(x, m + n, scratch))
		return r;
	for (i = m; i < m + n; i++)
		sum += scratch[i];
	s = (sum - (double)n * ((double)n + 1) / 2) / ((double)m * (double)n);
	tau = stats_levels_scatter(scratch, m + n, edge, 2).tau;
	r.delta = 2 * s - 1;
	r.a = (double)m / tau;
	r.b = (double)n / tau;
	r.low = 2 * end_of(s, 0, r.a, r.b) - 1;
	r.high = 2 * end_of(s, 1, r.a, r.b) - 1;
	ties = spread(scratch, m + n) / ((all * all - 1) / 12);
	if (ties > 0)
		r.p = 2 * gsl_cdf_ugaussian_Q(fabs(s - 0.5) /
					      sqrt(ties * (r.a + r.b + 1) / (12 * r.a * r.b)));
	return r;
}
