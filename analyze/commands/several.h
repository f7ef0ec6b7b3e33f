/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several recordings as the tables of one: merged in a file without a name, then loaded. */
#pragma once

#include "ask.h"

/*
 * Merges what the filter of a leaves in of n recordings, as the command merge does, into fd, which
 * stays the caller's. *ret_damaged: the first path that was cut or damaged, or NULL.
 */
int merge_files(int fd, char **paths, int n, const struct filter *f, const char **ret_damaged,
		struct err *e);

/* Opens a private database of the merged recordings, without answers. */
int several_open(sqlite3 **ret, char **paths, int n, const struct asked *a,
		 const char **ret_damaged, struct err *e);
