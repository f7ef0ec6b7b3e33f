/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prepared statements that a connection keeps: to parse the same SQL for each row costs more than
 * the row. */
#pragma once

#include "format/err.h"

#include <sqlite3.h>

/* The connection keeps statements from now on, until statements_drop. */
int statements_keep(sqlite3 *db, struct err *e);

/* Takes a kept statement of exactly this text, reset and without parameters; NULL: there is none.
 */
sqlite3_stmt *statements_take(sqlite3 *db, const char *sql);

/* Gives one back, as in place of sqlite3_finalize; NULL is allowed. */
void statements_give(sqlite3_stmt *s);

/* Finalizes all that the connection keeps. */
void statements_drop(sqlite3 *db);
