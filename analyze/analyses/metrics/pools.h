/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Series of pools: the threads of one name are one pool, in a process or, of workers, in all that
 * one process leads (LED_PROCESSES). Every series of a pool, and of a pool and resource, by
 * windows. Sleep and waits for work (receives and accepts of clients' sockets, epoll, poll, queue
 * hand-offs) are the complement of work and excluded.
 */
#pragma once

#include "analyze/analyses/analysis.h"
#include "analyze/analyses/grid.h"

#define POOL_SERIES_MAX 1000

struct pool_series {
	s64 kind, pool, part; /* part: related.part; -1: all */
	bool count, own;      /* of the server asked for */
	struct subject about;
	char name[160];
};

/* The pool of each thread, in temp.pool: named by its first thread. */
int pools_open(struct analysis_ctx *c, struct err *e);

/*
 * Keeps the `most` pools that have most to do with a server (SERVICE_GROUP), or with process pid if
 * it is not 0: they served its requests; woke those that did, had the CPU that they waited for, or
 * held their locks; then those with most CPU time. The rest is one pool.
 */
void pools_keep(struct analysis_ctx *c, s64 group, s64 pid, s64 most);

/* Reads the series, in windows of step ns. */
int pools_read(struct analysis_ctx *c, s64 step, struct err *e);

/*
 * The series of all pools, at most POOL_SERIES_MAX; all resources of a pool together, and each kind
 * of resource where there are several. group: a server, or 0. rate: without counts of its receives
 * and sends, of which its rate is made. Returns how many.
 */
size_t pools_series(struct analysis_ctx *c, struct pool_series *ret, s64 group, bool rate);

/* The values of a series by window, and the windows in which its pool lived. */
void pools_values(struct analysis_ctx *c, const struct grid *grid, const struct pool_series *x,
		  double *value, size_t *ret_from, size_t *ret_to);
