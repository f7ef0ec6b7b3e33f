// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows in order of time are those of ORDER BY, for rows that came in any other order. */
#include "analyze/export/trace_rail.h"
#include "analyze/store/columns/bulk.h"
#include "tests/lib/unit.h"

#include <string.h>

#define ROWS 300000 /* 19 chunks, and more than may be kept in advance */

static u64 seed;

static u64 noise(u64 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* Calls as they end: short ones, a few that last long, and at last those that never ended. */
static struct row_syscall as_recorded(s64 i)
{
	s64 now = 1000 * i, dur = (s64)noise(noise(300) ? 3000 : 1000 * (u64)i + 1);

	if (i >= ROWS - 1000)
		return (struct row_syscall){ .ts = (s64)noise(1000 * ROWS), .dur = BULK_NULL };
	return (struct row_syscall){ .ts = (now - dur) / 500 * 500,
				     .dur = noise(50) ? dur / 500 * 500 : BULK_NULL };
}

static struct row_syscall backwards(s64 i)
{
	return (struct row_syscall){ .ts = ROWS - i, .dur = 1 };
}

static struct row_syscall at_once(s64 i)
{
	return (struct row_syscall){ .ts = 7, .dur = i % 3 ? (s64)noise(20) : BULK_NULL };
}

static struct row_syscall far_apart(s64 i)
{
	return (struct row_syscall){ .ts = i % 2 ? INT64_MAX - i : INT64_MIN + 1 + i,
				     .dur = i % 3 ? INT64_MAX : 1 };
}

static sqlite3 *filled(struct row_syscall (*row)(s64), bool chunks)
{
	struct err e = { 0 };
	struct row_syscall *to;
	struct bulk *b;
	sqlite3 *db;
	s64 i;

	seed = 88172645463325252u;
	assert_int_equal(db_open(&db, NULL, true, &e), 0);
	assert_int_equal(chunks ? columns_use(db, &e) : 0, 0);
	assert_int_equal(bulk_open(&b, db, &e), 0);
	for (i = 0; i < ROWS; i++) {
		to = bulk_add(b, syscall);
		*to = row(i);
		to->ret = i;
	}
	assert_int_equal(bulk_close(b, &e), 0);
	bulk_free(b);
	return db;
}

struct expected {
	sqlite3_stmt *q;
	u64 n;
};

static int is_next(void *arg, const void *row, const struct place *at)
{
	struct expected *x = arg;
	const struct row_syscall *s = row;
	struct err e = { 0 };

	assert_int_equal(db_step(x->q, &e), 1);
	assert_int_equal(s->ret, sqlite3_column_int64(x->q, 0));
	assert_int_equal(s->ts, at->span.ts);
	x->n++;
	return 0;
}

static u64 check(sqlite3 *db, struct span part)
{
	struct expected x = { 0 };
	struct err e = { 0 };

	assert_int_equal(db_query(&x.q, db, &e,
				  "SELECT ret FROM syscall WHERE ts <= ?2 AND"
				  " ts + coalesce(dur, 0) >= ?1 ORDER BY ts, dur DESC, rowid",
				  "ii", part.ts, part.end),
			 0);
	assert_int_equal(rows_in_order(db, &order_syscalls, part, is_next, &x, &e), 0);
	assert_int_equal(db_step(x.q, &e), 0);
	sqlite3_finalize(x.q);
	return x.n;
}

static void rows_are_in_order(void **state)
{
	static struct row_syscall (*const rows[])(s64) = { as_recorded, backwards, at_once,
							   far_apart };
	const struct span all = { INT64_MIN, INT64_MAX };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		db = filled(rows[i], true);
		assert_int_equal(check(db, all), ROWS);
		db_close(db);
	}
	db = filled(as_recorded, false);
	assert_int_equal(check(db, all), ROWS);
	db_close(db);
}

static void a_part_is_what_overlaps_it(void **state)
{
	sqlite3 *db = filled(as_recorded, true);
	u64 n;

	(void)state;
	n = check(db, (struct span){ 1000 * 100000, 1000 * 101000 });
	assert_in_range(n, 1001, ROWS / 2);
	assert_int_equal(check(db, (struct span){ INT64_MAX - 1, INT64_MAX }), 0);
	db_close(db);
}

static int stop(void *arg, const void *row, const struct place *at)
{
	(void)row;
	(void)at;
	return ++*(int *)arg == 3 ? 1 : 0;
}

static void reading_ends_when_asked(void **state)
{
	sqlite3 *db = filled(as_recorded, true);
	struct err e = { 0 };
	int n = 0;

	(void)state;
	assert_int_equal(rows_in_order(db, &order_syscalls, (struct span){ INT64_MIN, INT64_MAX },
				       stop, &n, &e),
			 1);
	assert_int_equal(n, 3);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_in_order),
		cmocka_unit_test(a_part_is_what_overlaps_it),
		cmocka_unit_test(reading_ends_when_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
