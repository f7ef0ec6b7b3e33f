/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parquet files without nesting: INT64 (DELTA_BINARY_PACKED), DOUBLE and UTF8 columns, all of them
 * optional, in pages compressed by zstd, with min, max and number of NULLs of each column in each
 * row group. In bounded memory: a row group at a time.
 */
#pragma once

#include "analyze/store/db.h"

#include <stddef.h>

struct parquet;

/* Columns of tables.def's types; the names live as long as the file. fd stays the caller's. */
int parquet_open(struct parquet **ret, int fd, const struct column_desc *columns, int n,
		 struct err *e);

/* Values of one column of the next rows: BULK_NULL is NULL. Of REAL the bits of doubles. */
int parquet_numbers(struct parquet *p, int column, const s64 *values, u32 n, struct err *e);

/* One value of a column of text; NULL: NULL. What is no UTF-8 becomes \xNN. */
int parquet_text(struct parquet *p, int column, const char *text, size_t n, struct err *e);

/* So many rows have all their columns. */
int parquet_rows(struct parquet *p, u32 n, struct err *e);

/* Writes what is left and the footer. */
int parquet_finish(struct parquet *p, struct err *e);

void parquet_free(struct parquet *p);
