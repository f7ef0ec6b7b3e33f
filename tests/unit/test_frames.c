// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/stacks/, analysis profile: names of functions and files. */
#include "analyze/render/pivot.h"
#include "analyze/render/render_table.h"
#include "tests/lib/callstacked.h"

#define NEW_NAMES \
	"SELECT group_concat(name, ' ') FROM (SELECT name FROM v_frame WHERE id>7 ORDER BY id)"

static void frames_have_the_names_of_their_functions(void **state)
{
	sqlite3 *db = app("1000 100 sample pid=100 user_stack=3 weight=10\n");

	(void)state;
	is_text(db, "SELECT group_concat(name, ' ') FROM (SELECT name FROM v_frame ORDER BY id)",
		"main work inner app+0x1234 read vfs_fsync jbd2_log_wait_commit.isra.0");
	is_text(db, "SELECT file || line FROM v_frame WHERE name='work'", "src/work.c12");
	is_number(db, "SELECT sum(kernel) FROM v_frame", 2);
	is_text(db, "SELECT build_id FROM module WHERE id=1",
		"1122334455667788000000000000000000000000");
	is_text(db, "SELECT user_stack FROM v_sample", "main;work;inner");
	is_null(db, "SELECT kernel_stack FROM v_sample");
	db_close(db);
}

/* Addresses of one function are one row; what a recording says of its start may be wrong. */
static void functions_without_a_name_are_one_each(void **state)
{
	sqlite3 *db = app("20 0 frame id=8 module=1 address=0x5010 offset=0x10\n"
			  "20 0 frame id=9 module=1 address=0x5024 offset=0x24\n"
			  "20 0 frame id=10 module=1 address=0x10 offset=0x20\n"
			  "20 0 frame id=11 module=1 address=0x2004 offset=4\n"
			  "20 0 symbol frame=11 text=\"work\"\n"
			  "20 0 stack id=8 frame=8\n20 0 stack id=9 frame=9\n"
			  "1000 100 sample pid=100 user_stack=8 weight=10\n"
			  "1010 100 sample pid=100 user_stack=9 weight=10\n");

	(void)state;
	is_text(db, NEW_NAMES, "app+0x5000 app+0x5000 app+0x10 work");
	is_number(db, "SELECT address FROM frame WHERE id=9", 0x5024);
	is_number(db, "SELECT count(*) FROM frame WHERE start IS NULL AND id IN (4, 10)", 2);
	is_number(db, PROFILE("self", "app+0x5000"), 100);
	db_close(db);
}

static void files_without_a_path_have_their_build_id(void **state)
{
	sqlite3 *db = app("20 0 module id=8 kind=3 build_id0=0x9f3c2a7100112233\n"
			  "20 0 module id=9 kind=3\n"
			  "20 0 frame id=8 module=8 address=0x14cd\n"
			  "20 0 frame id=9 module=9 address=0x14cd\n20 0 frame id=10\n");

	(void)state;
	is_text(db, NEW_NAMES, "[9f3c2a71]+0x14cd [unknown]+0x14cd [unknown]");
	db_close(db);
}

/* 80 columns are enough for what the time is, the number of samples is left out. */
static void a_narrow_table_has_the_shares(void **state)
{
	sqlite3 *db = app("500 0 symbol frame=4 text=\"a_name_of_some_more_letters\"\n"
			  "1000 100 sample pid=100 user_stack=4 weight=10\n");
	struct buf text = { 0 };
	struct err e = { 0 };
	struct pivot p;
	int dropped;

	(void)state;
	assert_int_equal(pivot_read(&p, db, "profile", 9, ESCAPE_TEXT, &e), 0);
	assert_int_equal(table_text(&text, &p, 80, &dropped, &e), 0);
	assert_non_null(strstr(text.data, "self %"));
	assert_non_null(strstr(text.data, "total %"));
	assert_null(strstr(text.data, "samples"));
	assert_true(dropped > 0);
	pivot_free(&p);
	buf_free(&text);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frames_have_the_names_of_their_functions),
		T(functions_without_a_name_are_one_each),
		T(files_without_a_path_have_their_build_id),
		T(a_narrow_table_has_the_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
