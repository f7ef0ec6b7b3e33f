/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics and findings as text for a terminal, Markdown for a ticket, JSON, or HTML. The only
 * code that formats answers; it knows rows, no analysis.
 */
#pragma once

#include "analyze/store/db.h"
#include "format/buf.h"

#define FORMAT(id, name, letter, argument, doc) RENDER_##id,
enum render_format {
	RENDER_TEXT,
#include "formats.def"
};
#undef FORMAT

struct render_options {
	enum render_format format;
	int width;	  /* columns of a terminal: tables are cut to it */
	bool colour;	  /* text only */
	bool all;	  /* text and Markdown: more than the first screen */
	const char *only; /* one analysis; NULL: all */
	const char *name; /* of the recording, as the user gave it */
};

/* Appends the whole report. analyses_run has been called before. */
int render_report(struct buf *out, sqlite3 *db, const struct render_options *o, struct err *e);

/* The same in one format; render_report chooses among them. */
#define FORMAT(id, name, letter, argument, doc)                                         \
	int render_##name(struct buf *out, sqlite3 *db, const struct render_options *o, \
			  struct err *e);
#include "formats.def"
#undef FORMAT

/* Appends the JSON Schema of the report's JSON form. */
int render_json_schema(struct buf *out, struct err *e);

/* Appends what compare put into db (compare.h); threshold: what counts as a change; verbose: all
 * tables. */
int render_compare(struct buf *out, sqlite3 *db, const struct render_options *o, double threshold,
		   bool verbose, struct err *e);

/* Appends a query's rows as a JSON array of objects; only is bound to the query's parameter. */
int render_rows(struct buf *out, sqlite3 *db, const char *sql, const char *only, struct err *e);
