/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A lock that is passed on: a thread that waited for it in a request releases it to the next one,
 * which waited at the same time, for most of its own wait. All of them waited for the first one
 * that released it. A thread of a pool waits for work outside of requests: it passes nothing on.
 */
#pragma once

#include "analyze/store/db.h"

struct sleep_end {
	s64 tid, ts, end, waker;
	bool lock;    /* a wait for a futex or a lock that a thread ended */
	bool request; /* in a request of its thread */
};

struct handoffs {
	struct sleep_end *v; /* by thread and time */
	size_t n;
};

/* A wait of a thread, and the thread that ended it. */
struct handoff {
	s64 ts, end, waker;
};

/* Sleeps that end in one of n time ranges. */
int handoffs_read(struct handoffs *h, sqlite3 *db, s64 (*ranges)[2], int n, struct err *e);

/* The first of the waits in a row that ends with this one: it itself, if its waker passed nothing
 * on. */
struct handoff handoffs_first(const struct handoffs *h, struct handoff last);

/* The end of the last sleep of a thread until then; 0: none was read. */
s64 handoffs_slept(const struct handoffs *h, s64 tid, s64 until);

void handoffs_free(struct handoffs *h);
