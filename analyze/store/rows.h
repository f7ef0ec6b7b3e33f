/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a query as text: aligned, CSV, JSON or a line a value. All bytes are escaped. */
#pragma once

#include "analyze/base/sink.h"
#include "db.h"

enum rows_form {
	ROWS_TABLE, /* columns aligned for a terminal */
	ROWS_CSV,   /* RFC 4180, with a header; text is quoted, formulas are defused */
	ROWS_JSON,  /* one object a line */
	ROWS_LINE,  /* "column = value" a line, an empty line between rows */
};

/* Steps s to its end. In bounded memory: of a table, the first 1000 rows decide the widths. */
int rows_write(struct sink *out, sqlite3_stmt *s, enum rows_form form, struct err *e);
