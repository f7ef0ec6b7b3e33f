/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of system calls that failed, their file system, and who wrote most there. */
#pragma once

#include "format/buf.h"
#include "format/event.h"

#include <sqlite3.h>
#include <stdbool.h>

struct failed_call {
	s64 ts, tid, fd; /* fd negative: none */
};

struct failed_place {
	struct buf path;       /* of the first; empty: not known */
	bool several;	       /* the last has another */
	struct buf filesystem; /* type and target */
	struct buf written;    /* the file there to which most bytes were written */
	s64 writer;	       /* by this process; 0: not asked, or no file has many */
	double bytes, of;      /* to it, to all files there */
};

/*
 * Of calls that fail, the first and the last. full: for want of space, so the writer is asked for.
 */
int failed_place_read(struct failed_place *ret, sqlite3 *db, const struct failed_call *first,
		      const struct failed_call *last, bool full, struct err *e);
void failed_place_free(struct failed_place *p);
