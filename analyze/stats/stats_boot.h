/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals by bootstrap, for what has no formula. */
#pragma once

#include <stddef.h>

/* An estimate from the points that order names; NAN if it cannot be made of them. */
typedef double (*estimate_fn)(void *arg, const size_t *order, size_t n);

struct boot {
	double value;	  /* from all points */
	double low, high; /* 95 % interval: percentiles of the estimates; NAN: not known */
	double failed;	  /* share of the repetitions in which there was no estimate */
};

/*
 * Circular block bootstrap (Politis and Romano 1992): n points in order of time are drawn in
 * blocks of `block` neighbours, which keeps what they have in common. reps repetitions, from a
 * fixed seed, so that the same recording has the same interval. NAN below 3 points.
 */
struct boot stats_boot(size_t n, size_t block, int reps, estimate_fn fn, void *arg);

/* A length of blocks for n points: the cube root, at least 1 (Hall, Horowitz and Jing 1995). */
size_t stats_boot_block(size_t n);
