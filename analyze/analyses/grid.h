/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole windows of a recording, for analyses of series: arrays by window, and which
 * windows overlap losses in the groups that an analysis needs. Such windows are left out of
 * statistics; pack() does that.
 */
#ifndef OBS_GRID_H
#define OBS_GRID_H

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

/*
 * Adds the numbers of a query to columns by window: its first column is a time, the others go
 * to to[0], to[1], ..., which are arrays of g->n. Rows outside the grid are ignored.
 */
int grid_read(const struct grid *g, sqlite3_stmt *s, double *const *to, int columns, struct err *e);

/* Moves the values of windows in [from, to) without loss to the front; returns how many. */
size_t grid_pack(const struct grid *g, double *v, size_t from, size_t to);

#endif
