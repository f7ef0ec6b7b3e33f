/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who wrote what threads of the kernel write back to a disk later. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <sqlite3.h>

struct disk_writer {
	s64 pid;	   /* 0: none wrote most */
	double bytes, all; /* all: by all processes */
};

/*
 * The process that wrote most bytes of files on the disk or its partitions, in the whole recording.
 * Only if threads of the kernel wrote more than they read there, and not much more than it did: not
 * all writers need be recorded. And only if mover, the process that moved most to the disk, is one
 * of the kernel, or 0: not asked.
 */
int disk_writer_read(struct disk_writer *ret, sqlite3 *db, s64 dev, s64 mover, struct err *e);
