/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that a recording goes to. A process of its own writes it (output_worker.h), from a pipe:
 * a file system that does not respond blocks that process, not the recorder.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OUTPUT_MS 10000 /* without an answer of the file system: then it is given up */
#define SYNC_MS	  20000 /* the same until its disk has all */

struct output {
	char path[PATH_MAX]; /* "-": standard output */
	int fd;		     /* -1: closed */
	u8 uuid[16];
	pid_t pid;		  /* of the process that writes; 0: none */
	struct output_task *task; /* of that process; NULL: none */
	bool exists;		  /* it was not opened: there is a file of this name */
	bool silent;		  /* its file system did not respond */
};

/*
 * Starts the process that writes; best early, since it keeps the memory that there is then. path
 * NULL: obs-HOST-TIME.obs in the current directory. "-": standard output, unless that is a
 * terminal.
 */
int output_start(struct output *ret, const char *path, struct err *e);

/*
 * Creates the file: new, for its owner alone, not through a link, and owned by the user who called
 * sudo. ms: how long the file system may take; a signal to stop ends the wait.
 */
int output_open(struct output *o, int ms, struct err *e);

/* Bytes free on its file system, as of a short time ago; UINT64_MAX if it has none. */
u64 output_free(const struct output *o);

/* CPU time in ns of the process that writes. */
u64 output_cpu(const struct output *o);

/* The path of snapshot number n of flight mode, made from that of -o (NULL: the usual name). */
void output_snapshot_path(char *ret, size_t size, const char *path, unsigned int n);

/* ERR_FAIL if no file can be made where path (NULL: the usual one) says. */
int output_try(const char *path, struct err *e);

/*
 * Makes what was written safe and closes it. An empty file is taken away again. An error of the
 * file is the reason of those of a writer before: it replaces what e has. A process that is stuck
 * is left alone, and goes on when its file system does.
 */
int output_close(struct output *o, struct err *e);
