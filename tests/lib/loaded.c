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

s64 asked(sqlite3 *db, const char *sql)
{
	struct err e = { 0 };
	sqlite3_stmt *s;
	s64 v;

	if (say_register(db, &e) < 0 || db_query(&s, db, &e, sql, "") < 0)
		fail_msg("%s", e.text);
	if (db_step(s, &e) <= 0)
		fail_msg("no row: %s", sql);
	v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return v;
}
