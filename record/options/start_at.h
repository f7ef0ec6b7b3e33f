/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --at: a recording that starts at a time of the wall clock, as others on other hosts do. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>

struct start_at {
	u64 moment; /* ns since 1970; 0: see every */
	u64 every;  /* ns: the next multiple of it; both 0: at once */
};

/*
 * "14:03" and "14:03:07.25": the next one, UTC; "2026-11-21T14:03:07Z"; "/10s": the next multiple
 * of 10 s since 1970. now: ns since 1970.
 */
int start_at_parse(struct start_at *ret, const char *text, u64 now, struct err *e);

/* When to start, ns since 1970; 0: at once. */
u64 start_at_moment(const struct start_at *a, u64 now);

/* CLOCK_REALTIME, ns */
u64 start_at_now(void);

/*
 * Waits for the moment, or until fd is readable. say: print when, and if it had passed. The clock
 * is read again and again, so that a step of it counts.
 */
int start_at_wait(const struct start_at *a, int fd, bool say, struct err *e);
