// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Quantiles with a block bootstrap. Sorting every repetition would cost n log n each; instead
 * each block is counted once in bins between quantiles of all values (200 values a percent
 * near the top), and a repetition adds up the counts of the blocks that it drew.
 */
#include "stats_compare.h"

#include <gsl/gsl_rng.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MOST  256
#define BLOCKS_LEAST 4
#define BINS_MOST    600

struct binned {
	size_t bins, blocks;
	double edge[BINS_MOST + 1];		/* lower ends, rising */
	double low[BINS_MOST], high[BINS_MOST]; /* least and largest value in it */
	unsigned int *counts;			/* [block][bin] */
};

/* Edges at quantiles that lie closer towards the top; equal ones once. */
static void choose_edges(struct binned *b, const double *sorted, size_t n)
{
	static const struct {
		double to, step;
	} parts[] = { { 0.9, 0.005 }, { 0.99, 0.0006 }, { 0.9999, 0.00006 } };
	double q = 0, v;
	size_t i = 0;

	for (b->bins = 0; i < sizeof(parts) / sizeof(parts[0]) && b->bins < BINS_MOST;) {
		v = gsl_stats_quantile_from_sorted_data(sorted, 1, n, q);
		if (!b->bins || v > b->edge[b->bins - 1])
			b->edge[b->bins++] = v;
		q += parts[i].step;
		i += q >= parts[i].to;
	}
}

static size_t bin_of(const struct binned *b, double v)
{
	const double *at = b->edge;
	size_t left = b->bins, half;

	for (; left > 1; left -= half) { /* without branches, none of which could be foreseen */
		half = left / 2;
		at += at[half] <= v ? half : 0;
	}
	return (size_t)(at - b->edge);
}

static void count(struct binned *b, const double *x, size_t n)
{
	size_t i, k;

	for (k = 0; k < b->bins; k++) {
		b->low[k] = INFINITY;
		b->high[k] = -INFINITY;
	}
	for (i = 0; i < n; i++) {
		k = bin_of(b, x[i]);
		b->counts[i * b->blocks / n * b->bins + k]++;
		b->low[k] = x[i] < b->low[k] ? x[i] : b->low[k];
		b->high[k] = x[i] > b->high[k] ? x[i] : b->high[k];
	}
}

/* One repetition: the quantiles of the sum of the blocks drawn. */
static void repeat(const struct binned *b, gsl_rng *rng, unsigned int *sum, const double *at,
		   size_t n_at, double *ret)
{
	double total = 0, below = 0, rank;
	size_t i, k, bin = 0;

	memset(sum, 0, b->bins * sizeof(*sum));
	for (i = 0; i < b->blocks; i++) {
		const unsigned int *of = b->counts + gsl_rng_uniform_int(rng, b->blocks) * b->bins;

		for (k = 0; k < b->bins; k++)
			sum[k] += of[k];
	}
	for (k = 0; k < b->bins; k++)
		total += sum[k];
	for (i = 0; i < n_at; i++) { /* at is rising */
		rank = at[i] * total;
		while (bin + 1 < b->bins && below + sum[bin] < rank)
			below += sum[bin++];
		if (sum[bin] == 0) {
			ret[i] = b->low[bin];
			continue;
		}
		ret[i] = b->low[bin] +
			 (b->high[bin] - b->low[bin]) * fmin(1, fmax(0, rank - below) / sum[bin]);
	}
}

bool stats_quantile_boot(const double *x, const double *sorted, size_t n, double block,
			 const double *at, size_t n_at, int reps, unsigned long seed, double *ret,
			 double *boot)
{
	struct binned *b = calloc(1, sizeof(*b));
	double blocks = floor(n / fmax(block, 1));
	unsigned int *sum = NULL;
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	bool done = false;
	size_t i;
	int r;

	if (!b || !rng || !n)
		goto out;
	for (i = 0; i < n_at; i++)
		ret[i] = gsl_stats_quantile_from_sorted_data(sorted, 1, n, at[i]);
	if (!(blocks >= BLOCKS_LEAST))
		goto out;
	b->blocks = blocks > BLOCKS_MOST ? BLOCKS_MOST : (size_t)blocks;
	choose_edges(b, sorted, n);
	b->counts = calloc(b->blocks * b->bins, sizeof(*b->counts));
	sum = malloc(b->bins * sizeof(*sum));
	if (!b->counts || !sum)
		goto out;
	count(b, x, n);
	gsl_rng_set(rng, seed);
	for (r = 0; r < reps; r++)
		repeat(b, rng, sum, at, n_at, boot + r * n_at);
	done = true;
out:
	if (rng)
		gsl_rng_free(rng);
	if (b)
		free(b->counts);
	free(b);
	free(sum);
	return done;
}
