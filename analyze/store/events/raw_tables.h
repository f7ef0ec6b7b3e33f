/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw events copied into a database, as plain tables that any SQLite reads. */
#pragma once

#include "analyze/store/db.h"
#include "format/recording.h"

/*
 * Makes a table event_<name> for each event of the recording's schema, fills them in one pass, and
 * makes a view event over them: the tables that sql shows of a recording, with the same columns.
 */
int raw_tables_copy(sqlite3 *db, const struct reader *r, struct err *e);

/*
 * Makes that view in a schema: "main", or "temp" for a connection that does not trust what is in
 * the database. Nothing if there are no such tables.
 */
int raw_tables_view(sqlite3 *db, const char *schema, struct err *e);
