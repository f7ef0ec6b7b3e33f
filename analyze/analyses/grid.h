/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole windows of a recording, for analyses of series: arrays by window, and which
 * windows overlap losses in the groups that an analysis needs. Such windows are
 * excluded from statistics.
 */
#pragma once

#include "analyze/store/db.h"

#include <stddef.h>

struct grid {
	s64 step;    /* ns */
	size_t n;    /* whole windows */
	bool *lossy; /* by window */
	size_t n_lossy;
};

/* groups: names separated by blanks. Free it with grid_free, also after an error. */
int grid_open(struct grid *g, sqlite3 *db, const char *groups, struct err *e);

void grid_free(struct grid *g);
