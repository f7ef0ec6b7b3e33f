/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures: a query of pictures.def, whose rows gnuplot draws as plots/<name>.gp says. Text from
 * the recording is escaped in the rows already.
 */
#pragma once

#include "analyze/store/db.h"
#include "format/buf.h"

#include <stdbool.h>
#include <stdio.h>

struct picture {
	const char *name;
	const char *analysis; /* whose answers it shows */
	const char *shows;    /* what there is to see, as a sentence without full stop */
	const char *sql;
};

/* In the order of pictures.def; ended by one without name. */
extern const struct picture pictures[];

/* Appends the picture's rows as TSV; returns how many, negative on error. */
int picture_data(struct buf *tsv, sqlite3 *db, const struct picture *p, struct err *e);

/* How a picture is drawn. */
struct picture_look {
	const char *format; /* svg, png, or inline: svg without ground */
	const char *note;   /* a line below the title, of the user's; NULL: none */
	s64 start_ms;	    /* wall clock at the start of the recording, since 1970; 0: unknown */
	bool quiet;	    /* what gnuplot says is dropped */
};

/*
 * Runs gnuplot in dir, where data lies and file is made: plain names without blanks or signs.
 * ERR_ENV if there is no gnuplot here.
 */
int picture_draw(const struct picture *p, const char *dir, const char *data, const char *file,
		 const struct picture_look *look, struct err *e);

/* Pictures as files in a directory. */
struct picture_files {
	const char *dir;
	const char *format; /* svg or png */
	const char *note;   /* as in picture_look */
	bool keep;	    /* the rows, as NAME.tsv */
	FILE *list;	    /* where names of files that were made go; NULL: nowhere */
};

/* Takes the argument of --format. */
int picture_format(struct picture_files *f, const char *arg, struct err *e);

/* Makes the directory if it is not there. */
int picture_dir(const struct picture_files *f, struct err *e);

/* Draws dir/NAME.format, also over one that is there: 1; 0 if there is nothing to draw. */
int picture_file(sqlite3 *db, const struct picture *p, const struct picture_files *f,
		 struct err *e);

/*
 * Appends the picture as an <svg> element for a document with light and dark colours: 1; 0 if the
 * recording has nothing to draw.
 */
int picture_inline(struct buf *out, sqlite3 *db, const struct picture *p, struct err *e);

/*
 * Appends gnuplot's SVG as an element that can stand in HTML next to others: only known elements
 * and attributes, no references but to itself, ids that begin with id, black as the text's colour.
 */
int svg_inline(struct buf *out, const char *svg, size_t n, const char *id, const char *title,
	       const char *desc, struct err *e);
