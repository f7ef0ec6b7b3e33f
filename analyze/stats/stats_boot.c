// SPDX-License-Identifier: GPL-2.0-or-later
/* Circular block bootstrap. */
#include "stats_boot.h"

#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#define SEED	   20240101
#define LEAST_KEPT 0.5 /* of the repetitions need an estimate, else there is no interval */

size_t stats_boot_block(size_t n)
{
	size_t block = (size_t)lround(cbrt((double)n));

	return block ? block : 1;
}

static void draw(gsl_rng *rng, size_t *order, size_t n, size_t block)
{
	size_t i, k, start;

	for (i = 0; i < n; i += block) {
		start = gsl_rng_uniform_int(rng, n);
		for (k = 0; k < block && i + k < n; k++)
			order[i + k] = (start + k) % n;
	}
}

struct boot stats_boot(size_t n, size_t block, int reps, estimate_fn fn, void *arg)
{
	struct boot b = { NAN, NAN, NAN, 0 };
	size_t *order = malloc((n + 1) * sizeof(*order)), kept = 0, i;
	double *values = malloc((reps + 1) * sizeof(*values));
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	int r;

	if (!order || !values || !rng || n < 3 || reps < 1)
		goto out;
	gsl_rng_set(rng, SEED);
	for (i = 0; i < n; i++)
		order[i] = i;
	b.value = fn(arg, order, n);
	for (r = 0; r < reps; r++) {
		draw(rng, order, n, block ? block : 1);
		values[kept] = fn(arg, order, n);
		kept += !isnan(values[kept]);
	}
	b.failed = 1 - (double)kept / reps;
	if (kept < LEAST_KEPT * reps)
		goto out;
	gsl_sort(values, 1, kept);
	b.low = gsl_stats_quantile_from_sorted_data(values, 1, kept, 0.025);
	b.high = gsl_stats_quantile_from_sorted_data(values, 1, kept, 0.975);
out:
	if (rng)
		gsl_rng_free(rng);
	free(order);
	free(values);
	return b;
}
