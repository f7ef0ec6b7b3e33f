/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much two sets of windows differ, by the order of their values alone. */
#pragma once

#include <stddef.h>

struct effect {
	double delta;	  /* Cliff's; NAN: a side is empty, or out of memory */
	double low, high; /* its 95 % interval */
	double p;	  /* two-sided, of no difference; NAN: all values are equal */
	double a, b;	  /* independent windows of each side */
};

/*
 * Cliff's delta (1993) of b against a: the probability that a value of b is above one of a, less
 * that it is below; -1 to 1. x: m values of a, then n of b, each in order of time; scratch: as
 * many. Neighbours depend on each other: the sides are worth m / tau and n / tau, tau being that of
 * the ranks around the means of their sides (stats_levels_scatter). p: Mann and Whitney's U of as
 * many, by the normal distribution with the correction for ties. The interval is Newcombe's fifth
 * (2006), which is none of zero length where the sides do not overlap.
 */
struct effect stats_effect(const double *x, size_t m, size_t n, double *scratch);
