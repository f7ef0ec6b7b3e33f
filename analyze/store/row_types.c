// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows as structs: which column is where follows from tables.def. */
#include "row_types.h"

#include <math.h>
#include <string.h>

union cell {
	s64 number;
	double real;
	const char *text;
	char bytes[8];
};

static union cell *cell_at(const void *row, int column)
{
	return (union cell *)((const char *)row + 8 * (size_t)column);
}

static int bind(sqlite3_stmt *s, int column, char type, const void *row)
{
	union cell v = { 0 };

	memcpy(&v, cell_at(row, column), sizeof(v));
	if (type == 'T')
		return sqlite3_bind_text(s, column + 1, v.text, -1, SQLITE_TRANSIENT);
	if (type == 'R')
		return sqlite3_bind_double(s, column + 1, v.real);
	return v.number == BULK_NULL ? sqlite3_bind_null(s, column + 1)
				     : sqlite3_bind_int64(s, column + 1, v.number);
}

int put_row_of(sqlite3 *db, enum table_id t, struct err *e, const void *row)
{
	const struct table_desc *d = &tables[t];
	sqlite3_stmt *s;
	int i, ret = db_inserter(&s, db, t, e);

	for (i = 0; i < d->n_columns && ret == 0; i++)
		if (bind(s, i, d->columns[i].type[0], row) != SQLITE_OK)
			ret = err_set(e, ERR_FAIL, "SQLite refuses a value: %s",
				      sqlite3_errmsg(db));
	if (ret == 0)
		ret = db_step(s, e);
	db_done(s);
	return ret < 0 ? ret : 0;
}

void get_row_of(sqlite3_stmt *s, enum table_id t, void *row)
{
	const struct table_desc *d = &tables[t];
	int i;

	for (i = 0; i < d->n_columns; i++) {
		bool null = sqlite3_column_type(s, i) == SQLITE_NULL;
		union cell v = { 0 };

		if (d->columns[i].type[0] == 'T')
			v.text = (const char *)sqlite3_column_text(s, i);
		else if (d->columns[i].type[0] == 'R')
			v.real = null ? (double)NAN : sqlite3_column_double(s, i);
		else
			v.number = null ? BULK_NULL : sqlite3_column_int64(s, i);
		memcpy(cell_at(row, i), &v, sizeof(v));
	}
}
