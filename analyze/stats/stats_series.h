/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics on series of windows, whose neighbours are not independent. Pure functions;
 * distributions, correlations and fits come from GSL.
 */
#pragma once

#include "format/event.h"

#include <stddef.h>

struct correlation {
	double r;	  /* coefficient, -1 to 1; NAN: one of the series is constant */
	double low, high; /* its 95 % interval */
	double p;	  /* two-sided, of no correlation */
	double n_eff;	  /* what the windows are worth if they were independent */
};

/*
 * Pearson's coefficient of n pairs. Bartlett's effective size n (1 - ab) / (1 + ab), where a
 * and b are the autocorrelations of the two series at lag 1, at most n; interval and p by Fisher's
 * z with n_eff - 3. Below 4 effective windows there is no interval.
 */
struct correlation stats_pearson(const double *x, const double *y, size_t n);

/* Spearman's coefficient: Pearson's of the ranks. Scratch: room for 2 n doubles. */
struct correlation stats_spearman(const double *x, const double *y, size_t n, double *scratch);

/* Ranks from 1; equal values share the mean of theirs. False: out of memory. */
int stats_ranks(const double *v, size_t n, double *ret);

/* Benjamini and Hochberg: ret[i] is the smallest false discovery rate at which p[i] is accepted.
 * False: out of memory. */
int stats_fdr(const double *p, size_t n, double *ret);

/* The median; v is sorted. NAN if n is 0. */
double stats_median(double *v, size_t n);

struct line {
	double slope;	    /* of y = slope x */
	double low, high;   /* its 95 % interval, Student's with n - 1 degrees of freedom */
	double r2;	    /* of y = a + b x by least squares: 1 if all points lie on one line */
	double r2_identity; /* of y = x: 1 - sum (y - x)^2 / sum (y - mean y)^2 */
};

/* Lines through n points. All NAN below 3 points or without spread. */
struct line stats_line(const double *x, const double *y, size_t n);

struct hinge {
	double knee;	  /* x from which y rises; NAN: there is none to be found */
	double level;	  /* y below it */
	double slope;	  /* of y above it */
	double explained; /* share of the variance of y that the hinge explains */
	double line;	  /* the same of what rises from the lowest x on, which has no knee */
};

/*
 * The hinge y = level + slope min(top - knee, max(0, x - knee)) of least squares, with slope above
 * 0, among 24 knees and tops over the range of x: y is level, rises, and may be level again; with
 * top at the knee it is a step. order: indices of the points (repeats allowed), as a bootstrap
 * draws them.
 */
struct hinge stats_hinge(const double *x, const double *y, const size_t *order, size_t n);
