/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For unit tests: a recording written as text, loaded into a database, queried. */
#pragma once

#include "analyze/store/db.h"
#include "format/buf.h"

/* A recording that a test writes line by line; t: the time that the test has reached. */
struct text {
	struct buf b;
	long t;
};
void text_line(struct text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Packs the text (textpack.h) and loads it. Fails the test if that fails. */
sqlite3 *loaded(const char *text);

/* The same of a buffer, which it frees. */
sqlite3 *loaded_buf(struct buf *text);

/* Run statements (NULL: none), or an analysis (NULL: all). Return db; fail the test if that fails.
 */
sqlite3 *changed(sqlite3 *db, const char *sql);
sqlite3 *analysed(sqlite3 *db, const char *analysis);

/* Of a finding's value: v.number, v.text, v.id; or an expression of them. */
#define FINDING_VALUE(kind_, name_, what)                                              \
	"SELECT " what " FROM finding f JOIN finding_value v ON v.finding=f.id WHERE " \
	"f.kind='" kind_ "' AND v.name='" name_ "'"

/* Opens the database that path is, or loads the recording that path is. */
int load_any(sqlite3 **ret, const char *path, struct err *e);

/* The first column of the first row, as a number. Fails the test if there is no row. */
s64 asked(sqlite3 *db, const char *sql);

/*
 * Compare the first column of the first row of a query with a value. A test that fails prints the
 * query, what it returned and what was expected.
 */
#define is_number(db, sql, want)      is_within_at(db, sql, want, want, __FILE__, __LINE__)
#define is_below(db, sql, limit)      is_below_at(db, sql, limit, __FILE__, __LINE__)
#define is_within(db, sql, low, high) is_within_at(db, sql, low, high, __FILE__, __LINE__)
#define is_above(db, sql, limit)      is_above_at(db, sql, limit, __FILE__, __LINE__)
#define is_like(db, sql, pattern)     is_like_at(db, sql, pattern, __FILE__, __LINE__)
#define is_text(db, sql, want)	      is_text_at(db, sql, want, __FILE__, __LINE__)
#define is_null(db, sql)	      is_text_at(db, sql, NULL, __FILE__, __LINE__)

void is_within_at(sqlite3 *db, const char *sql, double low, double high, const char *file,
		  int line);
void is_below_at(sqlite3 *db, const char *sql, double limit, const char *file, int line);
void is_above_at(sqlite3 *db, const char *sql, double limit, const char *file, int line);
/* pattern: of SQL's LIKE */
void is_like_at(sqlite3 *db, const char *sql, const char *pattern, const char *file, int line);
void is_text_at(sqlite3 *db, const char *sql, const char *want, const char *file, int line);

/* Packs the text into a temporary file; returns its path, which stays valid until the next call. */
const char *packed(const char *text);
