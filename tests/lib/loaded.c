// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording written as text, loaded into a database, asked. */
#include "loaded.h"

#include "analyze/render/say.h"
#include "analyze/replay/load.h"
#include "textpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const char *packed(const char *text)
{
	static char path[64];
	struct err e = { 0 };
	int fd;

	snprintf(path, sizeof(path), "/tmp/obs-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	if (textpack(text, fd, &e) < 0)
		fail_msg("%s", e.text);
	close(fd);
	return path;
}

sqlite3 *loaded(const char *text)
{
	const char *path = packed(text);
	struct err e = { 0 };
	sqlite3 *db = NULL;
	int ret = load_any(&db, path, &e);

	unlink(path);
	if (ret < 0)
		fail_msg("%s", e.text);
	return db;
}

/* The first row of a query. */
static sqlite3_stmt *row(sqlite3 *db, const char *sql)
{
	struct err e = { 0 };
	sqlite3_stmt *s;

	if (say_register(db, &e) < 0 || db_query(&s, db, &e, sql, "") < 0)
		fail_msg("%s", e.text);
	if (db_step(s, &e) <= 0)
		fail_msg("no row: %s", sql);
	return s;
}

s64 asked(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s = row(db, sql);
	s64 v = sqlite3_column_int64(s, 0);

	sqlite3_finalize(s);
	return v;
}

/* The value as text, for a message: NULL is "NULL". */
static const char *shown(sqlite3_stmt *s)
{
	const char *text = (const char *)sqlite3_column_text(s, 0);

	return text ? text : "NULL";
}

void is_within_at(sqlite3 *db, const char *sql, double low, double high, const char *file, int line)
{
	sqlite3_stmt *s = row(db, sql);
	int type = sqlite3_column_type(s, 0);
	double v = sqlite3_column_double(s, 0);

	if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(v >= low && v <= high)) {
		if (low == high)
			print_error("%s: %s, not %.10g\n", sql, shown(s), low);
		else
			print_error("%s: %s, not %.10g..%.10g\n", sql, shown(s), low, high);
		_fail(file, line);
	}
	sqlite3_finalize(s);
}

void is_below_at(sqlite3 *db, const char *sql, double limit, const char *file, int line)
{
	sqlite3_stmt *s = row(db, sql);
	int type = sqlite3_column_type(s, 0);

	if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) ||
	    !(sqlite3_column_double(s, 0) < limit)) {
		print_error("%s: %s, not below %.10g\n", sql, shown(s), limit);
		_fail(file, line);
	}
	sqlite3_finalize(s);
}

void is_text_at(sqlite3 *db, const char *sql, const char *want, const char *file, int line)
{
	sqlite3_stmt *s = row(db, sql);
	const char *text = (const char *)sqlite3_column_text(s, 0);

	if (!text != !want || (text && strcmp(text, want) != 0)) {
		print_error("%s: %s, not %s\n", sql, shown(s), want ? want : "NULL");
		_fail(file, line);
	}
	sqlite3_finalize(s);
}
