/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of requests by state. */
#pragma once

#include "analyze/store/db.h"

struct request_queue;

/* request_wait or request_queue: rows in the order of the requests. */
struct split {
	sqlite3_stmt *q;
	int more;
};

/* Both, and the requests in front. Zero-initialise; close also after a failure. */
struct splits {
	struct split wait, before;
	struct request_queue *queue;
};

int splits_open(struct splits *s, sqlite3 *db, struct err *e);

/*
 * Adds the time of request.rowid, in rising order, to spent (N_SPENT, of zeros). *ret_in_queue:
 * its time on a CPU for earlier ones.
 */
int splits_read(struct splits *s, s64 request, s64 queued, s64 dur, double *spent,
		s64 *ret_in_queue, struct err *e);

void splits_close(struct splits *s);
