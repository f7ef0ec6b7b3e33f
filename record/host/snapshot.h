/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What existed when the recording began, read from /proc: threads, and what descriptors refer to.
 */
#pragma once

#include "accept_queues.h"
#include "record/files/safe_open.h"
#include "record/options/options.h"
#include "record/probes/probes.h"
#include "record/pump/pump.h"

#define SILENT_MAX 16

/* The worker for files of other processes, and the mounts that did not respond. All zero at first.
 */
struct snapshot_files {
	struct safe_files safe;
	u32 silent[SILENT_MAX]; /* mnt_id */
	int n_silent;
};

/*
 * Thread events for every thread of the host, fd events for the targets (with -a: for all
 * processes), between the facts snapshot_begin=TIME and snapshot=TIME. Threads that end
 * during it are excluded. May be taken again at any time. Ends early, without the fact snapshot,
 * if a signal to stop is pending.
 */
int snapshot_take(struct pump *p, const struct probes *probes, const struct targets *targets,
		  const struct accept_queues *queues, struct snapshot_files *files, struct err *e);

/*
 * The calls that wanted threads are still in at the end: syscall_args events with the flag
 * SYSCALL_UNFINISHED. Those in which they were since before the start have SYSCALL_NO_ENTRY as
 * well.
 */
int snapshot_open_calls(struct pump *p, const struct probes *probes, const struct options *o,
			struct err *e);

/* Of the text of /proc/PID/limits: the soft limit of open files; 0: not in it, or none. */
u64 snapshot_parse_limits(const char *text);

/* Parses a line of /proc/PID/stat into ev, without pid and tail. Pure: for tests. */
int snapshot_parse_stat(struct ev_thread *ev, const char *line, long ticks_per_second);
