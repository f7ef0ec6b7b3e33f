/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a recording as a recording of its own: by time, by process, by thread. It begins
 * with the state of its first moment, as a recording started then would.
 */
#pragma once

#include "filter.h"

struct excerpt_summary {
	u64 records;  /* written, of CPUs */
	u64 from, to; /* in ns after the start of the original */
};

/*
 * Reads the recording and writes the part that f leaves in to fd. ERR_FAIL if nothing of the
 * recording lies there, or if no thread matches.
 */
int excerpt_make(struct excerpt_summary *ret, struct reader *r, const struct filter *f, int fd,
		 struct err *e);

/* The same, to be read: a reader of a file without a name. */
int excerpt_open(struct reader **ret, struct reader *r, const struct filter *f, struct err *e);

/*
 * Opens a recording, or if f leaves something out the part of it. *ret_damaged: the recording is
 * cut, or damaged where it was read for the part, which is whole all the same.
 */
int excerpt_reader(struct reader **ret, bool *ret_damaged, const char *path, const struct filter *f,
		   struct err *e);
