// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/causes/causes.c: slow time of the verdict that cannot be compared with the rest. */
#include "tests/lib/unit.h"

#include "analyze/render/screen.h"
#include "tests/lib/judging.h"

static void changed_to(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
}

/* 300 requests; the verdict says that they are slow from % to % of the time. */
static sqlite3 *slow(int from, int to)
{
	struct text x = { 0 };
	char sql[400];
	sqlite3 *db;

	srand(1);
	head(&x);
	many(&x, 300, 200000, MS);
	db = judged(&x, NULL);
	/* the verdict is made again before causes */
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO finding(id, kind) VALUES(999, 'verdict_slower'); CREATE TRIGGER slow AFTER INSERT ON"
		" verdict BEGIN UPDATE verdict SET status='problem', kind='slower', finding=999; INSERT INTO"
		" verdict_range VALUES(1, %ld, %ld); END",
		x.t / 100 * from, x.t / 100 * to);
	changed_to(db, sql);
	analysed(db, "causes");
	return db;
}

static void too_few_are_of_the_slow_time(void **state)
{
	sqlite3 *db = slow(50, 52);

	(void)state;
	is_within(db, FINDING_VALUE("too_few_slow", "n", "v.number"), 1, 9);
	is_text(db, FINDING_VALUE("too_few_slow", "where", "v.text"), "from");
	is_number(db, "SELECT count(*) FROM cause", 0);
	db_close(db);
	db = slow(1, 99);
	is_within(db, FINDING_VALUE("too_few_slow", "n", "v.number"), 1, 9);
	is_text(db, FINDING_VALUE("too_few_slow", "where", "v.text"), "outside of");
	db_close(db);
}

static void those_that_take_as_long_are_not_too_few(void **state)
{
	sqlite3 *db = slow(30, 70);

	(void)state;
	is_within(db, FINDING_VALUE("not_slower", "n", "v.number"), 100, 140);
	is_number(db, "SELECT count(*) FROM finding WHERE kind GLOB 'too_few*'", 0);
	db_close(db);
}

/* The first screen names no analysis that has nothing. */
static void what_to_look_at_next(void **state)
{
	struct screen s = { .problems = true, .kind = VERDICT_slower, .no_causes = true };
	struct buf out = { 0 };
	struct err e;

	(void)state;
	assert_true(screen_next(&out, &s, 0, "x.obs", &e) > 0);
	assert_null(strstr(out.data, "-a"));
	buf_clear(&out);
	s.pauses = true;
	assert_true(screen_next(&out, &s, 0, "x.obs", &e) > 0);
	assert_non_null(strstr(out.data, "-a pauses"));
	buf_clear(&out);
	s.no_causes = false;
	assert_true(screen_next(&out, &s, 0, "x.obs", &e) > 0);
	assert_non_null(strstr(out.data, "-a causes"));
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(too_few_are_of_the_slow_time),
		T(those_that_take_as_long_are_not_too_few),
		T(what_to_look_at_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
