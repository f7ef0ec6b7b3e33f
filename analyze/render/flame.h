/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flame graphs as SVG: the outermost function on top, width is time, a title on each function. Of
 * two sides widths are those of the first (slow, after), colours which functions have a larger or a
 * smaller share.
 */
#pragma once

#include "analyze/store/db.h"
#include "format/buf.h"

#include <stdbool.h>
#include <stdio.h>

struct flame {
	const char *name;
	const char *analysis;	    /* whose answers it shows */
	const char *shows;	    /* as a sentence without full stop */
	const char *first, *second; /* names of the sides; second NULL: one side */
	/* rows: user stack, kernel stack, label or NULL, flags of sample, ns, ns of the second
	 * side, how many samples */
	const char *sql;
};

/* Ended by one without name. */
extern const struct flame flames[];

/*
 * Appends the graph: 1; 0 if there is nothing to draw. alone: a file of its own, with its heading;
 * else an element for HTML with a caption above it. Of two sides, the function of most of the
 * difference has a frame.
 */
int flame_draw(struct buf *out, sqlite3 *db, const struct flame *f, bool alone, struct err *e);

/* Draws it to NAME.svg in a directory, replacing a file; its path is printed to paths (NULL:
 * nowhere). 1; 0: nothing to draw. */
int flame_file(sqlite3 *db, const struct flame *f, const char *dir, FILE *paths, struct err *e);

/* The flame graph of that name. */
const struct flame *flame_named(const char *name);
