/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics on arrays: pure functions, no SQL. Distributions come from GSL. */
#pragma once

#include "format/event.h"

#include <stddef.h>

/* A bucket of a histogram: n values in [low, high). */
struct bucket {
	double low, high;
	u64 n;
};

/*
 * The q-quantile (0 < q < 1) of a histogram whose buckets are in rising order: the
 * bucket that holds the value of rank ceil(q n), and in it linear interpolation. NAN for
 * an empty one. Error: at most the width of the bucket.
 */
double stats_quantile(const struct bucket *b, size_t n_buckets, double q);

/* Mean of n values; NAN if n is 0. */
double stats_mean(const double *v, size_t n);

/*
 * Index of dispersion of counts in equal windows: variance over mean. 1 for a Poisson process,
 * 0 for a clock, above 1 for bursts (Cox and Lewis 1966). NAN below 2 windows or without counts.
 */
double stats_dispersion(const double *counts, size_t n);

/*
 * Half width, as a fraction of the rate, of the 95 % interval of a rate estimated from n_events
 * events whose counts in n_windows windows have this dispersion: the standard error of a count N
 * is sqrt(dispersion N), so that of the rate is rate sqrt(dispersion / N); the quantile is
 * Student's with n_windows - 1 degrees of freedom. NAN below 2 windows.
 */
double stats_rate_error(double dispersion, double n_events, size_t n_windows);

/*
 * The lower end of the 95 % interval of a number of events (Garwood 1936); for more than 1,000 by
 * the approximation of Wilson and Hilferty 1931, which is within 1e-5 of it there. 0 for none.
 */
double stats_events_low(double n);

/* The 95 % interval of a share of k in n, k of independent ones (Wilson 1927). NAN if n is 0. */
void stats_share(double k, double n, double *ret_low, double *ret_high);
