/* SPDX-License-Identifier: GPL-2.0-or-later */
/* obsrec list -u: the functions of a file that can be probed. */
#pragma once

#include "binaries.h"
#include "record/options/options.h"

struct list_config {
	const char *what; /* FILE or FILE:FUNC; of static probes FILE or FILE:PROBE */
	u32 pids[TARGETS_MAX];
	int n_pids;
};

/* The files of FILE alone, or of FILE:NAME; then *ret_name points after the colon, else NULL. */
int list_find_files(const struct list_config *c, struct binaries *b, int files[BINARIES_MAX],
		    const char **ret_name, struct err *e);

/* Prints a line for each name. ERR_FAIL if there is none. */
int list_functions(const struct list_config *c, struct err *e);
