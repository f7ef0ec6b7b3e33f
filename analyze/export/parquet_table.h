/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of a database as a Parquet file. */
#pragma once

#include "analyze/store/db.h"

/*
 * Writes the table, with its rowid as the first column. db NULL: a file without rows.
 * Returns 0 and the number of rows.
 */
int parquet_table(u64 *ret_rows, int fd, sqlite3 *db, enum table_id t, struct err *e);
