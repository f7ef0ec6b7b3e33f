// SPDX-License-Identifier: GPL-2.0-or-later
/* sql: a read-only query over a recording or a database. */
#include "ask.h"
#include "cache.h"
#include "cmd.h"
#include "format/escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MEASURED 1000 /* rows held back to find the widths of columns */
#define COLUMNS_MAX   64
#define CELL_MAX      60 /* columns of a terminal; longer cells are not padded */

enum form { TABLE_FORM, CSV_FORM, JSON_FORM };

struct config {
	struct asked asked; /* first: options of filter.h look for it there */
	enum form form;
};

static int set_csv(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct config *)config)->form = CSV_FORM;
	return 0;
}

static int set_json(void *config, const char *arg, struct err *e)
{
	(void)arg;
	(void)e;
	((struct config *)config)->form = JSON_FORM;
	return 0;
}

static const struct opt opts[] = {
	{ "csv", 'c', NULL, "comma-separated values, RFC 4180", set_csv },
	{ "json", 'j', NULL, "one JSON object a line", set_json },
	FILTER_OPTS,
	CACHE_OPTS,
	{ 0 },
};

extern const struct command command_sql;

/* Only reading is let through, whatever the words are. */
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

static int add_cell(struct buf *out, sqlite3_stmt *s, int i, enum form form, struct err *e)
{
	static const enum escape_for how[] = { ESCAPE_TEXT, ESCAPE_CSV, ESCAPE_JSON };
	const char *text = (const char *)sqlite3_column_text(s, i);
	int type = sqlite3_column_type(s, i), ret = 0;
	size_t n = sqlite3_column_bytes(s, i);

	if (type == SQLITE_NULL)
		return form == JSON_FORM ? buf_add(out, "null", 4, e) : 0;
	if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
		return buf_add(out, text, n, e);
	if (form == JSON_FORM)
		ret = buf_add(out, "\"", 1, e);
	if (ret == 0)
		ret = escape_add(out, how[form], text ? text : "", n, e);
	if (ret == 0 && form == JSON_FORM)
		ret = buf_add(out, "\"", 1, e);
	return ret;
}

static int add_line(struct buf *out, sqlite3_stmt *s, enum form form, struct err *e)
{
	int i, ret = form == JSON_FORM ? buf_add(out, "{", 1, e) : 0;

	for (i = 0; i < sqlite3_column_count(s) && ret == 0; i++) {
		const char *name = sqlite3_column_name(s, i);

		if (i)
			ret = buf_printf(out, e, form == JSON_FORM ? ", " : ",");
		if (ret == 0 && form == JSON_FORM) {
			ret = buf_add(out, "\"", 1, e);
			if (ret == 0)
				ret = escape_add(out, ESCAPE_JSON, name, strlen(name), e);
			if (ret == 0)
				ret = buf_printf(out, e, "\": ");
		}
		if (ret == 0)
			ret = add_cell(out, s, i, form, e);
	}
	return ret < 0 ? ret : buf_printf(out, e, form == JSON_FORM ? "}\n" : "\r\n");
}

/* False when nobody reads any more. */
static bool flush(struct buf *out)
{
	bool more = fwrite(out->data, 1, out->len, stdout) == out->len;

	buf_clear(out);
	return more;
}

static int print_lines(sqlite3_stmt *s, enum form form, struct err *e)
{
	struct buf out = { 0 };
	int i, ret = 0;

	for (i = 0; form == CSV_FORM && i < sqlite3_column_count(s) && ret == 0; i++) {
		const char *name = sqlite3_column_name(s, i);

		ret = i ? buf_add(&out, ",", 1, e) : 0;
		if (ret == 0)
			ret = escape_add(&out, ESCAPE_CSV, name, strlen(name), e);
	}
	if (ret == 0 && form == CSV_FORM)
		ret = buf_printf(&out, e, "\r\n");
	while (ret == 0 && (ret = db_step(s, e)) > 0) {
		ret = add_line(&out, s, form, e);
		if (ret == 0 && !flush(&out))
			break;
	}
	flush(&out);
	buf_free(&out);
	return ret;
}

/* Up to ROWS_MEASURED rows of cells, to be aligned. */
struct sheet {
	char **cells;
	int rows, columns;
	int width[COLUMNS_MAX];
	bool number[COLUMNS_MAX];
};

static int take_cells(struct sheet *t, sqlite3_stmt *s, struct err *e)
{
	int i, ret = 0, n;

	for (i = 0; i < t->columns && ret == 0; i++) {
		struct buf cell = { 0 };

		ret = add_cell(&cell, s, i, TABLE_FORM, e);
		if (ret == 0)
			ret = buf_add(&cell, "", 1, e);
		t->cells[t->rows * t->columns + i] = cell.data;
		n = cell.len ? (int)cell.len - 1 : 0;
		if (n > t->width[i])
			t->width[i] = n < CELL_MAX ? n : CELL_MAX;
		t->number[i] &= sqlite3_column_type(s, i) != SQLITE_TEXT;
	}
	t->rows++;
	return ret;
}

static void print_sheet(struct sheet *t)
{
	int r, i;

	for (r = 0; r < t->rows; r++) {
		for (i = 0; i < t->columns; i++) {
			char *cell = t->cells[r * t->columns + i];
			int width = t->number[i] ? t->width[i] : -t->width[i];

			printf("%s%*s", i ? "  " : "", i + 1 == t->columns && width < 0 ? 0 : width,
			       cell ? cell : "");
			free(cell);
		}
		printf("\n");
	}
	t->rows = 0;
}

static int print_table(sqlite3_stmt *s, struct err *e)
{
	struct sheet t = { .columns = sqlite3_column_count(s) };
	int i, ret = 0;

	if (t.columns > COLUMNS_MAX)
		return err_set(e, ERR_FAIL, "the query has more than %d columns", COLUMNS_MAX);
	t.cells = calloc((size_t)ROWS_MEASURED * t.columns + t.columns, sizeof(*t.cells));
	if (!t.cells)
		return err_set(e, ERR_FAIL, "out of memory for a table");
	for (i = 0; i < t.columns; i++) {
		t.cells[i] = strdup(sqlite3_column_name(s, i));
		t.width[i] = strlen(sqlite3_column_name(s, i));
		t.number[i] = true;
	}
	t.rows = 1;
	while (ret == 0 && (ret = db_step(s, e)) > 0) {
		ret = take_cells(&t, s, e);
		if (t.rows == ROWS_MEASURED)
			print_sheet(&t);
	}
	print_sheet(&t);
	free(t.cells);
	return ret;
}

static int query(sqlite3 *db, const char *sql, enum form form, struct err *e)
{
	sqlite3_stmt *s = NULL;
	const char *rest = "";
	int ret;

	sqlite3_set_authorizer(db, only_reading, NULL);
	if (sqlite3_prepare_v2(db, sql, -1, &s, &rest) != SQLITE_OK)
		return err_set(e, ERR_FAIL, "%s%s", sqlite3_errmsg(db),
			       sqlite3_errcode(db) == SQLITE_AUTH ? ": only SELECT is allowed"
								  : "");
	if (!s)
		return err_set(e, ERR_FAIL, "the query is empty");
	rest += strspn(rest, " \t\r\n;");
	if (*rest)
		ret = err_set(e, ERR_FAIL, "one query at a time: %.60s is left over", rest);
	else
		ret = form == TABLE_FORM ? print_table(s, e) : print_lines(s, form, e);
	sqlite3_finalize(s);
	return ret;
}

static int run(int argc, char **argv, struct err *e)
{
	struct config c = { .form = TABLE_FORM };
	int first = cmd_words(&command_sql, &c, argc, argv, 2, 2, e);
	sqlite3 *db = NULL;
	bool answered;
	s64 whole = 0;
	int ret;

	if (first < 0)
		return first;
	ret = cache_open(&db, &answered, argv[first], &c.asked, e);
	if (ret == 0)
		ret = db_int(db, &whole, e,
			     "SELECT count(*) FROM recording WHERE key='sound' AND value='1'", "");
	if (ret == 0)
		ret = query(db, argv[first + 1], c.form, e);
	sqlite3_close(db);
	return ret == 0 && !whole ? cmd_damaged(argv[first]) : ret;
}

const struct command command_sql = {
	.name = "sql",
	.words = "RECORDING|DATABASE 'SELECT ...'",
	.doc = "ask the tables (obsanalyze schema --tables lists them)",
	.opts = opts,
	.run = run,
};
