// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows that prove a finding. */
#include "evidence.h"

#include "format/escape.h"

#include <string.h>

#define COLUMNS_MAX 16
#define CELL_MAX    200	    /* bytes of a cell that are shown */
#define STEPS_EACH  1000000 /* of SQLite's machine between two questions whether to go on */
#define STEPS_MAX   100	    /* times that: seconds, and the same everywhere */

static int only_reading(void *arg, int action, const char *a, const char *b, const char *c,
			const char *d)
{
	(void)arg;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
			       action == SQLITE_RECURSIVE
		       ? SQLITE_OK
		       : SQLITE_DENY;
}

static int too_long(void *arg)
{
	int *steps = arg;

	return ++*steps > STEPS_MAX;
}

static int add(struct buf *out, const char *text, struct err *e)
{
	size_t n = strnlen(text, CELL_MAX);
	int ret = escape_add(out, ESCAPE_HTML, text, n, e);

	return ret < 0 || !text[n] ? ret : buf_printf(out, e, "...");
}

static int add_names(struct buf *out, sqlite3_stmt *s, int columns, struct err *e)
{
	int i;

	buf_printf(
		out, e,
		"<div class=\"wide\" role=\"region\" tabindex=\"0\" "
		"aria-label=\"Rows of the evidence\"><table class=\"rows\"><caption>The first rows of this "
		"query; times in ns</caption><thead><tr>");
	for (i = 0; i < columns; i++) {
		buf_printf(out, e, "<th scope=\"col\">");
		add(out, sqlite3_column_name(s, i), e);
		buf_printf(out, e, "</th>");
	}
	return buf_printf(out, e, "</tr></thead><tbody>\n");
}

static int add_row(struct buf *out, sqlite3_stmt *s, int columns, struct err *e)
{
	int i;

	buf_printf(out, e, "<tr>");
	for (i = 0; i < columns; i++) {
		const char *text = db_text_or(s, i, NULL);
		bool word = sqlite3_column_type(s, i) == SQLITE_TEXT;

		buf_printf(out, e, "<td%s>", word ? " class=\"word\"" : "");
		add(out, text ? text : "-", e);
		buf_printf(out, e, "</td>");
	}
	return buf_printf(out, e, "</tr>\n");
}

static int add_rows(struct buf *out, sqlite3_stmt *s, struct err *e)
{
	int n = 0, columns = sqlite3_column_count(s), got, ret = 0;

	columns = columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
	while (ret == 0 && (got = sqlite3_step(s)) == SQLITE_ROW && n < EVIDENCE_ROWS) {
		if (n++ == 0)
			ret = add_names(out, s, columns, e);
		if (ret == 0)
			ret = add_row(out, s, columns, e);
	}
	if (ret == 0 && n)
		ret = buf_printf(out, e, "</tbody></table></div>\n");
	if (ret == 0 && db_is_fault(got))
		ret = err_set(e, ERR_FAIL, "a query for evidence fails: %s", sqlite3_errstr(got));
	else if (ret == 0 && got != SQLITE_ROW && got != SQLITE_DONE)
		ret = buf_printf(out, e, "<p>The query takes too long to be run here.</p>\n");
	else if (ret == 0 && !n)
		ret = buf_printf(out, e, "<p>The query has no rows.</p>\n");
	return ret;
}

int evidence_html(struct buf *out, sqlite3 *db, const char *sql, struct err *e)
{
	sqlite3_stmt *s = NULL;
	int ret, steps = 0, code;

	sqlite3_set_authorizer(db, only_reading, NULL);
	sqlite3_progress_handler(db, STEPS_EACH, too_long, &steps);
	code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	if (db_is_fault(code))
		ret = err_set(e, ERR_FAIL, "a query for evidence fails: %s", sqlite3_errstr(code));
	else if (code != SQLITE_OK || !s)
		ret = buf_printf(out, e, "<p>The query cannot be run here.</p>\n");
	else
		ret = add_rows(out, s, e);
	sqlite3_finalize(s);
	sqlite3_progress_handler(db, 0, NULL, NULL);
	sqlite3_set_authorizer(db, NULL, NULL);
	return ret;
}
