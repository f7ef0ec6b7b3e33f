/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame of the commands redact, migrate and repair. */
#pragma once

#include "analyze/base/progress.h"
#include "analyze/transform/filter.h"
#include "format/recording.h"

/*
 * A command that derives one recording from another: REMAKE_OPTS, output, progress. make writes
 * to fd; doing is the label of progress.
 */
struct remake_config {	      /* first member of the command's configuration */
	struct filter filter; /* first: options of filter.h look for it there */
	const char *output;
	bool force;
	bool mends; /* a cut recording is what it is for, and no failure */
};

int remake_set_output(void *config, const char *arg, struct err *e);
int remake_set_force(void *config, const char *arg, struct err *e);

/* clang-format off */
#define REMAKE_OPTS                                                                                   \
	{ "output", 'o', "FILE", "the recording to make; - is standard output", remake_set_output }, \
	{ "force", 0, NULL, "replace the file if it is there", remake_set_force }
/* clang-format on */

int remake(const char *path, const struct remake_config *c, const char *doing,
	   int (*make)(void *arg, struct reader *r, int fd, struct progress *p, struct err *e),
	   void *arg, struct err *e);
