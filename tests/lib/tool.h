/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs that make loads share: clocks, and random numbers that a seed repeats. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline uint64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

/* splitmix64 */
static inline uint64_t mixed(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline uint64_t random_u64(uint64_t *seed)
{
	return mixed(*seed += 0x9e3779b97f4a7c15ull);
}

/* From 0 to below 1. */
static inline double random_01(uint64_t *seed)
{
	return (random_u64(seed) >> 11) * 0x1p-53;
}
