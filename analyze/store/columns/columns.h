/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The largest tables as chunks of columns: in a database of our own (private, or in the cache) they
 * are virtual tables, read-only to SQL, over blobs that hold 16384 rows each. That takes a third of
 * the time of rows to write and of the space; C reads whole columns, without SQL.
 */
#pragma once

#include "analyze/store/row_types.h"

/* For a database of which columns_use has been made. */
int columns_register(sqlite3 *db, struct err *e);

/* Makes the large tables of a new database chunks of columns. */
int columns_use(sqlite3 *db, struct err *e);

/* Whether this table of the database is one of them. */
bool columns_has(sqlite3 *db, enum table_id t);

/* A statement for columns_write. */
int columns_writer(sqlite3_stmt **ret, sqlite3 *db, struct err *e);

/*
 * Appends rows, CHUNK_ROWS of them in all calls but the last. out: a buffer that is kept from call
 * to call.
 */
int columns_write(sqlite3_stmt *s, struct buf *out, enum table_id t, s64 chunk, const s64 *values,
		  u32 rows, struct err *e);

/* A column by its name, and a set of them: COLUMN_OF(request, ts) | COLUMN_OF(request, dur). */
#define COLUMN_AT(table, name) (offsetof(struct row_##table, name) / 8)
#define COLUMNS_ALL	       UINT32_MAX
#define COLUMN_OF(table, name) (1u << COLUMN_AT(table, name))

/* Rows without a gap: value[COLUMN_AT(request, ts)][i], of the columns that were asked for. */
struct columns {
	s64 rowid; /* of the first */
	u32 rows;
	const s64 *value[32];
};

/*
 * fn for all rows of a table of integers, whether it is one of chunks or not. A value above 0 ends
 * the reading and is returned.
 */
typedef int (*columns_fn)(void *arg, const struct columns *c, struct err *e);
int columns_each(sqlite3 *db, enum table_id t, u32 set, columns_fn fn, void *arg, struct err *e);

/* As columns_each, of rows from <= rowid < to. */
int columns_range(sqlite3 *db, enum table_id t, u32 set, s64 from, s64 to, columns_fn fn, void *arg,
		  struct err *e);

/*
 * As columns_each, a row at a time: a struct row_NAME, in which columns that were not asked for are
 * 0.
 */
typedef int (*row_fn)(void *arg, s64 rowid, const void *row, struct err *e);
int rows_each(sqlite3 *db, enum table_id t, u32 set, row_fn fn, void *arg, struct err *e);
