/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What existed when the recording began, read from /proc: threads, and what descriptors refer to.
 */
#ifndef OBS_SNAPSHOT_H
#define OBS_SNAPSHOT_H

#include "options.h"
#include "probes.h"
#include "pump.h"

/*
 * Marks all threads of the target processes, again and again until no new one appears.
 * ERR_FAIL names the process that does not exist.
 */
int snapshot_mark(struct probes *probes, const struct options *o, struct err *e);

/*
 * Thread events for every thread of the host, fd events for the targets (with -a: for all
 * processes). Threads that end meanwhile are left out.
 */
int snapshot_take(struct pump *p, const struct options *o, struct err *e);

/*
 * The calls that wanted threads are still in at the end: syscall_args events with the flag
 * SYSCALL_UNFINISHED.
 */
int snapshot_open_calls(struct pump *p, const struct probes *probes, struct err *e);

/* Parses a line of /proc/PID/stat into ev, without pid and tail. Pure: for tests. */
int snapshot_parse_stat(struct ev_thread *ev, const char *line, long ticks_per_second);

#endif
