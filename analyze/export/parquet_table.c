// SPDX-License-Identifier: GPL-2.0-or-later
#include "parquet_table.h"

#include "analyze/store/columns/column_chunk.h"
#include "analyze/store/columns/columns.h"
#include "parquet.h"

#include <stdlib.h>
#include <string.h>

struct copy {
	struct parquet *p;
	int n; /* columns of the table */
	u64 rows;
};

static int copy_columns(void *arg, const struct columns *c, struct err *e)
{
	struct copy *copy = arg;
	s64 rowid[CHUNK_ROWS];
	u32 i;
	int k, ret;

	for (i = 0; i < c->rows; i++)
		rowid[i] = c->rowid + i;
	ret = parquet_numbers(copy->p, 0, rowid, c->rows, e);
	for (k = 0; k < copy->n && ret == 0; k++)
		ret = parquet_numbers(copy->p, k + 1, c->value[k], c->rows, e);
	copy->rows += c->rows;
	return ret < 0 ? ret : parquet_rows(copy->p, c->rows, e);
}

static int copy_cell(struct parquet *p, sqlite3_stmt *s, int column, char type, struct err *e)
{
	s64 number = BULK_NULL;
	double real;

	if (sqlite3_column_type(s, column) == SQLITE_NULL)
		return parquet_numbers(p, column, &number, 1, e);
	if (type == 'T')
		return parquet_text(p, column, db_text(s, column),
				    (size_t)sqlite3_column_bytes(s, column), e);
	if (type == 'R') {
		real = sqlite3_column_double(s, column);
		memcpy(&number, &real, sizeof(number));
	} else {
		number = sqlite3_column_int64(s, column);
	}
	return parquet_numbers(p, column, &number, 1, e);
}

static int copy_rows(struct copy *copy, sqlite3 *db, const struct table_desc *t, struct err *e)
{
	struct buf sql = { 0 };
	sqlite3_stmt *s = NULL;
	int k, got = 0, ret = buf_printf(&sql, e, "SELECT rowid");

	for (k = 0; k < t->n_columns && ret == 0; k++)
		ret = buf_printf(&sql, e, ", \"%s\"", t->columns[k].name);
	if (ret == 0)
		ret = buf_printf(&sql, e, " FROM \"%s\" ORDER BY rowid", t->name);
	if (ret == 0)
		ret = db_query(&s, db, e, sql.data, "");
	while (ret == 0 && (got = db_step(s, e)) > 0) {
		ret = copy_cell(copy->p, s, 0, 'I', e);
		for (k = 0; k < t->n_columns && ret == 0; k++)
			ret = copy_cell(copy->p, s, k + 1, t->columns[k].type[0], e);
		if (ret == 0)
			ret = parquet_rows(copy->p, 1, e);
		copy->rows++;
	}
	sqlite3_finalize(s);
	buf_free(&sql);
	return got < 0 ? got : ret;
}

int parquet_table(u64 *ret_rows, int fd, sqlite3 *db, enum table_id t, struct err *e)
{
	const struct table_desc *d = &tables[t];
	struct copy copy = { .n = d->n_columns };
	struct column_desc *columns = calloc((size_t)d->n_columns + 1, sizeof(*columns));
	int ret;

	if (!columns)
		return err_set(e, ERR_FAIL, "out of memory for a Parquet file");
	columns[0] = (struct column_desc){ "rowid", "INT", "", "" };
	memcpy(columns + 1, d->columns, (size_t)d->n_columns * sizeof(*columns));
	ret = parquet_open(&copy.p, fd, columns, d->n_columns + 1, e);
	if (ret == 0 && db)
		ret = columns_has(db, t) ? columns_each(db, t, COLUMNS_ALL, copy_columns, &copy, e)
					 : copy_rows(&copy, db, d, e);
	if (ret == 0)
		ret = parquet_finish(copy.p, e);
	parquet_free(copy.p);
	free(columns);
	*ret_rows = copy.rows;
	return ret < 0 ? ret : 0;
}
