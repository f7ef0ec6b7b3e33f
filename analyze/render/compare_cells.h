/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a comparison as cells, as they are shown, for each form of output to draw. */
#pragma once

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

/* Calls draw for each table of the comparison in db, in their order; the first ("key") has what a
 * reader wants first. all: also the others. threshold: a share. */
int compare_cells(sqlite3 *db, double threshold, bool all, cells_draw_fn draw, void *arg,
		  struct err *e);

/* "Before: a.obs: 4.00 s, 1,234 events, 0 lost", for row q of these queries. */
#define COMPARE_RECORDINGS                                                \
	"SELECT side, file, duration, seen, lost, complete FROM compared" \
	" ORDER BY side DESC, number"
/* One row a side. */
#define COMPARE_SIDES                                                                        \
	"SELECT side, iif(count(*)=1, max(file), count(*) || ' recordings'), sum(duration)," \
	" sum(seen), sum(lost), min(complete) FROM compared GROUP BY side ORDER BY side DESC"
int compare_recording(struct buf *line, sqlite3_stmt *q, struct err *e);

/* The findings in the order of reading: what changed, why, load and rare events, then limits. */
enum line_rank { LINE_VERDICT, LINE_WHY, LINE_NOTE };

struct compare_line {
	enum line_rank rank;
	const char *label; /* "SLOWER", "WHY", "NOTE", ... */
	const char *class; /* of the label in HTML; empty: none */
	const char *text;  /* with bytes of the recordings */
};

typedef int (*compare_line_fn)(void *arg, const struct compare_line *line, struct err *e);

/* Calls back for each finding of this rank. */
int compare_lines(sqlite3 *db, enum line_rank rank, compare_line_fn fn, void *arg, struct err *e);
