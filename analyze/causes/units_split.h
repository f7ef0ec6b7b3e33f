/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of requests by state. */
#ifndef OBS_UNITS_SPLIT_H
#define OBS_UNITS_SPLIT_H

#include "analyze/store/db.h"

struct behind;

/* turn_wait or turn_before: rows in the order of the requests. */
struct split {
	sqlite3_stmt *q;
	int more;
};

/* Both, and the requests in front. Zero-initialise; close also after a failure. */
struct splits {
	struct split wait, before;
	struct behind *behind;
};

int splits_open(struct splits *s, sqlite3 *db, struct err *e);

/*
 * Adds the time of request turn.rowid, in rising order, to spent (N_SPENT, of zeros). *ret_behind:
 * its time on a CPU for earlier ones.
 */
int splits_read(struct splits *s, s64 turn, s64 queued, s64 dur, double *spent, s64 *ret_behind,
		struct err *e);

void splits_close(struct splits *s);

#endif
