/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a long result goes: a new file or standard output, a piece at a time, in bounded
 * memory. Write into b (buf.h), and call sink_more now and then.
 */
#pragma once

#include "format/buf.h"

#include <stdbool.h>

struct sink {
	struct buf b;
	const char *path; /* NULL: standard output */
	int fd;
	bool nameless; /* until it is complete: newfile.h */
	bool gone;     /* the reader is gone (head): what follows is thrown away, no failure */
};

/* path NULL or "-": standard output; else a file that must not exist. */
int sink_open(struct sink *s, const char *path, struct err *e);

/* Writes what has been gathered, if that is enough. 1: the reader is gone. */
int sink_more(struct sink *s, struct err *e);

/*
 * Writes the rest and closes. good false: the file is removed, nothing is written. A file is
 * complete or not there.
 */
int sink_close(struct sink *s, bool good, struct err *e);

/* Writes a whole result to a new file, or to standard output for NULL and "-". */
int sink_write(const struct buf *b, const char *path, struct err *e);
