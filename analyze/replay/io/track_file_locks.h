/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks of files (track_file_locks.c). */
#pragma once

#include "descriptors.h"

/* A process closes a descriptor of f: it loses its locks of that file, and those of the open file.
 */
int file_locks_closed(struct replay *r, const struct process *p, s64 fd, const struct file *f,
		      u64 ts, struct err *e);
