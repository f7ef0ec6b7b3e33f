// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of least squares by dynamic programming, and Student's t between them. */
#include "stats_levels.h"

#include "stats_compare.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#define POWER	0.8
#define NOTHING 1e-9 /* of the largest value */
/*
 * Parts that fit best take part of the slow movement away with them: rho_1 of what is left is too
 * low, by about k (1 + 3 rho) / n where the parts are given (Kendall), and by this more where they
 * were chosen. Measured: 128 values of AR(1) with rho_1 up to 0.9 raise under 3 % of alarms with
 * it.
 */
#define CHOSEN 1.5

struct cutting {
	size_t n, width;
	double *sums;	 /* [n + 1][width]: of the rows before */
	double *squares; /* [n + 1] */
	double *cost;	 /* [k + 1][n + 1]: of the best k parts of the first rows */
	size_t *from;	 /* [k + 1][n + 1]: where the last of them begins */
};

/* Squares of the distances from the mean, of rows a..b. */
static double cost_of(const struct cutting *c, size_t a, size_t b)
{
	const double *x = c->sums + a * c->width, *y = c->sums + b * c->width;
	double sum = c->squares[b] - c->squares[a];
	size_t i;

	for (i = 0; i < c->width; i++)
		sum -= (y[i] - x[i]) * (y[i] - x[i]) / (b - a);
	return fmax(sum, 0);
}

static void add_up(struct cutting *c, const double *x)
{
	size_t i, k;

	for (i = 0; i < c->n; i++) {
		const double *row = x + i * c->width;
		double *sum = c->sums + i * c->width;

		c->squares[i + 1] = c->squares[i];
		for (k = 0; k < c->width; k++) {
			sum[c->width + k] = sum[k] + row[k];
			c->squares[i + 1] += row[k] * row[k];
		}
	}
}

/* The best k parts of the first `end` rows, from the best k - 1 of fewer. */
static void best_last(struct cutting *c, size_t k, size_t end, size_t shortest)
{
	double *cost = c->cost + k * (c->n + 1), *before = cost - (c->n + 1), sum;
	size_t t;

	cost[end] = INFINITY;
	for (t = k == 1 ? 0 : (k - 1) * shortest; t + shortest <= end; t++) {
		if (k == 1 && t)
			break;
		sum = before[t] + cost_of(c, t, end);
		if (sum < cost[end]) {
			cost[end] = sum;
			c->from[k * (c->n + 1) + end] = t;
		}
	}
}

bool stats_levels_cut(const double *x, size_t n, size_t width, size_t k, size_t shortest,
		      size_t edge[LEVELS_MAX + 1])
{
	struct cutting c = { .n = n, .width = width };
	size_t i, end;
	bool ok;

	shortest = shortest ? shortest : 1;
	if (!k || k > LEVELS_MAX || n / k < shortest)
		return false;
	c.sums = calloc((n + 1) * width, sizeof(*c.sums));
	c.squares = calloc(n + 1, sizeof(*c.squares));
	c.cost = calloc((k + 1) * (n + 1), sizeof(*c.cost));
	c.from = calloc((k + 1) * (n + 1), sizeof(*c.from));
	ok = c.sums && c.squares && c.cost && c.from;
	if (ok) {
		add_up(&c, x);
		for (i = 1; i <= k; i++)
			for (end = 0; end <= n; end++)
				best_last(&c, i, end, shortest);
		for (edge[k] = n, i = k; i > 0; i--)
			edge[i - 1] = c.from[i * (n + 1) + edge[i]];
	}
	free(c.sums);
	free(c.squares);
	free(c.cost);
	free(c.from);
	return ok;
}

/* tau as of an AR(1) process, from rho_1 of what k parts left over. */
static double tau_of_chosen(const double *left, size_t n, size_t k)
{
	double all = 0, next = 0, rho;
	size_t i;

	for (i = 0; i < n; i++) {
		all += left[i] * left[i];
		next += i ? left[i] * left[i - 1] : 0;
	}
	rho = all > 0 && next > 0 ? next / all : 0;
	rho = fmin(rho + CHOSEN * k * (1 + 3 * rho) / n, 0.99);
	return k > 1 ? (1 + rho) / (1 - rho) : 1;
}

struct scatter stats_levels_scatter(const double *x, size_t n, const size_t *edge, size_t k)
{
	struct scatter s = { .tau = 1, .df = 0 };
	double *left = calloc(n + 1, sizeof(*left)), mean, squares = 0, tau, largest = 0;
	size_t i, p;

	if (!left || n <= k) {
		free(left);
		return s;
	}
	for (p = 0; p < k; p++) {
		for (mean = 0, i = edge[p]; i < edge[p + 1]; i++)
			mean += x[i] / (edge[p + 1] - edge[p]);
		for (i = edge[p]; i < edge[p + 1]; i++) {
			left[i] = x[i] - mean;
			squares += left[i] * left[i];
			largest = fmax(largest, fabs(x[i]));
		}
	}
	s.df = (double)n - k;
	s.sd = sqrt(squares / s.df);
	if (s.sd <= NOTHING * largest) { /* rounding is no scatter, and has a tau of its own */
		s.sd = 0;
		free(left);
		return s;
	}
	tau = stats_tau(left, n);
	s.tau = fmax(tau > 1 ? tau : 1, tau_of_chosen(left, n, k));
	s.df = n / s.tau - k;
	free(left);
	return s;
}

static double error_of(const struct scatter *s, double m, double n)
{
	return s->sd * sqrt(s->tau * (1 / m + 1 / n));
}

double stats_levels_p(const struct scatter *s, double difference, double m, double n)
{
	double error = error_of(s, m, n);

	if (s->df < 1)
		return 1;
	return error > 0 ? 2 * gsl_cdf_tdist_Q(fabs(difference) / error, s->df) : 0;
}

double stats_levels_power(const struct scatter *s, double least, double p, double m, double n)
{
	double error = error_of(s, m, n);

	if (s->df < 1)
		return INFINITY;
	return fmax(least, gsl_cdf_tdist_Qinv(p / 2, s->df) * error) +
	       gsl_cdf_tdist_Pinv(POWER, s->df) * error;
}
