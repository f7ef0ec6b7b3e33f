// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of a query as text. */
#include "rows.h"

#include "analyze/base/number.h"
#include "format/escape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MEASURED 1000 /* rows held back to find the widths of columns */
#define COLUMNS_MAX   64
#define CELL_MAX      60 /* columns of a terminal; longer cells are not padded */

static const enum escape_for escapes[] = {
	[ROWS_TABLE] = ESCAPE_TEXT,
	[ROWS_CSV] = ESCAPE_CSV,
	[ROWS_JSON] = ESCAPE_JSON,
	[ROWS_LINE] = ESCAPE_TEXT,
};

static int add_text(struct buf *out, const char *text, size_t n, enum rows_form form, struct err *e)
{
	int ret = form == ROWS_JSON ? buf_add(out, "\"", 1, e) : 0;

	if (ret == 0)
		ret = escape_add(out, escapes[form], text ? text : "", n, e);
	return ret == 0 && form == ROWS_JSON ? buf_add(out, "\"", 1, e) : ret;
}

/* Bytes that are no text: as SQL writes them. */
static int add_blob(struct buf *out, const u8 *bytes, size_t n, enum rows_form form, struct err *e)
{
	const char *quote = form == ROWS_JSON ? "\"" : "";
	size_t i;

	buf_printf(out, e, "%sx'", quote);
	for (i = 0; i < n; i++)
		buf_printf(out, e, "%02x", bytes[i]);
	return buf_printf(out, e, "'%s", quote);
}

static int add_cell(struct buf *out, sqlite3_stmt *s, int i, enum rows_form form, struct err *e)
{
	const char *text;

	switch (sqlite3_column_type(s, i)) {
	case SQLITE_NULL:
		return form == ROWS_JSON ? buf_add(out, "null", 4, e) : 0;
	case SQLITE_FLOAT:
		if (form == ROWS_JSON && !isfinite(sqlite3_column_double(s, i)))
			return buf_add(out, "null", 4, e);
		return buf_printf(out, e, "%s", all_digits(sqlite3_column_double(s, i)).text);
	case SQLITE_INTEGER:
		text = db_text(s, i);
		return buf_add(out, text, sqlite3_column_bytes(s, i), e);
	case SQLITE_BLOB:
		return add_blob(out, sqlite3_column_blob(s, i), sqlite3_column_bytes(s, i), form,
				e);
	default:
		text = db_text(s, i);
		return add_text(out, text, sqlite3_column_bytes(s, i), form, e);
	}
}

static int add_name(struct buf *out, sqlite3_stmt *s, int i, enum rows_form form, struct err *e)
{
	const char *name = sqlite3_column_name(s, i);

	return add_text(out, name, name ? strlen(name) : 0, form, e);
}

/* ---- one row at a time ---- */

static int add_row(struct buf *out, sqlite3_stmt *s, enum rows_form form, struct err *e)
{
	static const struct {
		const char *first, *before, *between, *last;
		bool names;
	} words[] = {
		[ROWS_CSV] = { "", ",", "", "\r\n", false },
		[ROWS_JSON] = { "{", ", ", ": ", "}\n", true },
		[ROWS_LINE] = { "", "\n", " = ", "\n", true },
	};
	int i, ret = buf_printf(out, e, "%s", words[form].first);

	for (i = 0; i < sqlite3_column_count(s) && ret == 0; i++) {
		ret = i ? buf_printf(out, e, "%s", words[form].before) : 0;
		if (ret == 0 && words[form].names)
			ret = add_name(out, s, i, form, e);
		if (ret == 0 && words[form].names)
			ret = buf_printf(out, e, "%s", words[form].between);
		if (ret == 0)
			ret = add_cell(out, s, i, form, e);
	}
	return ret < 0 ? ret : buf_printf(out, e, "%s", words[form].last);
}

static int write_lines(struct sink *out, sqlite3_stmt *s, enum rows_form form, struct err *e)
{
	u64 rows = 0;
	int i, ret = 0;

	for (i = 0; form == ROWS_CSV && i < sqlite3_column_count(s) && ret == 0; i++) {
		ret = i ? buf_add(&out->b, ",", 1, e) : 0;
		if (ret == 0)
			ret = add_name(&out->b, s, i, form, e);
	}
	if (ret == 0 && form == ROWS_CSV)
		ret = buf_printf(&out->b, e, "\r\n");
	while (ret == 0 && (ret = db_step(s, e)) > 0) {
		ret = form == ROWS_LINE && rows++ ? buf_add(&out->b, "\n", 1, e) : 0;
		if (ret == 0)
			ret = add_row(&out->b, s, form, e);
		if (ret == 0)
			ret = sink_more(out, e);
	}
	return ret < 0 ? ret : 0;
}

/* ---- a table ---- */

/* Up to ROWS_MEASURED rows of cells, to be aligned. */
struct sheet {
	char **cells;
	int rows, columns;
	int width[COLUMNS_MAX];
	bool number[COLUMNS_MAX];
};

/* Columns of a terminal: escaped text has no combining or double-width business of its own. */
static int shown_width(const char *text)
{
	int n = 0;

	for (; text && *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static int take_row(struct sheet *t, sqlite3_stmt *s, bool names, struct err *e)
{
	int i, n, ret = 0;

	for (i = 0; i < t->columns && ret == 0; i++) {
		struct buf cell = { 0 };

		ret = names ? add_name(&cell, s, i, ROWS_TABLE, e)
			    : add_cell(&cell, s, i, ROWS_TABLE, e);
		if (ret == 0)
			ret = buf_add(&cell, "", 1, e);
		t->cells[t->rows * t->columns + i] = cell.data;
		n = shown_width(cell.data);
		if (n > t->width[i])
			t->width[i] = n < CELL_MAX ? n : CELL_MAX;
		if (!names)
			t->number[i] &= sqlite3_column_type(s, i) != SQLITE_TEXT;
	}
	t->rows++;
	return ret;
}

static int write_sheet(struct sink *out, struct sheet *t, struct err *e)
{
	int r, i, pad, ret = 0;

	for (r = 0; r < t->rows; r++) {
		for (i = 0; i < t->columns; i++) {
			char *cell = t->cells[r * t->columns + i];
			bool last = i + 1 == t->columns;

			pad = t->width[i] - shown_width(cell);
			pad = pad > 0 ? pad : 0;
			if (ret >= 0)
				ret = buf_printf(&out->b, e, "%s%*s%s%*s", i ? "  " : "",
						 t->number[i] ? pad : 0, "", cell ? cell : "",
						 t->number[i] || last ? 0 : pad, "");
			free(cell);
		}
		if (ret >= 0)
			ret = buf_printf(&out->b, e, "\n");
		if (ret >= 0)
			ret = sink_more(out, e);
	}
	t->rows = 0;
	return ret;
}

static int write_table(struct sink *out, sqlite3_stmt *s, struct err *e)
{
	struct sheet t = { .columns = sqlite3_column_count(s) };
	int i, ret, last;

	if (t.columns > COLUMNS_MAX)
		return err_set(e, ERR_FAIL, "the query has more than %d columns", COLUMNS_MAX);
	t.cells = calloc((size_t)ROWS_MEASURED * t.columns + t.columns, sizeof(*t.cells));
	if (!t.cells)
		return err_set(e, ERR_FAIL, "out of memory for a table");
	for (i = 0; i < t.columns; i++)
		t.number[i] = true;
	ret = take_row(&t, s, true, e);
	while (ret == 0 && (ret = db_step(s, e)) > 0) {
		ret = take_row(&t, s, false, e);
		if (ret == 0 && t.rows == ROWS_MEASURED)
			ret = write_sheet(out, &t, e);
	}
	last = write_sheet(out, &t, ret < 0 ? NULL : e);
	free(t.cells);
	return ret < 0 ? ret : last < 0 ? last : 0;
}

int rows_write(struct sink *out, sqlite3_stmt *s, enum rows_form form, struct err *e)
{
	return form == ROWS_TABLE ? write_table(out, s, e) : write_lines(out, s, form, e);
}
