/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows into tables by the million. Rows are gathered in memory and fed to
 * SQLite through a virtual table, INSERT ... SELECT, which is about three times as
 * fast as binding and stepping an INSERT a row. Integer columns; in columns of type REAL
 * a value is the bits of a double.
 */
#ifndef OBS_BULK_H
#define OBS_BULK_H

#include "db.h"

#define BULK_NULL INT64_MIN /* this value becomes NULL */

struct bulk;

/* One for each database; begins the transaction in which all rows are written. */
int bulk_open(struct bulk **ret, sqlite3 *db, struct err *e);

/*
 * Room for one more row of t: an array of tables[t].n_columns values that the
 * caller fills at once, in the order of the columns. Never NULL: when writing has
 * failed the row goes nowhere, and bulk_close says why.
 */
s64 *bulk_row(struct bulk *b, enum table_id t);

/* Writes what is gathered and commits. */
int bulk_close(struct bulk *b, struct err *e);

void bulk_free(struct bulk *b);

#endif
