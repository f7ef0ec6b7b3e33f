// SPDX-License-Identifier: GPL-2.0-or-later
/* E-divisive change points with a deterministic test. */
#include "stats_change.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdbool.h>

#define SIGNIFICANT 0.0001

/* Sums of |x_i - x_j| within a..t, within t..b, and between the two. */
struct distances {
	double left, right, between;
};

/* t moves from the right part to the left one. */
static void move(struct distances *d, const double *x, size_t a, size_t b, size_t t)
{
	double to_left = 0, to_right = 0;
	size_t i;

	for (i = a; i < t; i++)
		to_left += fabs(x[i] - x[t]);
	for (i = t + 1; i < b; i++)
		to_right += fabs(x[i] - x[t]);
	d->left += to_left;
	d->right -= to_right;
	d->between += to_right - to_left;
}

/* The split of a..b where the parts differ most; a if there is none. */
static size_t best_split(const double *x, size_t a, size_t b, size_t shortest)
{
	struct distances d = { 0 };
	double best = 0, q, m, n;
	size_t i, k, t, at = a;

	for (i = a; i < b; i++)
		for (k = i + 1; k < b; k++)
			d.right += fabs(x[i] - x[k]);
	for (t = a; t < b; t++) { /* x[t] goes to the left: then the split is at t + 1 */
		move(&d, x, a, b, t);
		m = t + 1 - a;
		n = b - t - 1;
		if (m < shortest || n < shortest || m < 2 || n < 2)
			continue;
		q = m * n / (m + n) *
		    (2 * d.between / (m * n) - 2 * d.left / (m * (m - 1)) -
		     2 * d.right / (n * (n - 1)));
		if (q > best) {
			best = q;
			at = t + 1;
		}
	}
	return at;
}

static void moments(const double *x, size_t n, double *mean, double *squares)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += x[i];
	*mean = sum / n;
	for (*squares = 0, i = 0; i < n; i++)
		*squares += (x[i] - *mean) * (x[i] - *mean);
}

static bool differ(const double *x, size_t a, size_t t, size_t b, double least)
{
	double m1, m2, s1, s2, error, m = t - a, n = b - t;

	moments(x + a, t - a, &m1, &s1);
	moments(x + t, b - t, &m2, &s2);
	if (fabs(m1 - m2) < least)
		return false;
	/* one variance for both: a short part that happens to be quiet proves nothing */
	error = sqrt((s1 + s2) / (m + n - 2) * (1 / m + 1 / n));
	return error <= 0 || 2 * gsl_cdf_tdist_Q(fabs(m1 - m2) / error, m + n - 2) < SIGNIFICANT;
}

size_t stats_changes(const double *x, size_t n, double least, size_t shortest,
		     size_t ret[CHANGES_MAX])
{
	size_t edges[CHANGES_MAX + 2] = { 0, n }, parts = 1, i, k, t;

	shortest = shortest < 2 ? 2 : shortest;
	for (i = 0; i < parts;) {
		t = parts > CHANGES_MAX ? edges[i]
					: best_split(x, edges[i], edges[i + 1], shortest);
		if (t == edges[i] || !differ(x, edges[i], t, edges[i + 1], least)) {
			i++;
			continue;
		}
		for (k = parts; k > i; k--)
			edges[k + 1] = edges[k];
		edges[i + 1] = t;
		parts++;
	}
	for (i = 1; i < parts; i++)
		ret[i - 1] = edges[i];
	return parts - 1;
}
