/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user asked for: the command line of obsrec. */
#ifndef OBS_OPTIONS_H
#define OBS_OPTIONS_H

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>
#include <stdio.h>

#define TARGETS_MAX 256 /* -p */
#define PROBES_MAX  64	/* -u */

struct options {
	bool all; /* -a */
	u32 pids[TARGETS_MAX];
	int n_pids;
	char **command;			   /* NULL: none */
	bool follow;			   /* children of targets too */
	u64 duration;			   /* ns; 0: until stopped */
	u64 max_size;			   /* bytes of the file; 0: no limit */
	const char *output;		   /* NULL: a name is made; "-": standard output */
	u32 groups;			   /* bit mask */
	const char *functions[PROBES_MAX]; /* FILE:FUNCTION */
	int n_functions;
	u64 ring; /* bytes a CPU, a power of two */
	bool quiet, stats, verbose;
	bool raw_tp;	 /* hidden: do not use tp_btf */
	bool stock_ring; /* hidden: the kernel's kind of rings */
	bool help, version;
};

/* Reads the command line; checks what can be checked without the kernel. */
int options_read(struct options *ret, int argc, char **argv, struct err *e);

void options_help(FILE *f);

#endif
