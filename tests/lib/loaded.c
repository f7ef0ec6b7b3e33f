// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording written as text, loaded into a database, queried. */
#include "loaded.h"

#include "analyze/analyses/analysis.h"
#include "analyze/render/say.h"
#include "analyze/replay/load.h"
#include "analyze/store/columns/columns.h"
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

void text_line(struct text *x, const char *fmt, ...)
{
	struct err e = { 0 };
	char line[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	assert_int_equal(buf_printf(&x->b, &e, "%s\n", line), 0);
}

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

int load_any(sqlite3 **ret, const char *path, struct err *e)
{
	struct reader *reader = NULL;
	sqlite3 *db = NULL;
	int r;

	if (db_is_database(path))
		return db_open_ours(ret, path, e);
	r = reader_open(&reader, path, e);
	if (r == 0)
		r = db_open(&db, NULL, true, e);
	if (r == 0)
		r = columns_use(db, e);
	if (r == 0)
		r = load_recording(db, reader, NULL, e);
	reader_free(reader);
	if (r == 0)
		*ret = db;
	else
		db_close(db);
	return r;
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

sqlite3 *loaded_buf(struct buf *text)
{
	sqlite3 *db = loaded(text->data);

	buf_free(text);
	return db;
}

sqlite3 *changed(sqlite3 *db, const char *sql)
{
	struct err e = { 0 };

	if (db_exec(db, &e, sql) < 0)
		fail_msg("%s", e.text);
	return db;
}

sqlite3 *analysed(sqlite3 *db, const char *analysis)
{
	struct err e = { 0 };

	if (analyses_run(db, analysis, &e) < 0)
		fail_msg("%s", e.text);
	return db;
}

/* The first row of a query. */
static sqlite3_stmt *row(sqlite3 *db, const char *sql)
{
	struct err e = { 0 };
	sqlite3_stmt *s = NULL;

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

static bool is_numeric(sqlite3_stmt *s)
{
	int type = sqlite3_column_type(s, 0);

	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

void is_within_at(sqlite3 *db, const char *sql, double low, double high, const char *file, int line)
{
	sqlite3_stmt *s = row(db, sql);
	double v = sqlite3_column_double(s, 0);

	if (!is_numeric(s) || !(v >= low && v <= high)) {
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

	if (!is_numeric(s) || !(sqlite3_column_double(s, 0) < limit)) {
		print_error("%s: %s, not below %.10g\n", sql, shown(s), limit);
		_fail(file, line);
	}
	sqlite3_finalize(s);
}

void is_above_at(sqlite3 *db, const char *sql, double limit, const char *file, int line)
{
	sqlite3_stmt *s = row(db, sql);

	if (!is_numeric(s) || !(sqlite3_column_double(s, 0) > limit)) {
		print_error("%s: %s, not above %.10g\n", sql, shown(s), limit);
		_fail(file, line);
	}
	sqlite3_finalize(s);
}

void is_like_at(sqlite3 *db, const char *sql, const char *pattern, const char *file, int line)
{
	sqlite3_stmt *s = row(db, sql);
	const char *text = (const char *)sqlite3_column_text(s, 0);

	if (!text || sqlite3_strlike(pattern, text, 0) != 0) {
		print_error("%s: %s, not like %s\n", sql, shown(s), pattern);
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
