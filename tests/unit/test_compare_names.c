// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/compare/: another mix of requests, another cost of one name, and both at once that cancel
 * out in the mean.
 */
#include "analyze/compare/compare.h"
#include "tests/lib/asking.h"
#include "tests/lib/compared.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define US 1000L

static long every = 5000; /* us: between requests */

/* Of 20 requests so many are GET /report/:id; each name takes so many us and a few ns. */
static void measure(struct measured *m, long reports, long user, long report, long shift)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long t, i, n;

	begin_host(&b);
	for (i = 1; i <= 2; i++) {
		buf_printf(&b, &e, "@cpu %ld\n", i);
		for (n = 0, t = 20000; t < (SECONDS - 1) * 1000000; t += every, n++) {
			bool is_report = n % 20 < reports;
			long at = t * 1000 + shift;

			if (is_report == (i == 2))
				ask(&b, (int)i, 100 + (int)i, at, at + 5 * US,
				    at + (is_report ? report : user) * US + t * 137 % 50000);
		}
	}
	measured(m, &b);
}

#define FOUND(kind) "SELECT count(*) FROM finding WHERE kind='compare_" kind "'"
#define VALUE(what) FINDING_VALUE("compare_mix", what, "coalesce(text, number)")

/* The service is slower, none of its names is: the names are said, not their rates as a fall. */
static void another_mix_is_no_change_of_a_name(void **state)
{
	struct measured a, b;
	sqlite3 *db;

	(void)state;
	measure(&a, 4, 300, 2000, 0);
	measure(&b, 12, 300, 2000, 777);
	db = compared_sides(&a, &b);
	is_number(db, FOUND("mix"), 1);
	is_text(db, VALUE("name"), "GET /report/:id");
	is_within(db, VALUE("before"), 39, 42);
	is_within(db, VALUE("after"), 119, 122);
	is_number(db, VALUE("n"), 2);
	is_number(db, VALUE("all"), 2);
	is_text(db, "SELECT verdict FROM change WHERE kind='service' AND name='request p50'",
		"slower");
	is_number(db, "SELECT count(*) FROM change WHERE kind='request' AND verdict='slower'", 0);
	is_number(db, FOUND("throughput_fell"), 0);
	is_number(db, FOUND("throughput_rose"), 0);
	db_close(db);
}

/* One name takes longer, all come as often as before. */
static void a_slower_name_is_no_other_mix(void **state)
{
	struct measured a, b;
	sqlite3 *db;

	(void)state;
	measure(&a, 8, 300, 2000, 0);
	measure(&b, 8, 300, 2800, 777);
	db = compared_sides(&a, &b);
	is_number(db, FOUND("mix"), 0);
	is_text(db, "SELECT object FROM change WHERE kind='request' AND verdict='slower' LIMIT 1",
		"GET /report/:id");
	is_number(db, FOUND("slower"), 1);
	db_close(db);
}

/* The dear name comes twice as often and takes half: the mean is that of before, the name is not.
 */
static void a_mean_that_stays_hides_no_name(void **state)
{
	struct measured a, b;
	sqlite3 *db;

	(void)state;
	measure(&a, 4, 300, 3000, 0);
	measure(&b, 8, 300, 1650, 777);
	db = compared_sides(&a, &b);
	is_number(db, FOUND("mix"), 0);
	is_text(db,
		"SELECT verdict FROM change WHERE kind='request' AND name='request p50' AND"
		" object='GET /report/:id'",
		"faster");
	is_text(db, FINDING_VALUE("compare_faster", "subject", "v.text"), "server GET /report/:id");
	db_close(db);
}

/* Twice as much of all: every rate changes, and no mix. */
static void more_of_all_is_no_other_mix(void **state)
{
	struct measured a, b;
	sqlite3 *db;

	(void)state;
	every = 8000;
	measure(&a, 8, 300, 2000, 0);
	every = 5000;
	measure(&b, 8, 300, 2000, 777);
	db = compared_sides(&a, &b);
	is_number(db, FOUND("mix"), 0);
	is_number(db, FOUND("throughput_rose"), 1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(another_mix_is_no_change_of_a_name),
		T(a_slower_name_is_no_other_mix),
		T(a_mean_that_stays_hides_no_name),
		T(more_of_all_is_no_other_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
