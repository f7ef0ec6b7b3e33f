/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a comparison as cells, as they are shown, for each form of output to draw. */
#ifndef OBS_COMPARE_CELLS_H
#define OBS_COMPARE_CELLS_H

#include "analyze/store/db.h"
#include "format/buf.h"

#define CELL_COLUMNS 7
#define CELL_ROWS    600
#define CELL_SIZE    200

struct cells {
	const char *id, *title;
	char cells[CELL_ROWS][CELL_COLUMNS][CELL_SIZE]; /* row 0: the head; not escaped for HTML */
	int rows, columns;
	int left; /* columns that are words, at the left */
};

/* Draws one table that has rows; negative stops. */
typedef int (*cells_draw_fn)(void *arg, const struct cells *t, struct err *e);

/* Calls draw for each table of the comparison in db, in their order. threshold: a share. */
int compare_cells(sqlite3 *db, double threshold, cells_draw_fn draw, void *arg, struct err *e);

/* "Before: a.obs: 4.00 s, 1,234 events, none lost", for row q of compare_recordings. */
#define COMPARE_RECORDINGS                                             \
	"SELECT side, file, duration, seen, lost, whole FROM compared" \
	" ORDER BY side DESC, number"
int compare_recording(struct buf *line, sqlite3_stmt *q, struct err *e);

#endif
