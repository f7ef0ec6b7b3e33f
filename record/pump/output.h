/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that a recording goes to. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct output {
	char path[PATH_MAX]; /* "-": standard output */
	int fd;
	u8 uuid[16];
};

/*
 * Creates the file: new, for its owner alone, not through a link, and owned by the user who called
 * sudo. path NULL: obs-HOST-TIME.obs in the current directory. "-": standard output,
 * unless that is a terminal.
 */
int output_open(struct output *ret, const char *path, struct err *e);

/* Bytes free on the file system of fd; UINT64_MAX if it has none. */
u64 output_free(int fd);

/* The path of snapshot number n of flight mode, made from that of -o (NULL: the usual name). */
void output_snapshot_path(char *ret, size_t size, const char *path, unsigned int n);

/* ERR_FAIL if no file can be made where path (NULL: the usual one) says. */
int output_try(const char *path, struct err *e);

/* True if there is a file of this name. */
bool output_exists(const char *path);

/* Makes what was written safe and closes it. An empty file is taken away again. */
int output_close(struct output *o, struct err *e);
