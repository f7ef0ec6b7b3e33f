// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_traffic.c: more errors, fewer requests, and what only looks so.
 */
#include "analyze/analyses/verdict/verdict.h"
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

#define MS 1000000L

struct phase {
	int every, bad; /* ms between requests; percent of them that fail */
	int status;	/* of these */
	int more;	/* failing requests next to each good one */
	long took;	/* ns; 0: 0.1 ms */
};

#define LOST 2

/* Each 5 s; with a request that never gets an answer if `open`, or LOST: with events that are not
 * recorded. */
static sqlite3 *phases(struct phase a, struct phase b, int open)
{
	const struct phase *of[] = { &a, &b };
	struct buf x = { 0 };
	struct err e = { 0 };
	int i, k;
	long t;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20, i = 0; t < SECONDS * 1000 - 100; t += of[t >= 5000]->every, i++)
		for (k = 0; k <= of[t >= 5000]->more; k++) {
			const struct phase *p = of[t >= 5000];
			long end =
				t * MS + k * MS / 2 + (p->took ? p->took : 100000) + rand() % 9000;

			ask(&x, 1 + i % 2, 100, t * MS + k * MS / 2, t * MS + k * MS / 2 + 10000,
			    end);
			if (k || rand() % 100 < p->bad)
				buf_printf(
					&x, &e,
					"%ld 100 answer conn=%d pos=0 len=20 status=%d protocol=1\n",
					end, 1 + i % 2, p->status);
		}
	if (open == LOST)
		buf_printf(&x, &e,
			   "@recorder\n7500000000 0 missed since=7000000000 count=1"
			   " group=syscalls name=\"p\"\n");
	else if (open)
		buf_printf(&x, &e, "%ld 100 syscall nr=read fd=5 dur=1 ret=10\n",
			   SECONDS * 1000 * MS - 50 * MS);
	return analysed(loaded_buf(&x), NULL);
}

#define VALUE(kind, what) FINDING_VALUE(kind, what, "v.number")

static void more_errors_are_a_problem(void **state)
{
	sqlite3 *db = phases((struct phase){ 5, 1, 500, 0, 0 }, (struct phase){ 5, 30, 503, 0, 0 },
			     false);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem errors");
	is_within(db, "SELECT start FROM verdict", 4.9e9, 5.1e9);
	is_within(db, "SELECT errors FROM verdict", 250, 350);
	is_within(db, VALUE("verdict_errors", "share"), 25, 35);
	is_within(db, VALUE("verdict_errors", "baseline"), 0, 2);
	/* nothing was answered after the last of them, for some windows: that is no end */
	is_number(db, FINDING_VALUE("verdict_errors", "end", "total(v.number)"), 0);
	is_text(db,
		"SELECT v.text FROM finding_value v JOIN verdict ON verdict.finding=v.finding WHERE"
		" v.name='code'",
		"503");
	db_close(db);
}

/* Errors take less time: what did not fail is no problem, unless it is slower while others fail. */
static void errors_come_before_what_did_not_fail(void **state)
{
	const struct phase good = { 5, 0, 0, 0, 0 }, slow = { 5, 0, 0, 0, 3000000 },
			   bad = { 5, 100, 502, 0, 0 }, both = { 5, 50, 502, 0, 3000000 };
	sqlite3 *db = phases(slow, bad, false);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem errors");
	is_within(db, "SELECT start FROM verdict", 4.9e9, 5.1e9);
	is_null(db, "SELECT slow FROM verdict");
	db_close(db);
	db = phases(good, both, false);
	is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem slower");
	db_close(db);
}

/* Until when (ms), how often (ms), percent that fail with a status, and how long each takes (us).
 */
struct span {
	int until, every, bad, status;
	long took, took_bad;
};

/* one: only requests of the first name fail. */
static sqlite3 *spans(const struct span *p, bool one)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end;
	bool bad;
	int i = 0;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20; t < SECONDS * 1000 - 200; t += p->every, i++) {
		p += t >= p->until;
		bad = rand() % 100 < p->bad && !(one && i % NAMES);
		end = t * MS + (bad ? p->took_bad : p->took) * 1000 + rand() % 9000;
		ask(&x, 1 + i % NAMES, 100, t * MS, t * MS + 10000, end);
		if (bad)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=%d pos=0 len=20 status=%d protocol=1\n",
				   end, 1 + i % NAMES, p->status);
	}
	return analysed(loaded_buf(&x), NULL);
}

#define FIRST "SELECT status || ' ' || kind FROM verdict"

/* Slower until errors begin, within one window: by less than what the errors harm. */
static void errors_are_no_baseline_of_what_did_not_fail(void **state)
{
	static const struct span full[] = { { 5030, 5, 0, 0, 6000, 0 },
					    { 8000, 5, 97, 500, 2000, 300 },
					    { 10000, 5, 0, 0, 2000, 0 } };
	static const struct span quick[] = { { 5000, 5, 0, 0, 3000, 0 },
					     { 10000, 5, 80, 404, 3000, 100 } };
	sqlite3 *db = spans(full, false);

	(void)state;
	is_text(db, FIRST, "problem errors");
	is_within(db, "SELECT start FROM verdict", 4.9e9, 5.1e9);
	is_null(db, "SELECT slow FROM verdict");
	is_number(db, "SELECT count(*) FROM finding_value WHERE name='slower' AND number NOT NULL",
		  0);
	db_close(db);
	db = spans(quick, false);
	is_text(db, FIRST, "problem errors");
	db_close(db);
}

static void a_slowdown_at_another_time_is_said_next_to_the_errors(void **state)
{
	static const struct span later[] = { { 4000, 5, 0, 0, 2000, 0 },
					     { 6000, 5, 97, 500, 2000, 300 },
					     { 8000, 5, 0, 0, 2000, 0 },
					     { 10000, 5, 0, 0, 6000, 0 } };
	sqlite3 *db = spans(later, false);

	(void)state;
	is_text(db, FIRST, "problem errors");
	is_within(db, "SELECT start FROM verdict", 3.9e9, 4.1e9);
	is_within(db, VALUE("verdict_errors", "slower"), 7.9e9, 8.1e9);
	is_within(db, VALUE("verdict_errors", "slower_ratio"), 2.5, 3.5);
	db_close(db);
}

/* The edge of a time range lies within a window, whose level is between. */
static void errors_in_two_time_ranges(void **state)
{
	static const struct span twice[] = {
		{ 3980, 5, 0, 0, 1000, 0 },	 { 5510, 5, 100, 503, 1000, 300 },
		{ 7000, 5, 0, 0, 1000, 0 },	 { 7980, 5, 0, 0, 3000, 0 },
		{ 9480, 5, 99, 503, 3000, 300 }, { 10000, 5, 0, 0, 3000, 0 }
	};
	static const struct span all[] = { { 8000, 5, 4, 503, 1000, 300 },
					   { 10000, 5, 4, 503, 3000, 300 } };
	sqlite3 *db = spans(twice, false);

	(void)state;
	is_text(db, FIRST, "problem errors");
	is_within(db, "SELECT start FROM verdict", 3.9e9, 4.1e9);
	is_within(db, "SELECT end FROM verdict", 5.4e9, 5.6e9);
	is_within(db, VALUE("verdict_errors", "end"), 5.4e9, 5.6e9);
	is_number(db, VALUE("verdict_errors", "again"), 1);
	is_within(db, VALUE("verdict_errors", "again_n"), 280, 300);
	is_within(db, VALUE("verdict_errors", "again_end"), 9.4e9, 9.6e9);
	db_close(db);
	db = spans(all, false); /* at an even rate all the time */
	is_number(db, "SELECT count(*) FROM finding WHERE kind LIKE 'verdict_errors%'", 0);
	db_close(db);
}

static void the_share_is_of_the_name_that_fails(void **state)
{
	static const struct span one[] = { { 5000, 5, 0, 0, 300, 0 },
					   { 8000, 5, 90, 500, 300, 300 },
					   { 10000, 5, 0, 0, 300, 0 } };
	sqlite3 *db = spans(one, true);

	(void)state;
	is_text(db, FIRST, "problem errors");
	is_within(db, VALUE("verdict_errors_name", "n"), 125, 145);
	is_within(db, VALUE("verdict_errors_name", "of"), 149, 151);
	is_within(db, VALUE("verdict_errors_name", "share"), 85, 95);
	is_number(db, VALUE("verdict_errors_name", "baseline"), 0);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_errors'", 0);
	db_close(db);
}

static void a_slowdown_that_harms_more_than_errors_comes_first(void **state)
{
	static const struct span wrong[] = { { 5000, 5, 10, 404, 2000, 200 },
					     { 10000, 5, 10, 404, 6000, 200 } };
	static const struct span few[] = { { 1000, 5, 0, 0, 2000, 0 },
					   { 1200, 5, 25, 500, 2000, 300 },
					   { 5000, 5, 0, 0, 2000, 0 },
					   { 10000, 25, 0, 0, 90000, 0 } };
	static const struct span timeouts[] = { { 5000, 5, 0, 0, 2000, 0 },
						{ 10000, 5, 50, 504, 2000, 12000 } };
	sqlite3 *db = spans(wrong, false);

	(void)state;
	is_text(db, FIRST, "problem slower");
	is_within(db, "SELECT start FROM verdict", 4.9e9, 5.1e9);
	is_within(db, "SELECT ratio FROM verdict", 2.8, 3.2);
	db_close(db);
	db = spans(few, false);
	is_text(db, FIRST, "problem slower");
	is_within(db, VALUE("verdict_errors", "n"), 5, 14);
	db_close(db);
	db = spans(timeouts, false);
	is_text(db, FIRST, "problem slower");
	is_within(db, VALUE("verdict_errors", "share"), 45, 55);
	db_close(db);
}

/* The same share throughout; fewer errors than the limit; wrong requests in addition. */
static void other_errors_are_none(void **state)
{
	sqlite3 *db = phases((struct phase){ 5, 20, 404, 0, 0 }, (struct phase){ 5, 20, 404, 0, 0 },
			     false);

	(void)state;
	is_text(db, "SELECT status FROM verdict", "none");
	db_close(db);
	db = phases((struct phase){ 5, 0, 404, 0, 0 }, (struct phase){ 5, 0, 404, 1, 0 }, false);
	is_text(db, "SELECT status FROM verdict", "none");
	is_within(db, VALUE("verdict_refused", "share"), 45, 55);
	db_close(db);
	/* they replace good answers: that is a problem */
	db = phases((struct phase){ 5, 0, 404, 0, 0 }, (struct phase){ 5, 50, 404, 0, 0 }, false);
	is_text(db, "SELECT status || ' ' || kind FROM verdict", "problem errors");
	db_close(db);
}

/* One name is answered each `before` ms in the first half, and refused each 20 ms in the second. */
static sqlite3 *refused_name(int before)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	int i = 0;
	long t;

	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20; t < SECONDS * 1000 - 200; t += 5, i++) {
		bool late = t >= 5000, one = t % (late ? 20 : before) == 0;

		ask(&x, one ? 1 : 2 + i % 3, 100, t * MS, t * MS + 10000, t * MS + 300000);
		if (one && late)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=1 pos=0 len=20 status=413 protocol=1\n",
				   t * MS + 300000);
	}
	return analysed(loaded_buf(&x), NULL);
}

static void a_name_that_is_refused_from_now_on(void **state)
{
	sqlite3 *db = refused_name(20);

	(void)state;
	is_text(db, FIRST, "problem errors");
	is_within(db, VALUE("verdict_errors_name", "share"), 99, 100);
	is_number(db, VALUE("verdict_errors_name", "baseline"), 0);
	db_close(db);
	/* it was hardly asked for before: others guess it */
	db = refused_name(500);
	is_text(db, "SELECT status FROM verdict", "none");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_refused'", 1);
	db_close(db);
}

static void fewer_requests_come_from_outside(void **state)
{
	sqlite3 *db =
		phases((struct phase){ 4, 0, 0, 0, 0 }, (struct phase){ 16, 0, 0, 0, 0 }, false);

	(void)state;
	is_text(db, "SELECT status FROM verdict", "none");
	is_within(db, VALUE("verdict_healthy", "since"), 4.9e9, 5.1e9);
	is_within(db, VALUE("verdict_healthy", "usual"), 240, 260);
	is_within(db, VALUE("verdict_healthy", "fewer"), 57, 67);
	db_close(db);
	/* one waits for its answer: it is not said that they came from outside */
	db = phases((struct phase){ 4, 0, 0, 0, 0 }, (struct phase){ 16, 0, 0, 0, 0 }, true);
	is_number(db, "SELECT count(*) FROM unanswered", 1);
	is_number(db, "SELECT count(number) FROM (" VALUE("verdict_healthy", "since") ")", 0);
	db_close(db);
	/* some requests are not known */
	db = phases((struct phase){ 4, 0, 0, 0, 0 }, (struct phase){ 16, 0, 0, 0, 0 }, LOST);
	is_within(db, "SELECT count(*) FROM request WHERE lossy", 25, 35);
	is_number(db, "SELECT count(number) FROM (" VALUE("verdict_healthy", "since") ")", 0);
	db_close(db);
	/* as many, and more */
	db = phases((struct phase){ 16, 0, 0, 0, 0 }, (struct phase){ 4, 0, 0, 0, 0 }, false);
	is_number(db, "SELECT count(number) FROM (" VALUE("verdict_healthy", "since") ")", 0);
	db_close(db);
}

/* It only seems so: clients ask again after an answer, and answers take longer, within the limits.
 */
static void slower_answers_to_the_same_clients_are_no_lack_of_demand(void **state)
{
	sqlite3 *db = phases((struct phase){ 1, 0, 0, 0, 100000 },
			     (struct phase){ 2, 0, 0, 0, 700000 }, false);

	(void)state;
	is_text(db, "SELECT status FROM verdict", "none");
	is_number(db, "SELECT count(number) FROM (" VALUE("verdict_healthy", "since") ")", 0);
	db_close(db);
	/* slower, and far fewer than this explains */
	db = phases((struct phase){ 1, 0, 0, 0, 100000 }, (struct phase){ 16, 0, 0, 0, 200000 },
		    false);
	is_number(db, "SELECT count(number) FROM (" VALUE("verdict_healthy", "since") ")", 1);
	db_close(db);
}

/* Times far from the recording's own, which an int of windows does not hold. */
static void times_outside_are_of_the_nearest_window(void **state)
{
	static const struct judged j = { .n_windows = 60, .width = 1e8 };

	(void)state;
	assert_int_equal(verdict_window_at(&j, 1e18), 59);
	assert_int_equal(verdict_window_at(&j, 6e9), 59);
	assert_int_equal(verdict_window_at(&j, 1.5e8), 1);
	assert_int_equal(verdict_window_at(&j, -1e18), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(more_errors_are_a_problem),
		T(errors_come_before_what_did_not_fail),
		T(errors_are_no_baseline_of_what_did_not_fail),
		T(a_slowdown_at_another_time_is_said_next_to_the_errors),
		T(the_share_is_of_the_name_that_fails),
		T(errors_in_two_time_ranges),
		T(a_slowdown_that_harms_more_than_errors_comes_first),
		T(other_errors_are_none),
		T(a_name_that_is_refused_from_now_on),
		T(fewer_requests_come_from_outside),
		T(slower_answers_to_the_same_clients_are_no_lack_of_demand),
		T(times_outside_are_of_the_nearest_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
