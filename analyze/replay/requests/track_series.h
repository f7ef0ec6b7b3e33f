/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series: time and counts of threads and resources in windows of one step. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/*
 * Rows, which a long wait of one record makes one per window of: those of threads that exist at
 * first decide how long windows are. Four times as many are refused.
 */
#define SERIES_ROWS   1000000 /* of any recording */
#define SERIES_RECORD 32      /* more for each record */

enum resource_kind {
	RESOURCE_NONE,
	RESOURCE_SOCKET,
	RESOURCE_PIPE,
	RESOURCE_CHAR,
	RESOURCE_FUTEX,
	RESOURCE_EPOLL,
	RESOURCE_DISK,
};
/*
 * Adds the time from..to, cut at the edges of windows, and counts in the window of to. For
 * one (kind, tid, resource) calls come in order of time. resource 0: none. What fails is reported
 * by series_finish.
 */
void series_add(struct replay *r, enum series_kind kind, u32 tid, u32 resource, u64 from, u64 to,
		u64 n, u64 refused);
/* The error, if the recording needs too many rows. */
int series_failed(const struct replay *r, struct err *e);
/* The wait that was just added, and ended at ts, was ended by its timeout. */
void series_timeout(struct replay *r, enum series_kind kind, u32 tid, u32 resource, u64 ts);
/* A thread was in this state. */
void series_state(struct replay *r, u32 tid, enum state state, bool iowait, u64 from, u64 to);
/* The number of a resource: a socket, pipe or character device by dev and inode, a futex by
 * pid and address, a disk by dev. 0: there are too many. */
u32 series_resource(struct replay *r, enum resource_kind kind, u32 pid, u64 dev, u64 number);
/* The number of what fd refers to in p; 0: none that is followed. */
u32 series_file(struct replay *r, const struct process *p, s32 fd, struct file *f);
