// SPDX-License-Identifier: GPL-2.0-or-later
/* Statistics on arrays. */
#include "stats.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#define EVENTS_EXACT 1000  /* GSL's quantile does not converge for some more than that */
#define TWO_SIDED    0.975 /* quantile of a 95 % interval's upper end */

double stats_quantile(const struct bucket *b, size_t n_buckets, double q)
{
	double total = 0, rank, below = 0;
	size_t i;

	for (i = 0; i < n_buckets; i++)
		total += b[i].n;
	if (total == 0)
		return NAN;
	rank = ceil(q * total);
	rank = rank < 1 ? 1 : rank;
	for (i = 0; i + 1 < n_buckets && below + b[i].n < rank; i++)
		below += b[i].n;
	if (b[i].high - b[i].low <= 1) /* a bucket of one value */
		return b[i].low;
	return b[i].low + (b[i].high - b[i].low) * (rank - below - 0.5) / b[i].n;
}

double stats_mean(const double *v, size_t n)
{
	return n ? gsl_stats_mean(v, 1, n) : NAN;
}

double stats_dispersion(const double *counts, size_t n)
{
	double mean = stats_mean(counts, n);

	return n < 2 || mean == 0 ? NAN : gsl_stats_variance_m(counts, 1, n, mean) / mean;
}

double stats_rate_error(double dispersion, double n_events, size_t n_windows)
{
	if (n_windows < 2 || !(n_events > 0))
		return NAN;
	return gsl_cdf_tdist_Pinv(TWO_SIDED, n_windows - 1) * sqrt(dispersion / n_events);
}

double stats_events_low(double n)
{
	const double z = 1.959964;

	if (!(n > 0))
		return 0;
	if (n > EVENTS_EXACT)
		return n * pow(1 - 1 / (9 * n) - z / (3 * sqrt(n)), 3);
	return gsl_cdf_chisq_Pinv(0.025, 2 * n) / 2;
}

void stats_share(double k, double n, double *ret_low, double *ret_high)
{
	const double z = 1.959964, p = k / n, z2 = z * z / n;
	double middle = (p + z2 / 2) / (1 + z2);
	double half = z / (1 + z2) * sqrt(p * (1 - p) / n + z2 / (4 * n));

	*ret_low = n > 0 ? fmax(middle - half, 0) : NAN;
	*ret_high = n > 0 ? fmin(middle + half, 1) : NAN;
}
