// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows as structs: each member is the column of its name, and NULL comes back as NULL. */
#include "analyze/store/bulk.h"
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
	sqlite3_close(db);
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
	sqlite3_close(db);
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
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_member_is_the_column_of_its_name),
		cmocka_unit_test(null_comes_back_as_null),
		cmocka_unit_test(bulk_rows_hold_numbers_of_both_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
