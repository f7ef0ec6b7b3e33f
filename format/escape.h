/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The only door by which bytes from a recording reach a terminal, a document
 * or a plot. Names, arguments and paths are chosen by the users of
 * the recorded host, so they may hold escape sequences, markup or formulas.
 */
#pragma once

#include "buf.h"

#include <stdio.h>

enum escape_for {
	ESCAPE_TEXT,	 /* terminal: controls, bad UTF-8, bidi marks become \xNN or \u{N} */
	ESCAPE_JSON,	 /* inside a JSON string, without the quotes */
	ESCAPE_MARKDOWN, /* a table cell: as text, and | ` * _ < > [ ] # \ get a backslash */
	ESCAPE_HTML,	 /* text or attribute value */
	ESCAPE_CSV,	 /* a whole cell with its quotes; = + - @ at the start are defused */
	ESCAPE_TSV,	 /* a cell for gnuplot: as text, blanks and quotes too */
	ESCAPE_FOLDED,	 /* a frame of a folded stack: as text, and ; becomes \x3b */
	ESCAPE_LABEL, /* inside the quotes of an OpenMetrics label: as text, then \ and " escaped */
	ESCAPE_DATA,  /* text of a data file: bad UTF-8 becomes \xNN, all else stays */
};

/*
 * Appends n bytes, made safe. The result is valid UTF-8 and has no control bytes, except that of
 * ESCAPE_DATA.
 */
int escape_add(struct buf *out, enum escape_for how, const char *bytes, size_t n, struct err *e);

/* Appends a word so that a shell reads it as one: in quotes where it needs them. Not yet safe to
 * show. */
int escape_word(struct buf *out, const char *word, struct err *e);

/* A sentence of a program, for a terminal, and a newline. Without memory, what is not ASCII is ?.
 */
void escape_say(FILE *out, const char *program, const char *text);
