/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A struct row_NAME for each table of tables.def: its columns by name, 8 bytes each, in their
 * order. INT is s64, where BULK_NULL is NULL; REAL is double, where NAN is NULL; TEXT is const char
 * *.
 */
#pragma once

#include "db.h"

#include <stddef.h>

#define BULK_NULL INT64_MIN /* this value becomes NULL */

/* request.paced: not judged, but it is work of the server */
#define PACED_REQUEST 2

/* file_lock_holder.failed */
#define LOCK_FAILED 1
#define LOCK_WAITS  2 /* when the recording ends */

#define ROW_INT	 s64
#define ROW_REAL double
#define ROW_TEXT const char *

/* clang-format off */
#define TABLE(name, doc) struct row_##name {
#define COLUMN(name, type, unit, doc) _Alignas(8) ROW_##type name;
#define END };
#include "tables.def"
#undef TABLE
#undef COLUMN
#undef END

#define TABLE(name, doc) _Static_assert(sizeof(struct row_##name) == 8 * (size_t)(0
#define COLUMN(name, type, unit, doc) + 1
#define END ), "8 bytes a column");
#include "tables.def"
#undef TABLE
#undef COLUMN
#undef END
/* clang-format on */

/* Appends one row: row_put(db, site, e, .id = 1, .file = "a.c"). What is not named is 0, or NULL.
 */
#define row_put(db, table, e, ...) \
	put_row_of(db, TABLE_##table, e, &(struct row_##table){ __VA_ARGS__ })
int put_row_of(sqlite3 *db, enum table_id t, struct err *e, const void *row);

/* The present row of a SELECT * of the table; texts live until the next step. */
#define row_get(s, table, row) get_row_of(s, TABLE_##table, (struct row_##table *){ row })
void get_row_of(sqlite3_stmt *s, enum table_id t, void *row);
