// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_names.c and requests.c: one name is slow and the others are not,
 * and what only looks so.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdio.h>

#define MS 1000000L

/* Each name has a thread and a request every 40 ms, of 2 ms; one takes 90 ms from 6 s on. */
static void one_slow_name_is_named(void **state)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t;
	int i;

	(void)state;
	begin_host(&b);
	for (i = 1; i <= NAMES; i++) {
		buf_printf(&b, &e, "@cpu %d\n", i);
		for (t = 20; t < SECONDS * 1000 - 200; t += i == 2 && t > 6000 ? 100 : 40) {
			long took = i == 2 && t > 6000 ? 90 * MS : 2 * MS + t * 137 % 50000;

			ask(&b, i, 100 + i, t * MS, t * MS + 20000, t * MS + took);
		}
	}
	db = analysed(loaded_buf(&b), NULL);
	is_text(db, "SELECT status FROM verdict", "problem");
	is_text(db, "SELECT kind FROM verdict", "slower");
	is_text(db, "SELECT kind FROM finding WHERE id=(SELECT finding FROM verdict)",
		"verdict_names");
	is_text(db,
		"SELECT n.name FROM finding_value v JOIN request_name n ON n.id=v.id WHERE v.name='name'"
		" AND finding=(SELECT finding FROM verdict)",
		"GET /report/:id");
	is_within(db, "SELECT start FROM verdict", 5.8e9, 6.2e9);
	is_number(db,
		  "SELECT number FROM finding_value WHERE name='others' AND finding="
		  "(SELECT finding FROM verdict)",
		  3);
	is_within(db,
		  "SELECT number FROM finding_value WHERE name='p99' AND finding="
		  "(SELECT finding FROM verdict)",
		  85e6, 92e6);
	is_like(db, "SELECT sentence(finding) FROM verdict",
		"GET /report/:id: p99 90.0 ms since %, 2.05 ms otherwise; 3 other names unchanged.");
	/* by which the first screen finds the cause of that category, and whom it names */
	is_text(db, FINDING_VALUE("verdict_name_part", "category", "v.text"), "cpu");
	is_number(db, "SELECT count(*) FROM metric WHERE analysis='requests' AND name='p99'",
		  NAMES);
	db_close(db);
}

/* One is slow from 5 s to 8 s. Only its own later answers show that it is not any more. */
static void the_end_is_of_the_name(void **state)
{
	long t;
	int i, later;

	(void)state;
	for (later = 0; later < 2; later++) {
		struct buf b = { 0 };
		struct err e = { 0 };
		sqlite3 *db;

		begin_host(&b);
		for (i = 1; i <= NAMES; i++) {
			buf_printf(&b, &e, "@cpu %d\n", i);
			for (t = 20; t < SECONDS * 1000 - 200; t += 40)
				if (i != 2 || t < 8000 || later)
					ask_own(&b, i, t,
						(i == 2 && t >= 5000 && t < 8000 ? 30 : 2) * MS);
		}
		db = analysed(loaded_buf(&b), NULL);
		is_text(db, "SELECT kind FROM finding WHERE id=(SELECT finding FROM verdict)",
			"verdict_names");
		is_within(db, "SELECT end FROM verdict", 7.9e9, 8.2e9);
		is_number(db, FINDING_VALUE("verdict_names", "end", "count(v.number)"), later);
		db_close(db);
	}
}

/* Its typical requests are slower from 6 s on, but its longest ones came before: no p99 to report.
 */
static void a_p99_that_fell_is_no_problem(void **state)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t;
	int i;

	(void)state;
	begin_host(&b);
	for (i = 1; i <= NAMES; i++) {
		buf_printf(&b, &e, "@cpu %d\n", i);
		for (t = 20; t < SECONDS * 1000 - 200; t += 40) {
			long took = i == 2 && t > 6000	       ? 7 * MS
				    : i == 2 && t % 1000 == 20 ? 39 * MS
							       : 2 * MS + t * 137 % 50000;

			ask_own(&b, i, t, took);
		}
	}
	db = analysed(loaded_buf(&b), NULL);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_names'", 0);
	db_close(db);
}

/*
 * Two names are slow from 6 s on, each with its own p99. Another one scatters so much that nothing
 * is proved of it: with next to nothing of the added time it hides them not.
 */
static void two_slow_names_are_named(void **state)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t, k;
	int i;

	(void)state;
	begin_host(&b);
	for (i = 1; i <= NAMES; i++) {
		buf_printf(&b, &e, "@cpu %d\n", i);
		for (t = 20, k = 0; t < SECONDS * 1000 - 200;
		     t += i < 3 && t > 6000 ? 100 : 40, k++) {
			long took = i < 3 && t > 6000 ? (i == 2 ? 90 : 40) * MS : 2 * MS;

			if (i == 4)
				took = k * 7919 % 11 == 0 ? 20 * MS : MS;
			ask_own(&b, i, t, took);
		}
	}
	db = analysed(loaded_buf(&b), NULL);
	is_text(db, "SELECT kind FROM finding WHERE id=(SELECT finding FROM verdict)",
		"verdict_names");
	is_like(db, "SELECT sentence(finding) FROM verdict",
		"GET /report/:id: p99 90.% ms since %, 2.0_ ms otherwise; slower too, p99: GET /a 40.% ms;%");
	is_number(db,
		  "SELECT count(*) FROM finding WHERE kind='verdict_name_part' AND parent=(SELECT"
		  " finding FROM verdict)",
		  2);
	db_close(db);
}

/*
 * One name takes 300 ms from 6 s on, which all together do not show: another one, with most of the
 * requests, has bursts of 10 ms all the time.
 */
static void a_slow_name_is_found_among_noisy_ones(void **state)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t;

	(void)state;
	begin_host(&b);
	buf_printf(&b, &e, "@cpu 1\n");
	for (t = 20; t < SECONDS * 1000 - 200; t += 10) {
		bool burst = t / 200 * 7919 % 10 < (t > 6000 ? 5 : 3);

		ask(&b, 1, 101, t * MS, t * MS + 20000, t * MS + (burst ? 9 * MS : MS / 4));
	}
	buf_printf(&b, &e, "@cpu 2\n");
	for (t = 20; t<SECONDS * 1000 - 400; t += t> 6000 ? 350 : 100)
		ask_own(&b, 2, t, t > 6000 ? 300 * MS : MS);
	db = analysed(loaded_buf(&b), NULL);
	is_text(db, "SELECT status FROM verdict", "problem");
	is_like(db, "SELECT sentence(finding) FROM verdict",
		"GET /report/:id: p99 300 ms since %, 1.0_ ms otherwise.");
	is_within(db, "SELECT start FROM verdict", 5.8e9, 6.5e9);
	db_close(db);
}

/*
 * One of two names takes 300 ms from its arrivals at 5 s on, until 8 s. The other one was slow for
 * 0.4 s: nothing is proved of it, but it has next to nothing of the added time; or as much.
 */
static void a_name_is_named_next_to_one_other(void **state)
{
	long t, other;

	(void)state;
	for (other = 30; other <= 38; other += 8) {
		struct buf b = { 0 };
		struct err e = { 0 };
		sqlite3 *db;

		begin_host(&b);
		buf_printf(&b, &e, "@cpu 1\n");
		for (t = 20; t < SECONDS * 1000 - 200; t += 40) {
			bool late = t >= 6000 && t < (other == 30 ? 6400 : 8000);

			ask_own(&b, 1, t, (late ? other : 2) * MS);
		}
		buf_printf(&b, &e, "@cpu 2\n");
		for (t = 20; t < SECONDS * 1000 - 400; t += t >= 5000 && t < 8000 ? 350 : 40)
			ask_own(&b, 2, t, t >= 5000 && t < 8000 ? 300 * MS : 2 * MS);
		db = analysed(loaded_buf(&b), NULL);
		is_text(db, "SELECT kind FROM finding WHERE id=(SELECT finding FROM verdict)",
			other == 30 ? "verdict_names" : "verdict_slower");
		if (other == 30)
			is_within(db, FINDING_VALUE("verdict_names", "start", "v.number"), 4.9e9,
				  5.1e9);
		db_close(db);
	}
}

/* All names are slow from 6 s on. No name is singled out. */
static void no_name_is_singled_out_when_all_are_slow(void **state)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t;
	int i;

	(void)state;
	begin_host(&b);
	for (i = 1; i <= NAMES; i++) {
		buf_printf(&b, &e, "@cpu %d\n", i);
		for (t = 20; t < SECONDS * 1000 - 200; t += 40)
			ask_own(&b, i, t, t > 6000 ? 30 * MS : 2 * MS);
	}
	db = analysed(loaded_buf(&b), NULL);
	is_text(db, "SELECT kind FROM finding WHERE id=(SELECT finding FROM verdict)",
		"verdict_slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_blocker'", 0);
	db_close(db);
}

/*
 * One thread serves all, each 40 ms. From 6 s on KEYS takes `keys_takes` ns once per `every` ms,
 * and the requests of the other names that come then wait for `wait`. Otherwise it takes `before`
 * ns; 0: there is none.
 */
static sqlite3 *blocked(int keys_tid, long every, long keys_takes, long wait, long before)
{
	struct buf b = { 0 };
	long t;

	begin_host(&b);
	for (t = 20; t < SECONDS * 1000 - 200; t += 40) {
		bool blocks = t > 6000 && t % every == 20;
		long takes = blocks ? keys_takes : before;
		long read = t * MS + (blocks ? wait + MS : MS), i;

		if (takes)
			ask(&b, 4, keys_tid, t * MS - 1000, t * MS, t * MS + takes);
		for (i = 1; i <= 3; i++, read += MS / 10)
			ask(&b, (int)i, 100, t * MS + 10, read, read + MS / 20);
	}
	return analysed(loaded_buf(&b), NULL);
}

/* KEYS is named, the names that wait for it are not. */
static void the_name_that_blocks_the_thread_is_named(void **state)
{
	sqlite3 *db = blocked(100, 200, 30 * MS, 30 * MS, 0);

	(void)state;
	is_text(db, "SELECT kind FROM verdict", "pauses");
	is_text(db, FINDING_VALUE("pause_cause", "request", "v.text") " LIMIT 1", "KEYS");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_names'", 0);
	db_close(db);
}

/* No pause is long enough to count, all are slower. */
static void the_name_that_occupies_the_thread_is_named(void **state)
{
	sqlite3 *db = blocked(100, 40, 8 * MS, 8 * MS, MS / 10);

	(void)state;
	is_text(db, "SELECT kind FROM finding WHERE id=(SELECT finding FROM verdict)",
		"verdict_slower");
	is_text(db,
		"SELECT n.name FROM finding f JOIN finding_value v ON v.finding=f.id JOIN request_name n ON"
		" n.id=v.id WHERE f.kind='verdict_blocker' AND v.name='name'",
		"KEYS");
	db_close(db);
}

/* KEYS has a thread of its own: nothing waits for it, as long as it takes. */
static void a_name_on_another_thread_is_not_named(void **state)
{
	sqlite3 *db = blocked(104, 40, 8 * MS, 8 * MS, MS / 10);

	(void)state;
	is_text(db, "SELECT kind FROM finding WHERE id=(SELECT finding FROM verdict)",
		"verdict_slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_blocker'", 0);
	db_close(db);
}

/*
 * A proxy asks an upstream for each request, and reads others during these waits. From 6 s on the
 * upstream takes 90 ms for one name; the thread is read from at once, and the others become a
 * little slower.
 */
static void a_slow_upstream_of_one_name_blocks_no_others(void **state)
{
	struct buf b = { 0 };
	sqlite3 *db;
	long t, i;

	(void)state;
	begin_host(&b);
	for (t = 20; t < SECONDS * 1000 - 200; t += 40) {
		bool late = t > 6000;
		long read = t * MS + 20000 + (late ? t % 7 * MS / 10 : 0);

		ask(&b, 2, 100, t * MS, t * MS + 10000, t * MS + (late ? 90 : 2) * MS);
		for (i = 1; i <= 4; i += i == 1 ? 2 : 1, read += MS / 10)
			ask(&b, (int)i, 100, t * MS + 10, read,
			    read + MS / 20 + (late ? t % 11 * MS / 4 : t % 11 * MS / 100));
	}
	db = analysed(loaded_buf(&b), NULL);
	is_text(db, "SELECT kind FROM verdict", "slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_blocker'", 0);
	db_close(db);
}

/* KEYS takes longer as well, but less than what the others wait: they do not wait for it. */
static void a_name_that_takes_less_than_the_wait_is_not_named(void **state)
{
	sqlite3 *db = blocked(100, 40, MS / 50, 8 * MS, MS / 100);

	(void)state;
	is_text(db, "SELECT kind FROM finding WHERE id=(SELECT finding FROM verdict)",
		"verdict_slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_blocker'", 0);
	db_close(db);
}

/* Requests of 2 ms; from 6 s on those of one connection, of this name, last 40 ms. */
static sqlite3 *parked(const char *name)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	char sql[100];
	long t, took;
	sqlite3 *db;
	int i;

	begin_host(&b);
	for (i = 1; i <= NAMES; i++) {
		buf_printf(&b, &e, "@cpu %d\n", i);
		for (t = 20; t < SECONDS * 1000 - 500; t += took + 20) {
			took = i == 4 && t > 6000 ? 400 : 20;
			ask_own(&b, i, t, took * MS / 10);
		}
	}
	db = loaded_buf(&b);
	snprintf(sql, sizeof(sql), "UPDATE request_name SET protocol=4, name='%s' WHERE id=4",
		 name);
	return analysed(changed(db, sql), NULL);
}

static void a_command_that_awaits_is_not_slow(void **state)
{
	sqlite3 *db = parked("BLPOP");

	(void)state;
	is_text(db, "SELECT status FROM verdict", "none");
	is_within(db, "SELECT max FROM verdict", 2e6, 3e6);
	db_close(db);
	db = parked("LPOP");
	is_text(db, "SELECT status FROM verdict", "problem");
	is_within(db, "SELECT max FROM verdict", 40e6, 41e6);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slow_name_is_named),
		cmocka_unit_test(the_end_is_of_the_name),
		cmocka_unit_test(a_p99_that_fell_is_no_problem),
		cmocka_unit_test(two_slow_names_are_named),
		cmocka_unit_test(a_name_is_named_next_to_one_other),
		cmocka_unit_test(a_slow_name_is_found_among_noisy_ones),
		cmocka_unit_test(no_name_is_singled_out_when_all_are_slow),
		cmocka_unit_test(the_name_that_blocks_the_thread_is_named),
		cmocka_unit_test(the_name_that_occupies_the_thread_is_named),
		cmocka_unit_test(a_name_on_another_thread_is_not_named),
		cmocka_unit_test(a_slow_upstream_of_one_name_blocks_no_others),
		cmocka_unit_test(a_name_that_takes_less_than_the_wait_is_not_named),
		cmocka_unit_test(a_command_that_awaits_is_not_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
