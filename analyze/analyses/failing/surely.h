/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares that are surely larger than a limit. */
#pragma once

#include <math.h>
#include <stdbool.h>

#define FAILED_LEAST 5 /* fewer are no share */
#define Z_95	     1.96

/* The lower end of the 95 % interval (Wilson) of a share. */
static inline double surely(double k, double n)
{
	double p = k / n, z = Z_95;

	if (k > n || n <= 0)
		return n > 0 ? 1 : 0;
	return (p + z * z / (2 * n) - z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))) /
	       (1 + z * z / n);
}

static inline bool is_share(double k, double n, double limit)
{
	return k >= FAILED_LEAST && surely(k, n) > limit;
}
