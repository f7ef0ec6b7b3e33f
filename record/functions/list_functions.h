/* SPDX-License-Identifier: GPL-2.0-or-later */
/* obsrec list -u: the functions of a file that can be probed. */
#ifndef OBS_LIST_FUNCTIONS_H
#define OBS_LIST_FUNCTIONS_H

#include "record/options.h"

struct list_config {
	const char *what; /* FILE or FILE:FUNC */
	u32 pids[TARGETS_MAX];
	int n_pids;
};

/* Prints a line for each name. ERR_FAIL if there is none. */
int list_functions(const struct list_config *c, struct err *e);

#endif
