/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mean and sum of squared deviations of values that come one by one (Welford 1962) or in
 * parts (Chan, Golub and LeVeque 1979): no difference of large squares is ever taken.
 */
#pragma once

#include "format/event.h"

#include <math.h>

/* Zero-initialised it is empty. */
struct moments {
	u64 n;
	double mean;
	double m2; /* sum of squared deviations from the mean */
};

static inline void moments_add(struct moments *m, double value)
{
	double before = value - m->mean;

	m->n++;
	m->mean += before / m->n;
	m->m2 += before * (value - m->mean);
}

static inline void moments_merge(struct moments *m, const struct moments *with)
{
	double gap = with->mean - m->mean, n = (double)m->n + with->n;

	if (!with->n)
		return;
	m->m2 += with->m2 + gap * gap * m->n * with->n / n;
	m->mean += gap * with->n / n;
	m->n += with->n;
}

/* The mean of squared deviations, E(x^2) - E(x)^2; NAN if empty. */
static inline double moments_variance(const struct moments *m)
{
	return m->n ? m->m2 / m->n : NAN;
}

/* Squared coefficient of variation: variance / mean^2. 1 for gaps of a Poisson process. */
static inline double moments_cv2(const struct moments *m)
{
	return m->n && m->mean != 0 ? moments_variance(m) / (m->mean * m->mean) : NAN;
}
