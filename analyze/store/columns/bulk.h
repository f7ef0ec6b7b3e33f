/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows into tables by the million. Rows are gathered in memory and fed to
 * SQLite through a virtual table, INSERT ... SELECT, which is about three times as
 * fast as binding and stepping an INSERT a row. Integer columns; in columns of type REAL
 * a value is the bits of a double.
 */
#pragma once

#include "analyze/store/row_types.h"

struct bulk;

/* One for each database; begins the transaction in which all rows are written. */
int bulk_open(struct bulk **ret, sqlite3 *db, struct err *e);

/*
 * Room for one more row: a struct row_NAME whose columns, of numbers only, the caller fills at
 * once, all of them. Never NULL: when writing has failed the row goes nowhere, and bulk_failed says
 * why.
 */
#define bulk_add(b, table) ((struct row_##table *)bulk_row(b, TABLE_##table))
void *bulk_row(struct bulk *b, enum table_id t);

/* The first failure of a write; 0: there is none. Without a journal it is the cause of later ones.
 */
int bulk_failed(const struct bulk *b, struct err *e);

/* Writes what is gathered and commits. */
int bulk_close(struct bulk *b, struct err *e);

/* After bulk_close: more rows follow. */
int bulk_again(struct bulk *b, struct err *e);

void bulk_free(struct bulk *b);
