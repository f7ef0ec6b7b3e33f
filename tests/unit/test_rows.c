// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows as structs: each member is the column of its name, and NULL comes back as NULL. */
#include "analyze/store/columns/bulk.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <math.h>

static sqlite3 *made(void)
{
	struct err e = { 0 };
	sqlite3 *db;

	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	return db;
}

static void a_member_is_the_column_of_its_name(void **state)
{
	struct err e = { 0 };
	sqlite3 *db = made();

	(void)state;
	assert_int_equal(row_put(db, disk, &e, .dev = 7, .name = "sda", .sectors = -1), 0);
	assert_int_equal(asked(db, "SELECT count(*) FROM disk WHERE dev=7 AND name='sda'"
				   " AND rotational=0 AND sectors=-1"),
			 1);
	db_close(db);
}

static void null_comes_back_as_null(void **state)
{
	struct row_metric m;
	struct err e = { 0 };
	sqlite3 *db = made();
	sqlite3_stmt *s;

	(void)state;
	assert_int_equal(row_put(db, metric, &e, .analysis = "cpu", .value = 2.5, .low = NAN,
				 .n = BULK_NULL),
			 0);
	assert_int_equal(asked(db, "SELECT count(*) FROM metric WHERE subject IS NULL"
				   " AND low IS NULL AND high=0 AND n IS NULL"),
			 1);
	assert_int_equal(db_query(&s, db, &e, "SELECT * FROM metric", ""), 0);
	assert_int_equal(db_step(s, &e), 1);
	row_get(s, metric, &m);
	assert_string_equal(m.analysis, "cpu");
	assert_null(m.subject);
	assert_true(m.value == 2.5 && isnan(m.low) && m.high == 0);
	assert_true(m.n == BULK_NULL);
	sqlite3_finalize(s);
	db_close(db);
}

static void bulk_rows_hold_numbers_of_both_kinds(void **state)
{
	struct row_request_window *row;
	struct err e = { 0 };
	sqlite3 *db = made();
	struct bulk *b;

	(void)state;
	assert_int_equal(bulk_open(&b, db, &e), 0);
	row = bulk_add(b, request_window);
	*row = (struct row_request_window){ .service = 3, .recv_gap = 0.5, .send_gaps = BULK_NULL };
	assert_int_equal(bulk_close(b, &e), 0);
	bulk_free(b);
	assert_int_equal(asked(db, "SELECT count(*) FROM request_window WHERE service=3"
				   " AND recv_gap=0.5 AND send_gaps IS NULL AND send_m2=0"),
			 1);
	db_close(db);
}

static int count_statements(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int n = 0;

	while ((s = sqlite3_next_stmt(db, s)) != NULL)
		n++;
	return n;
}

static void rows_share_one_statement(void **state)
{
	struct err e = { 0 };
	sqlite3 *db = made();
	int before, i;

	(void)state;
	assert_int_equal(row_put(db, disk, &e, .dev = 0, .name = "sda"), 0);
	before = count_statements(db);
	for (i = 1; i < 100; i++)
		assert_int_equal(row_put(db, disk, &e, .dev = i), 0);
	assert_int_equal(count_statements(db), before);
	is_number(db, "SELECT count(name) FROM disk", 1); /* no value of the row before */
	is_number(db, "SELECT count(DISTINCT dev) FROM disk", 100);
	assert_int_equal(db_close(db), SQLITE_OK);
}

struct nested {
	sqlite3 *db;
	int depth, rows;
};

static int ask_again(void *arg, sqlite3_stmt *s, struct err *e)
{
	struct nested *n = arg;
	int ret = 0;

	(void)s;
	n->rows++;
	if (n->depth == 1)
		return 0;
	n->depth++;
	ret = db_each(n->db, e, ask_again, n, "SELECT dev FROM disk", "");
	n->depth--;
	return ret;
}

static void a_query_inside_the_same_query_has_rows_of_its_own(void **state)
{
	struct err e = { 0 };
	struct nested n = { .db = made() };
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(row_put(n.db, disk, &e, .dev = i), 0);
	assert_int_equal(db_each(n.db, &e, ask_again, &n, "SELECT dev FROM disk", ""), 0);
	assert_int_equal(n.rows, 3 + 3 * 3);
	assert_int_equal(db_close(n.db), SQLITE_OK);
}

static void a_kept_statement_sees_new_tables_and_errors_pass(void **state)
{
	struct err e = { 0 };
	sqlite3 *db = made();
	s64 n = 0;

	(void)state;
	changed(db, "CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1)");
	assert_int_equal(db_int(db, &n, &e, "SELECT max(a) FROM t", ""), 0);
	assert_int_equal(n, 1);
	assert_true(db_run(db, &e, "INSERT INTO t VALUES(?)", "i", (s64)1) < 0);
	assert_int_equal(db_run(db, &e, "INSERT INTO t VALUES(?)", "i", (s64)2), 0);
	changed(db, "DROP TABLE t; CREATE TABLE t(b, a);"
		    "INSERT INTO t VALUES(8, 9)");
	assert_int_equal(db_int(db, &n, &e, "SELECT max(a) FROM t", ""), 0);
	assert_int_equal(n, 9);
	assert_int_equal(db_close(db), SQLITE_OK);
}

static void a_text_of_a_query_is_appended(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db = made();

	(void)state;
	assert_int_equal(db_add_text(&text, db, &e, "SELECT NULL", ""), 0);
	assert_int_equal(db_add_text(&text, db, &e, "SELECT 'a' WHERE ?1=2", "i", (s64)1), 0);
	assert_null(text.data);
	assert_int_equal(db_add_text(&text, db, &e, "SELECT ?1 || 'b' UNION SELECT 'z'", "s", "a"),
			 0);
	assert_int_equal(db_add_text(&text, db, &e, "SELECT 'c'", ""), 0);
	assert_string_equal(text.data, "abc");
	assert_int_equal(db_add_text(&text, db, &e, "SELECT FROM", ""), ERR_FAIL);
	buf_free(&text);
	assert_int_equal(db_close(db), SQLITE_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_member_is_the_column_of_its_name),
		cmocka_unit_test(a_text_of_a_query_is_appended),
		cmocka_unit_test(null_comes_back_as_null),
		cmocka_unit_test(bulk_rows_hold_numbers_of_both_kinds),
		cmocka_unit_test(rows_share_one_statement),
		cmocka_unit_test(a_query_inside_the_same_query_has_rows_of_its_own),
		cmocka_unit_test(a_kept_statement_sees_new_tables_and_errors_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
