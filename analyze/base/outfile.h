/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that a command makes: for its owner only, under another name until it is whole, never
 * over one that is there unless that was asked for.
 */
#pragma once

#include "format/buf.h"
#include "format/event.h"

#include <stdbool.h>

struct outfile {
	const char *path; /* as the user gave it; "-" is standard output */
	struct buf part;  /* the name until then; none if it needs none: newfile.h */
	bool force;	  /* may replace */
	int fd;
};

/* ERR_FAIL if path exists (without force), or is a terminal. */
int outfile_open(struct outfile *o, const char *path, bool force, struct err *e);

/* The file is whole: gives it its name. */
int outfile_keep(struct outfile *o, struct err *e);

/* The same, but the caller sees to it that the file is on its disk. */
int outfile_name(struct outfile *o, struct err *e);

/* Closes; what was not kept is removed. */
void outfile_close(struct outfile *o);

/* An open file without a name, for what is needed only now. Negative on error. */
int outfile_nameless(struct err *e);

/* Random bytes: for a new recording's id, for a key. */
int random_bytes(void *to, size_t n, struct err *e);
