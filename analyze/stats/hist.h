/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A histogram of durations whose buckets are at most 1/32 of their value wide
 * (exact below 32 ns), so that a quantile read from it is within 3.2 % of the
 * sample's. Memory grows with the octaves that occur. Zero-initialised it is empty.
 */
#pragma once

#include "format/event.h"

#include <stdbool.h>

#define HIST_SUB     32 /* buckets of one octave */
#define HIST_OCTAVES 60 /* enough for any u64 */

struct hist {
	u64 n;
	u64 sum; /* ns; saturates */
	u64 min;
	u64 max;
	u32 *octave[HIST_OCTAVES]; /* HIST_SUB counts each, or NULL */
};

/* Counts one value; silently keeps only n, sum, min and max when out of memory. */
void hist_add(struct hist *h, u64 value);

/* Counts a value n times. */
void hist_add_times(struct hist *h, u64 value, u64 n);

/* Takes a value back; false if none of its bucket is there. min and max stay. */
bool hist_take(struct hist *h, u64 value);

/* Calls back for each bucket that is not empty, in rising order: [low, high) holds n. */
void hist_each(const struct hist *h, void (*fn)(void *arg, u64 low, u64 high, u64 n), void *arg);

void hist_free(struct hist *h);
