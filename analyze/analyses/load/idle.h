/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How idle a service is: the CPUs that it may use, less those that its threads run or are runnable
 * on, by window. Threads that sleep are idle together only: an acceptor that sleeps leaves no
 * room next to a busy worker, and a thread for each connection sleeps nearly always.
 */
#pragma once

#include "analyze/analyses/grid.h"
#include "analyze/stats/stats_boot.h"

#define SATURATED 8.0 /* %: an idle share below it leaves no room */

struct idle {
	double *share;	   /* by window, %; NAN: lost events, or the service did not live */
	double cpus;	   /* that it may use: at most one for each thread that serves */
	struct boot total; /* of all windows, with an interval from 8 on */
	double min;	   /* of a window */
};

/* Of the process, or, if pid is negative, of all that answer as the server. Free with idle_free. */
int idle_read(sqlite3 *db, const struct grid *g, s64 pid, s64 server, struct idle *ret,
	      struct err *e);

void idle_free(struct idle *i);
