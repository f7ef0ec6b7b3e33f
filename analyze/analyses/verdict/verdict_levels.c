// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_levels.h"

#include "analyze/stats/stats_change.h"

#include <gsl/gsl_cdf.h>

void levels_find(struct levels *v, double step)
{
	size_t edge[CHANGES_MAX + 2], n;
	double lowest = INFINITY, sum;
	size_t p, i;

	edge[0] = 0;
	n = stats_changes(v->x, (size_t)v->n, step, LEVELS_SHORTEST, edge + 1);
	edge[n + 1] = (size_t)v->n;
	for (p = 0; p <= n; p++) {
		for (sum = 0, i = edge[p]; i < edge[p + 1]; i++)
			sum += v->x[i];
		sum /= (double)(edge[p + 1] - edge[p]);
		for (i = edge[p]; i < edge[p + 1]; i++)
			v->level[i] = sum;
		if (10 * (edge[p + 1] - edge[p]) >= (size_t)v->n)
			lowest = fmin(lowest, sum);
	}
	for (i = 0; i < (size_t)v->n; i++) {
		v->slow[i] = v->level[i] >= lowest + step;
		v->neither[i] = false;
	}
}

/* The lowest of the high levels; infinite: none is high. */
static double lowest_high(const struct levels *v)
{
	double least = INFINITY;
	int i;

	for (i = 0; i < v->n; i++)
		least = v->slow[i] ? fmin(least, v->level[i]) : least;
	return least;
}

bool levels_raise(struct levels *v)
{
	double next = lowest_high(v), highest, lowest = INFINITY;
	int i;

	for (i = 0; i < v->n; i++)
		lowest = v->slow[i] ? lowest : fmin(lowest, v->level[i]);
	do {
		highest = next;
		for (i = 0; i < v->n; i++) {
			v->neither[i] |= v->slow[i] && v->level[i] <= highest;
			v->slow[i] &= v->level[i] > highest;
		}
		next = lowest_high(v);
	} while (isfinite(next) && next - highest <= highest - lowest);
	return isfinite(next);
}

void levels_skip_edges(struct levels *v, const struct judged *j)
{
	int first, last = -1, i;

	while (levels_range(v, last + 1, &first, &last)) {
		if (!verdict_at_edge(j, v->window[first], v->window[last]))
			continue;
		for (i = first; i <= last; i++) {
			v->slow[i] = false;
			v->neither[i] = true;
		}
	}
}

/*
 * Of a window from a mean. Equal latencies differ from their mean by rounding alone, all by the
 * same: that is no correlation. A billionth is 1 ns of a second.
 */
static double residual(const struct levels *v, int i, double mean)
{
	double r = v->x[i] - mean;

	return fabs(r) > 1e-9 * fmax(1, fabs(mean)) ? r : 0;
}

struct levels_side levels_side(const struct levels *v, bool slow)
{
	struct levels_side s = { 0 };
	int i;

	for (i = 0; i < v->n; i++) {
		if (v->slow[i] != slow || v->neither[i])
			continue;
		s.n++;
		s.mean += v->x[i];
	}
	s.mean /= s.n;
	for (i = 0; i < v->n; i++)
		if (v->slow[i] == slow && !v->neither[i])
			s.squares += residual(v, i, s.mean) * residual(v, i, s.mean);
	return s;
}

/* From the correlation of neighbours. */
static double tau_of(double r)
{
	return isfinite(r) && r > 0 ? (1 + fmin(r, 0.98)) / (1 - fmin(r, 0.98)) : 1;
}

double levels_tau(const struct levels *v, const struct levels_side *slow,
		  const struct levels_side *base)
{
	double products = 0, last = 0, now;
	int i;

	for (i = 0; i < v->n; i++) {
		if (v->neither[i])
			continue;
		now = residual(v, i, v->slow[i] ? slow->mean : base->mean);
		products += now * last;
		last = now;
	}
	return tau_of(products / (slow->squares + base->squares));
}

/*
 * The squared standard error of the mean of one side by its own spread and correlation; of high
 * windows around a latency that grows at a constant rate, by the logarithms of both, for a trend is
 * no spread. ret_df: degrees of freedom; ret_rise: t of the trend, 0 of low windows.
 */
static double own_error(const struct levels *v, bool slow, double *ret_df, double *ret_rise)
{
	struct levels_side s = levels_side(v, slow);
	double at[WINDOWS], mean = 0, products = 0, across = 0, along = 0, squares = 0, last = 0, r,
			    tau, slope;
	int i, k, n = 0, of[WINDOWS];

	for (i = 0; i < v->n; i++)
		if (v->slow[i] == slow && !v->neither[i]) {
			of[n] = i;
			at[n] = slow ? log(n + 1) : 0;
			mean += at[n++] / s.n;
		}
	for (k = 0; k < n; k++) {
		across += (at[k] - mean) * (at[k] - mean);
		along += (at[k] - mean) * residual(v, of[k], s.mean);
	}
	slope = slow ? along / across : 0;
	for (k = 0; k < n; k++) {
		r = residual(v, of[k], s.mean + slope * (at[k] - mean));
		squares += r * r;
		products += r * last;
		last = r;
	}
	tau = tau_of(products / squares);
	*ret_df = s.n / tau - 1 - slow;
	squares *= tau / (s.n - 1 - slow);
	*ret_rise = slow ? along / sqrt(across * squares) : 0;
	return squares / s.n;
}

/* High windows, chosen for their level, rise; and two samples differ, each with its own variance.
 */
static bool grown_differ(const struct levels *v, const struct levels_side *slow,
			 const struct levels_side *base, double error, double *ret_low,
			 double *ret_high)
{
	double df[2], rise[2], half;
	double squares =
		own_error(v, false, &df[0], &rise[0]) + own_error(v, true, &df[1], &rise[1]);

	if (fmin(df[0], df[1]) < 1 || !(rise[1] > gsl_cdf_tdist_Pinv(1 - LEVELS_ERROR / 2, df[1])))
		return false;
	half = gsl_cdf_tdist_Pinv(1 - error / 2, fmin(df[0], df[1])) * sqrt(squares);
	*ret_low = slow->mean - base->mean - half;
	*ret_high = slow->mean - base->mean + half;
	return true;
}

bool levels_differ(const struct levels *v, double least, double error, double *ret_low,
		   double *ret_high)
{
	struct levels_side slow = levels_side(v, true), base = levels_side(v, false);
	double tau, df, half;

	if (slow.n < least || base.n < LEVELS_SHORTEST)
		return false;
	if (v->grows)
		return slow.n >= LEVELS_SHORTEST &&
		       grown_differ(v, &slow, &base, error, ret_low, ret_high);
	tau = levels_tau(v, &slow, &base);
	df = (slow.n + base.n) / tau - 2;
	if (df < 1)
		return false;
	half = gsl_cdf_tdist_Pinv(1 - error / 2, df) *
	       sqrt((slow.squares + base.squares) / (slow.n + base.n - 2) * tau *
		    (1 / slow.n + 1 / base.n));
	*ret_low = slow.mean - base.mean - half;
	*ret_high = slow.mean - base.mean + half;
	return true;
}

bool levels_range(const struct levels *v, int from, int *ret_first, int *ret_last)
{
	int i = from;

	while (i < v->n && !v->slow[i])
		i++;
	if (i == v->n)
		return false;
	*ret_first = i;
	while (i + 1 < v->n && v->slow[i + 1])
		i++;
	*ret_last = i;
	return true;
}
