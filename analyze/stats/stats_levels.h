/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A few levels in rows of numbers, and how sure their difference is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LEVELS_MAX 5

/*
 * Cuts n rows (order of time) of `width` numbers each into k parts (1 to LEVELS_MAX), none shorter
 * than `shortest`, so that the squares of the rows' distances from the means of their parts are
 * least. edge[0] is 0, edge[k] is n. false: too few rows, or no memory.
 */
bool stats_levels_cut(const double *x, size_t n, size_t width, size_t k, size_t shortest,
		      size_t edge[LEVELS_MAX + 1]);

/*
 * What scatters around the levels: neighbours depend on each other, so n values are worth n / tau.
 * What comes and goes more often than there are parts is left over as a slow wave with a large
 * tau, and no level stands out from it.
 */
struct scatter {
	double sd;
	double tau; /* stats_tau of what is left, more for what the parts took away */
	double df;  /* n / tau - k; below 1: no test is possible */
};

struct scatter stats_levels_scatter(const double *x, size_t n, const size_t *edge, size_t k);

/* Two-sided p (Student) of a difference between means of m and n of these values; 1: no df. */
double stats_levels_p(const struct scatter *s, double difference, double m, double n);

/*
 * How large a difference between m and n values must be, so that in 80 of 100 cases one of at least
 * `least` is seen that has p; INFINITY: no df.
 */
double stats_levels_power(const struct scatter *s, double least, double p, double m, double n);
