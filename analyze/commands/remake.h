/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame of the commands redact, migrate and repair. */
#ifndef OBS_REMAKE_H
#define OBS_REMAKE_H

#include "analyze/base/progress.h"
#include "analyze/transform/filter.h"
#include "format/recording.h"

/*
 * A command that makes one recording out of one: options -o and --force, output, progress.
 * make writes to fd; doing is the label of progress.
 */
struct remake_config {	      /* first in the command's configuration, */
	struct filter filter; /* whose options look for it there */
	const char *output;
	bool force;
	bool mends; /* a cut recording is what it is for, and no failure */
};

int remake(const char *path, const struct remake_config *c, const char *doing,
	   int (*make)(void *arg, struct reader *r, int fd, struct progress *p, struct err *e),
	   void *arg, struct err *e);

#endif
