// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_files.c: files that could be opened until errors began. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdio.h>

#define MS 1000000L

#define SAID(of)  FINDING_VALUE("failing_files", of, "v.number")
#define TEXT(of)  FINDING_VALUE("failing_files", of, "v.text")
#define FINDINGS  "SELECT count(*) FROM finding WHERE kind='failing_files'"
#define DIRECTORY "/srv/www"

/* Each 10 ms a request; from 5 s on they fail. opens: SQL for the result of the open of each. */
static sqlite3 *opening(const char *paths, const char *opens)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	char sql[1024];
	sqlite3 *db;
	long t, end;
	int i = 0;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++) {
		end = t + 100000 + rand() % 9000;
		ask(&x, 1 + i % 2, 100, t, t + 10000, end);
		if (t >= 5000 * MS)
			error_of(&x, end, 1 + i % 2, 403, 1);
	}
	db = loaded_buf(&x);
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO file_path(id, path) VALUES (1, '" DIRECTORY "/a/1'), (2, '" DIRECTORY
		"/b'), (3, '/etc/x');"
		"WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 989) INSERT INTO"
		" file_open(ts, dur, tid, pid, abi, nr, path, flags, ret) SELECT 10000000 * i + 50000, 9, 100,"
		" 100, 0, 257, %s, 0, %s FROM n",
		paths, opens);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	return analysed(db, NULL);
}

static void files_that_could_be_opened_before(void **state)
{
	sqlite3 *db = opening("1 + i % 2", "iif(i < 500, 9, -13)");

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem errors");
	is_text(db, TEXT("errno"), "EACCES");
	is_text(db, TEXT("directory"), DIRECTORY);
	is_number(db, SAID("files"), 2);
	is_number(db, SAID("n"), 490);
	db_close(db);
	db = opening("2", "iif(i < 500, 9, -2)");
	is_text(db, TEXT("errno"), "ENOENT");
	is_text(db, TEXT("path"), DIRECTORY "/b");
	db_close(db);
}

static void others_are_not_why(void **state)
{
	/* never opened before; missed as often before the errors */
	static const char *const paths[] = { "iif(i < 500, 1, 2)", "1" };
	static const char *const opens[] = { "iif(i < 500, 9, -2)", "iif(i < 10, 9, -2)" };
	sqlite3 *db;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		db = opening(paths[i], opens[i]);
		is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem errors");
		is_number(db, FINDINGS, 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(files_that_could_be_opened_before),
		T(others_are_not_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
