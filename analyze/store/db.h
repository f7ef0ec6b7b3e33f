/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQLite with our error idiom, and the tables of tables.def. */
#pragma once

#include "format/buf.h"
#include "format/event.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>

enum table_id {
#define TABLE(name, doc) TABLE_##name,
#define COLUMN(name, type, unit, doc)
#define END
#include "tables.def"
#undef TABLE
#undef COLUMN
#undef END
	N_TABLES,
};

struct column_desc {
	const char *name;
	const char *type; /* "INT", "REAL" or "TEXT" */
	const char *unit;
	const char *doc;
};

struct table_desc {
	const char *name;
	const char *doc;
	const struct column_desc *columns;
	int n_columns;
};

extern const struct table_desc tables[N_TABLES];

struct view_desc {
	const char *name;
	const char *doc;
	const char *sql;
	const struct column_desc *columns;
	int n_columns;
};

/* Another number: other tables. */
extern const int tables_version;

/* Of views.def; ended by one without name. */
extern const struct view_desc views[];

/* Those that have a form for tables of many recordings; ended by one without name. */
struct view_many {
	const char *name;
	const char *sql;
};

extern const struct view_many views_of_many[];

/*
 * Opens a database. path NULL: a private one in memory and, when large, in an
 * unnamed temporary file. create: path must not exist; all tables are made.
 * Otherwise path must be a database that obsanalyze made, and is opened read-only.
 */
int db_open(sqlite3 **ret, const char *path, bool create, struct err *e);

/*
 * As db_open of one that exists, for queries of our own: ERR_FAIL also unless all our tables are
 * tables, with our columns.
 */
int db_open_ours(sqlite3 **ret, const char *path, struct err *e);

/* Closes a database that db_open opened, with the statements it keeps. A code of SQLite's. */
int db_close(sqlite3 *db);

/* True if path begins like an SQLite database. */
bool db_is_database(const char *path);

/*
 * The text of a column: never NULL, since a database may come from anywhere. The second says
 * what stands for NULL. Valid until the next step.
 */
const char *db_text(sqlite3_stmt *s, int column);
const char *db_text_or(sqlite3_stmt *s, int column, const char *null);

/* Runs statements that return nothing. */
int db_exec(sqlite3 *db, struct err *e, const char *sql);

/* True if memory or the disk failed: the statement itself may be sound. */
bool db_is_fault(int code);

/* As db_exec, but 1 if SQLite refuses the statement itself: names in it came from a recording. */
int db_try(sqlite3 *db, struct err *e, const char *sql);

/*
 * Prepares a query and binds its parameters: fmt has one letter for each of
 * them: i (s64), d (double), s (const char *, NULL allowed; copied). Ended by sqlite3_finalize, or
 * by db_done.
 */
int db_query(sqlite3_stmt **ret, sqlite3 *db, struct err *e, const char *sql, const char *fmt, ...);

/* Ends a query whose text will be asked again: the connection keeps its statement. */
void db_done(sqlite3_stmt *s);

/* The next row: 1, 0 at the end, negative on error, also if db_query refused the query (NULL). */
int db_step(sqlite3_stmt *s, struct err *e);

/* Finalizes a query after its last step, whose code is ret. 0, or ret if it is an error. */
int db_end(sqlite3_stmt *s, int ret);

/* A column as a number; NAN: NULL. */
double db_number(sqlite3_stmt *s, int column);

/* One row of a query: 0 goes on, above 0 ends the query, negative is an error. */
typedef int (*db_row_fn)(void *arg, sqlite3_stmt *s, struct err *e);

/* Calls fn with arg for each row. 0, or the error of the query or of fn. */
int db_each(sqlite3 *db, struct err *e, db_row_fn fn, void *arg, const char *sql, const char *fmt,
	    ...);

/* The same with the parameters as a list. */
int db_each_of(sqlite3 *db, struct err *e, db_row_fn fn, void *arg, const char *sql,
	       const char *fmt, va_list ap);

/* Prepares, binds, runs to the end. */
int db_run(sqlite3 *db, struct err *e, const char *sql, const char *fmt, ...);

/* Binds, runs to the end and resets a statement that was prepared before: no parsing each time. */
int db_again(sqlite3_stmt *s, struct err *e, const char *fmt, ...);

/* The first column of the first row; 0 or fallback if there is no row or it is NULL. */
int db_int(sqlite3 *db, s64 *ret, struct err *e, const char *sql, const char *fmt, ...);

/* Appends the text of the first column of the first row; nothing if there is no row or it is NULL.
 */
int db_add_text(struct buf *out, sqlite3 *db, struct err *e, const char *sql, const char *fmt, ...);

/* Prepares the statement that appends a row to a table: a parameter for each column. */
int db_inserter(sqlite3_stmt **ret, sqlite3 *db, enum table_id t, struct err *e);

/* Appends one row to a table: fmt and values as in db_query, one for each column; n is NULL. */
int db_insert(sqlite3 *db, enum table_id t, struct err *e, const char *fmt, ...);
