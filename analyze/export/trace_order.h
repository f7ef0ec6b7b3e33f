/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of a large table in order of time, without SQL. A table has them in the order in which
 * they ended: within WINDOW chunks that is nearly the order in which they began. The few rows that
 * lasted longer are read before.
 */
#pragma once

#include "analyze/store/columns/columns.h"
#include "trace_tracks.h"

/* Where a row belongs: among rows of equal begin the greatest rank is first. */
struct place {
	struct span span;
	s64 rank;
};

struct row_order {
	enum table_id table;
	u32 set; /* columns that are read; the others are 0 */
	/* false: the row has no place in time, it is left out */
	bool (*place)(const void *row, struct place *ret);
};

typedef int (*placed_fn)(void *arg, const void *row, const struct place *at);

/* fn for each row of what overlaps the part; what it returns but 0 ends the reading. */
int rows_in_order(sqlite3 *db, const struct row_order *o, struct span part, placed_fn fn, void *arg,
		  struct err *e);

/* A sum that stays in range, of what a recording says. */
static inline s64 end_of(s64 ts, s64 dur)
{
	s64 end;

	if (__builtin_add_overflow(ts, dur, &end))
		return dur < 0 ? INT64_MIN : INT64_MAX;
	return end;
}
