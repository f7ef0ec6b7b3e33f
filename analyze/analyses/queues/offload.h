/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sleeps in poll of the threads that serve, and who ended them: offload.c. A thread of the same
 * process that serves no requests, and wakes an event loop, has done work for it.
 */
#pragma once

#include "verdict_queues.h"

#include "analyze/base/idmap.h"

struct woke {
	s64 tid, at; /* the end of a sleep of a thread that serves */
	s64 waker;   /* a thread of its process that serves no requests; 0: another end */
};

struct offload {
	struct woke *v; /* by tid and time */
	size_t n;
	struct idmap serving; /* tid -> anything */
};

/* 1: some sleeps were ended so; 0: none, or there are too many. Free with offload_free. */
int offload_read(struct offload *o, sqlite3 *db, s64 server, struct err *e);
void offload_free(struct offload *o);
/* The last sleep of the thread in from..to, if a waker ended it; else NULL. */
const struct woke *offload_last(const struct offload *o, s64 tid, s64 from, s64 to);
