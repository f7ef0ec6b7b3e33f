/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads that answer requests of a server, when each of them had a request, and when all had
 * one: pool_busy.c.
 */
#pragma once

#include "analyze/analyses/verdict/fd_rows.h"
#include "verdict_queues.h"

/* A request, from its arrival; or one that was read and has no answer yet. */
struct pooled {
	s64 arrival, read, end;
	s64 name;     /* request_name.id; 0: none */
	s64 accepted; /* its connection; 0: before the recording, or not known */
	s64 connection;
	u32 tid, worker;   /* worker: index */
	bool free_for_all; /* no thread had its connection */
};

struct worker {
	s64 tid, pid, start, end;
	bool serves;
};

/* All threads had a request; before: ns of those before it. */
struct full {
	s64 from, to;
	double before;
};

struct pool {
	struct pooled *v; /* by thread and read */
	size_t n;
	struct worker *workers; /* by tid and start */
	size_t n_workers;
	struct full *full; /* by time */
	size_t n_full;
	int most;	 /* threads that had one at one time, while all had one */
	double together; /* requests that a thread read before it had answered the one before */
};

/* 1: a pool of two or more; 0: its threads are none, or it has too many requests. Free with
 * pool_free. */
int pool_read(struct pool *p, const struct analysis_ctx *c, s64 server, struct err *e);
void pool_free(struct pool *p);
/* ns from the start of the recording to ts in which all threads had a request. */
double pool_full(const struct pool *p, s64 ts);

/* What threads of the server that waited for a file lock waited for: pool_held.c. */
struct pool_held {
	s64 tid; /* had the lock for most of their waits; 0: none */
	struct buf function;
};

/* Zero-initialise, free function. From when until when. */
int pool_held(struct pool_held *h, sqlite3 *db, s64 server, s64 from, s64 to, struct err *e);
