/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics for "is B slower than A": samples whose neighbours depend on each other, ratios
 * with intervals, many questions at a time. Pure functions; distributions come from GSL.
 */
#pragma once

#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

#define WINDOWS_LEAST 10
#define WINDOWS_MOST  30

/*
 * Integrated autocorrelation time of n values in order of time, 1 + 2 sum rho_k up to the first
 * rho_k below 0.05 (Sokal 1997): n values are worth n / tau independent ones. At least 1. Of long
 * series it is the mean over up to 8 pieces of 65536 values. NAN: out of memory, or n < 3.
 */
double stats_tau(const double *x, size_t n);

/*
 * Windows into which n values with this tau are cut for the q-quantile: n / (20 tau), from
 * WINDOWS_LEAST to WINDOWS_MOST, fewer where windows would have less than 10 values above
 * the quantile; 0 where fewer than WINDOWS_LEAST remain: not enough data.
 */
int stats_window_count(double n, double tau, double q);

/*
 * The n values by k windows of equal time, sorted in each: those of window w are
 * sorted[edges[w]] to before sorted[edges[w + 1]]. ts rises.
 */
void stats_window_sort(const s64 *ts, const double *x, size_t n, int k, double *sorted,
		       size_t *edges);

/*
 * The q-quantiles of such windows. Windows with less than half of what stats_window_count wants
 * are left out. Returns how many were written to ret.
 */
int stats_window_quantiles(const double *sorted, const size_t *edges, int k, double q, double *ret);

/* An estimate with its standard error; df: degrees of freedom of the error. */
struct estimate {
	double value, error, df;
	bool dependent; /* neighbours depended on each other: the error is the long-run one */
};

/*
 * Mean of k windows. If their autocorrelation at lag 1 is above 2 / sqrt(k), the error comes from
 * the long-run variance (a Tukey-Hanning window of k^0.66 lags, as in latte). error is NAN below 2.
 */
struct estimate stats_mean_of(const double *x, size_t k);

/*
 * How far the level of k windows wanders within a recording: the variance of the means of its four
 * quarters, less what the scatter of windows within quarters explains; on average 0, and so as
 * often below as above, if windows are independent. NAN below 8 windows. What a recording does
 * within seconds it does between recordings too, so this is a lower bound for the variance from run
 * to run.
 */
double stats_wander(const double *x, size_t k);

/* Adds variance to the error of an estimate; df: of that variance (Satterthwaite). */
void stats_widen(struct estimate *a, double variance, double df);

/*
 * Logarithm of sum(num) / sum(den) over k windows, with the error that the windows' own deviations
 * from the ratio give (ratio estimator, delta method): overdispersed counts are no Poisson. counts:
 * num counts events, and the error is at least Poisson's. NAN where sum(num) or sum(den) is 0.
 */
struct estimate stats_log_ratio(const double *num, const double *den, size_t k, bool counts);

struct contrast {
	double diff;	      /* of b minus a */
	double low, high;     /* 95 % interval */
	double low90, high90; /* 90 % interval: in it as a whole, b is equivalent at 5 % */
	double p;	      /* two-sided, of no difference */
	double df;
};

/* Welch's t, Satterthwaite's degrees of freedom. NAN where an error is not known. */
struct contrast stats_welch(const struct estimate *a, const struct estimate *b);

/*
 * Of the rates of two counts of independent events, in time_a and time_b: given their sum, those of
 * b are binomial. Exact two-sided p, intervals of Clopper and Pearson; infinite ends where a count
 * is 0. NAN if both are.
 */
struct contrast stats_counts(double a, double time_a, double b, double time_b);

/* Holm (1979): ret[i] is p[i] adjusted for n questions. p that are NAN stay so and do not count.
 * False: out of memory. */
bool stats_holm(const double *p, size_t n, double *ret);

enum verdict {
	VERDICT_NO_DATA,
	VERDICT_INCONCLUSIVE,
	VERDICT_EQUIVALENT,
	VERDICT_HIGHER,
	VERDICT_LOWER,
};

/*
 * c is a difference of logarithms; p is its p, adjusted for all that was asked. Higher or lower: p
 * is below 0.05 and the ratio is off by the threshold (0.05: 5 %, up or down by as much on a
 * logarithmic scale) or more. Equivalent: the 90 % interval lies within the threshold (two
 * one-sided tests at 5 %).
 */
enum verdict stats_judge(const struct contrast *c, double p, double threshold);

/*
 * Two-sided p of the Mann-Whitney U test: exact where there are no equal values and m + n <= 40,
 * else by the normal distribution with the correction for ties. NAN if a side is empty, or
 * out of memory.
 */
double stats_mann_whitney(const double *x, size_t m, const double *y, size_t n);

/*
 * The quantiles at[0..n_at) of n values in order of time, which are in sorted too: exactly in ret,
 * and from reps repetitions of a block bootstrap (equal blocks of at least `block` neighbours, at
 * most 256 blocks) in boot[rep * n_at + i]. seed decides the draws. False: out of memory, or fewer
 * than 4 blocks: then boot is not written.
 */
bool stats_quantile_boot(const double *x, const double *sorted, size_t n, double block,
			 const double *at, size_t n_at, int reps, unsigned long seed, double *ret,
			 double *boot);
