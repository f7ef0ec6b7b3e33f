// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_names.c: changes of the mix of names, which are no problem. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdio.h>

#define MS 1000000L

/* From 6 s on nearly all requests are of the name that always takes 20 ms. */
static void a_change_of_mix_is_no_problem(void **state)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t;
	int i;

	(void)state;
	begin_host(&b);
	for (i = 1; i <= 2; i++) {
		buf_printf(&b, &e, "@cpu %d\n", i);
		for (t = 20; t < SECONDS * 1000 - 200; t += (t > 6000) == (i == 2) ? 25 : 150)
			ask_own(&b, i, t, (i == 2 ? 20 : 1) * MS);
	}
	db = analysed(loaded_buf(&b), NULL);
	is_text(db, "SELECT status FROM verdict", "none");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_mix'", 1);
	db_close(db);
}

/*
 * Name 1 always takes 1 ms; name 2, asked so often, takes that time from 6 s on, and has a few of 1
 * ms before.
 */
static sqlite3 *with_new_name(int before, long every, long took)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long t;

	begin_host(&b);
	buf_printf(&b, &e, "@cpu 1\n");
	for (t = 20; t < SECONDS * 1000 - 200; t += 25)
		ask_own(&b, 1, t, MS);
	buf_printf(&b, &e, "@cpu 2\n");
	for (t = 1000; t < 1000 + 1000 * before; t += 1000)
		ask_own(&b, 2, t, MS);
	for (t = 6000; t < SECONDS * 1000 - 200; t += every)
		ask_own(&b, 2, t, took);
	return analysed(loaded_buf(&b), NULL);
}

/* Name 1 always takes 1 ms; one of name 4 comes after 6 s; others are slower from then on: named or
 * not. */
static sqlite3 *with_others(bool named)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long t;

	begin_host(&b);
	buf_printf(&b, &e, "@cpu 1\n");
	for (t = 20; t < SECONDS * 1000 - 200; t += 25)
		ask_own(&b, 1, t, MS);
	buf_printf(&b, &e, "@cpu 3\n");
	for (t = named ? 6000 : 20; t < SECONDS * 1000 - 200; t += 25) {
		long took = (t < 6000 ? 1 : 20) * MS + t * 137 % 50000;

		if (named)
			ask_own(&b, 3, t, 20 * MS);
		else
			buf_printf(&b, &e,
				   "%ld 103 syscall nr=read fd=7 dur=1 ret=10\n"
				   "%ld 103 syscall nr=write fd=7 dur=1 ret=20\n",
				   t * MS, t * MS + took);
	}
	buf_printf(&b, &e, "@cpu 4\n");
	ask_own(&b, 4, 7000, MS);
	return analysed(loaded_buf(&b), NULL);
}

/* Requests without a name may be those that became slower. */
static void requests_without_a_name_are_no_mix(void **state)
{
	sqlite3 *db = with_others(false);

	(void)state;
	is_number(db, "SELECT sum(exchanges) > 300 FROM request_stat WHERE name=0", 1);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_mix'", 0);
	is_text(db, "SELECT status FROM verdict", "problem");
	db_close(db);
	db = with_others(true);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_mix'", 1);
	db_close(db);
}

/* It cannot have become slower; one with answers before may have. */
static void a_new_name_that_takes_longer_is_a_change_of_mix(void **state)
{
	sqlite3 *db = with_new_name(0, 25, 20 * MS);

	(void)state;
	is_text(db, "SELECT status FROM verdict", "none");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_mix'", 1);
	db_close(db);
	db = with_new_name(2, 25, 20 * MS);
	is_text(db, "SELECT status FROM verdict", "problem");
	db_close(db);
	/* too few to judge them alone */
	db = with_new_name(0, 150, 90 * MS);
	is_within(db, "SELECT count(*) FROM request WHERE name=2", 20, 29);
	is_text(db, "SELECT status FROM verdict", "none");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_mix'", 1);
	db_close(db);
	db = with_new_name(2, 150, 90 * MS);
	is_text(db, "SELECT status FROM verdict", "problem");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_of_mix_is_no_problem),
		cmocka_unit_test(requests_without_a_name_are_no_mix),
		cmocka_unit_test(a_new_name_that_takes_longer_is_a_change_of_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
