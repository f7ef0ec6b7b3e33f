/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For unit tests: noise from a seed, the same on each machine. */
#pragma once

#include "format/event.h"

#include <math.h>

struct noise {
	u64 seed;
};

/* From 0 on, below 1. */
static inline double noise_uniform(struct noise *r)
{
	r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(r->seed >> 11) / 9007199254740992.0;
}

/* Nearly normal, variance 1 around 0. */
static inline double noise_normal(struct noise *r)
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += noise_uniform(r);
	return sum;
}

/* AR(1) with variance 1 around 0. */
static inline void noise_ar(struct noise *r, double rho, double *x, int n)
{
	int i;

	x[0] = noise_normal(r);
	for (i = 1; i < n; i++)
		x[i] = rho * x[i - 1] + sqrt(1 - rho * rho) * noise_normal(r);
}
