/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a series changes its level. */
#pragma once

#include <stddef.h>

#define CHANGES_MAX 16

/*
 * Splits n values (order of time) where their distribution changes: E-divisive (Matteson and James
 * 2014), each split tested with Student's t at p < 0.0001 instead of permutations, so that the
 * result is always the same, and kept if the means differ by at least `least`. No part is shorter
 * than `shortest`. Writes the first indices of the parts after each split, rising; returns how
 * many.
 */
size_t stats_changes(const double *x, size_t n, double least, size_t shortest,
		     size_t ret[CHANGES_MAX]);
