/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples and long waits with stacks, and within how many slow and baseline units each of them
 * lies. Units are what causes.c compares; a moment within several counts for each.
 */
#pragma once

#include "samples.h"

/* Of a unit: from the read to the end, from the arrival to the read, or all of it. */
enum side_part { PART_SERVED, PART_QUEUED, PART_ALL };

struct side_event {
	u32 tid;
	s64 ts;
	s64 user, kernel; /* stack.id */
	double ns;
	double slow, baseline; /* units */
};

struct sides {
	struct side_event *v; /* by thread, then by ts */
	size_t n;
	double n_slow[UNIT_BLOCKS], n_baseline[UNIT_BLOCKS]; /* units */
};

/* The recording has samples, or waits with stacks. */
int sides_any(sqlite3 *db, bool *ret_any, struct err *e);

/* waits: those of a category (N_CATEGORIES: of all that no input ends); else samples. */
int sides_read(struct sides *s, const struct samples *d, bool waits, enum category category,
	       enum side_part part, struct err *e);
void sides_free(struct sides *s);

/* Of UNIT_BLOCKS values. */
double sides_sum(const double *v);

/* Puts rows of table stack_side: what slow and baseline units ran, and waited in. */
int sides_put(const struct samples *d, struct err *e);

/* On which side a unit is: as units.c and causes_compare.c sort them. */
enum side { SIDE_NEITHER = -1, SIDE_BASELINE, SIDE_SLOW };
enum side sides_of(const struct samples *d, s64 ts, s64 dur);

/* The block of a moment. */
int sides_block(const struct samples *d, s64 ts);
