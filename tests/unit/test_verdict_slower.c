// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict*.c: when requests that take longer than before are a problem. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"
#include "tests/lib/screened.h"

#include <stdlib.h>
#include <string.h>

static sqlite3 *altered(long before, long after, const char *facts)
{
	struct text x = { 0 };

	srand(3);
	head(&x);
	many(&x, 500, before, 2 * MS);
	many(&x, 500, after, 2 * MS);
	return judged(&x, facts);
}

static void slower_requests_are_a_problem(void **state)
{
	sqlite3 *db = altered(100000, 4 * MS, NULL);

	(void)state;
	is_verdict(db, "problem", "slower");
	/* 500 requests of about 2.08 ms before it */
	assert_in_range(asked(db, "SELECT start FROM verdict"), 840 * MS, 1240 * MS);
	is_above(db, "SELECT ratio_low FROM verdict", 20);
	is_below(db, "SELECT ratio FROM verdict", 60);
	is_above(db, "SELECT min(ratio - ratio_low, ratio_high - ratio) FROM verdict", 0);
	is_above(db, "SELECT slow FROM verdict", 2000000);
	is_below(db, "SELECT baseline FROM verdict", 200000);
	db_close(db);
}

/* Slower requests compute for 3 ms, then wait for so long, as reads that miss the page cache. */
static sqlite3 *dearer_with_waits(long wait)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	srand(3);
	head(&x);
	many(&x, 500, 100000, 2 * MS);
	for (i = 0; i < 500; i++, x.t += 2 * MS) {
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 1000);
		text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
			  x.t + 2000);
		text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t + 3000);
		text_line(&x, "%ld 100 switch next=0 state=2", x.t += 3 * MS);
		text_line(&x, "%ld 0 waking target=100\n%ld 0 switch next=100", x.t + wait,
			  x.t + wait + 1000);
		x.t += wait;
		text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t + 3000);
		text_line(&x, "%ld 100 switch next=0 state=1", x.t + 5000);
	}
	db = judged(&x, NULL);
	analysed(db, "causes");
	is_verdict(db, "problem", "slower");
	is_text(db, "SELECT kind FROM cause WHERE rank=1", "self");
	return db;
}

static void what_dearer_requests_wait_for_is_shown_too(void **state)
{
	(void)state;
	assert_true(screen_names(dearer_with_waits(2 * MS), "Uninterruptible"));
	assert_false(screen_names(dearer_with_waits(300000), "Uninterruptible"));
}

/* A reader of either format learns that the cause is missing, not that there is none. */
static void a_missing_cause_is_said(void **state)
{
	sqlite3 *db = dearer_with_waits(2 * MS);
	struct render_options o = { .name = "x.obs" };
	struct err e = { 0 };
	int missing;

	(void)state;
	for (missing = 0; missing < 2; missing++) {
		struct screen s = screen_of(db);
		struct buf text = { 0 }, markdown = { 0 };

		assert_int_equal(screen_text(&text, &s, db, &o, &e), 0);
		assert_int_equal(screen_markdown(&markdown, &s, db, &o, &e), 0);
		assert_int_equal(strstr(text.data, "CAUSE    not found") != NULL, missing);
		assert_int_equal(strstr(markdown.data, "**CAUSE** not found") != NULL, missing);
		buf_free(&text);
		buf_free(&markdown);
		screen_free(&s);
		assert_int_equal(db_exec(db, NULL, "DELETE FROM finding WHERE parent IS NOT NULL"),
				 0);
	}
	db_close(db);
}

/* A short slow time first: the range is that of the long one. */
static void the_range_is_that_of_most_added_latency(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	long from, to, first, last;

	(void)state;
	srand(3);
	head(&x);
	many(&x, 300, 100000, MS);
	first = x.t;
	many(&x, 60, 7 * MS, MS);
	last = x.t;
	many(&x, 1500, 100000, MS);
	from = x.t;
	many(&x, 200, 7 * MS, MS);
	to = x.t;
	many(&x, 1500, 100000, MS);
	db = judged(&x, NULL);
	is_verdict(db, "problem", "slower");
	assert_in_range(asked(db, "SELECT start FROM verdict"), from - 200 * MS, from + 200 * MS);
	assert_in_range(asked(db, "SELECT end FROM verdict"), to - 200 * MS, to + 200 * MS);
	/* the other range is said with its times, as there is room for it */
	is_number(db, "SELECT count(*) FROM finding_value WHERE name='more' AND number > 0", 0);
	is_within(db, "SELECT low FROM finding_value WHERE name='range'", first - 200 * MS,
		  first + 200 * MS);
	is_within(db, "SELECT high FROM finding_value WHERE name='range'", last - 200 * MS,
		  last + 200 * MS);
	is_like(db, "SELECT sentence(finding) FROM verdict",
		"Since % until %, also % to %, requests take % instead of % (x%; geometric"
		" means), on average %");
	db_close(db);
}

/* After a start of several levels: the windows of the start are no part of what is slow. */
static void a_slow_start_hides_no_change(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	long from;

	(void)state;
	srand(3);
	head(&x);
	many(&x, 300, 800000, MS);
	many(&x, 1200, 300000, MS);
	many(&x, 1200, 100000, MS);
	from = x.t;
	many(&x, 120, 9 * MS, MS);
	many(&x, 600, 100000, MS);
	db = judged(&x, NULL);
	is_verdict(db, "problem", "slower");
	is_within(db, "SELECT start FROM verdict", from - 100 * MS, from + 100 * MS);
	db_close(db);
}

/* From then on most requests are shorter than before, and five in sequence are long. */
static sqlite3 *some_long(long ns, int times, long *ret_from)
{
	struct text x = { 0 };
	int i;

	srand(3);
	head(&x);
	many(&x, 1500, 800000, 3 * MS);
	*ret_from = x.t;
	for (i = 0; i < times; i++) {
		many(&x, 5, ns, 100000);
		many(&x, 30 + 17 * i % 7, 120000, 3 * MS);
	}
	return judged(&x, NULL);
}

static void some_long_requests_are_slower_on_average(void **state)
{
	long from;
	sqlite3 *db = some_long(15 * MS, 14, &from);

	(void)state;
	is_verdict(db, "problem", "slower");
	is_within(db, "SELECT start FROM verdict", from - 200 * MS, from + 200 * MS);
	is_like(db, "SELECT sentence(finding) FROM verdict",
		"Since %, requests take % on average instead of % (x%; per %).");
	is_above(db, "SELECT ratio_low FROM verdict", 1.2);
	is_above(db, "SELECT min(ratio - ratio_low, ratio_high - ratio) FROM verdict", 0);
	db_close(db);
	/* once, or what adds less than the limit on average */
	db = some_long(15 * MS, 1, &from);
	is_text(db, "SELECT status FROM verdict", "none");
	db_close(db);
	db = some_long(4 * MS, 16, &from);
	is_text(db, "SELECT status FROM verdict", "none");
	db_close(db);
}

/* The same server once more, at a lower rank: with a time if it began in the recording. */
static sqlite3 *with_another(const char *start, bool named)
{
	static const char name[] =
		"INSERT INTO request_name(id, protocol, name) VALUES(7, 1, 'GET /x'); INSERT INTO"
		" finding_value(finding, seq, name, kind, id) VALUES(999, 1, 'name', 'request_name', 7)";
	sqlite3 *db = altered(100000, 4 * MS, NULL);
	char sql[768];

	snprintf(
		sql, sizeof(sql),
		"INSERT INTO verdict(rank, subject_kind, subject, status, kind, start, finding) SELECT 2,"
		" subject_kind, subject, 'problem', 'slower', %s, 999 FROM verdict; INSERT INTO verdict(rank,"
		" subject_kind, subject, status, kind) SELECT 3, subject_kind, subject, 'none', '' FROM"
		" verdict WHERE rank=1; %s",
		start, named ? name : "");
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	return db;
}

static void other_servers_have_a_name_and_a_time(void **state)
{
	sqlite3 *db;

	(void)state;
	screen_says_of_others(
		with_another("3e9", true),
		"Problems of other servers: server[100]:80 (GET /x slower since 11:00:03.000);"
		" 1 more server without a problem (-a verdict).");
	screen_says_of_others(
		with_another("3e9", false),
		"Problems of other servers: server[100]:80 (slower since 11:00:03.000);"
		" 1 more server without a problem (-a verdict).");
	/* what is not judged is not healthy */
	db = with_another("3e9", false);
	assert_int_equal(
		sqlite3_exec(
			db,
			"UPDATE verdict SET status='unchanged' WHERE rank=2; UPDATE verdict SET"
			" status='unknown' WHERE rank=3",
			NULL, NULL, NULL),
		SQLITE_OK);
	screen_says_of_others(
		db, "1 more server without a change; 1 that cannot be judged (-a verdict).");
	screen_says_of_others(with_another("0", true),
			      "Problems of other servers: server[100]:80 (GET /x slower);"
			      " 1 more server without a problem (-a verdict).");
}

static void small_changes_are_none(void **state)
{
	sqlite3 *db = altered(50000, 200000, NULL);

	(void)state;
	is_verdict(db, "none", "");
	is_number(db, "SELECT slow IS NULL AND start IS NULL FROM verdict", 1);
	is_within(db, "SELECT number FROM finding_value WHERE name='small'", 100e3, 250e3);
	is_within(db, "SELECT number FROM finding_value WHERE name='from'", 0.9e9, 1.3e9);
	db_close(db);
	db = altered(50000, 200000, "INSERT INTO recording VALUES('limit_latency_ns', 50000)");
	is_verdict(db, "problem", "slower");
	db_close(db);
	db = altered(3 * MS, 3 * MS, NULL);
	is_verdict(db, "none", "");
	is_number(db, "SELECT count(number) FROM finding_value WHERE name='small'", 0);
	db_close(db);
	/* windows that the user named do not make it one */
	db = altered(3 * MS, 3 * MS,
		     "INSERT INTO recording VALUES('baseline_from', 0),"
		     "('baseline_to', 1000000000)");
	is_verdict(db, "none", "");
	db_close(db);
}

/* A pause, then requests that take 3 ms: together they wait for 0.3 s more. */
static sqlite3 *pause_and_slower(long pause, void (*one)(struct text *x, int fd, long work))
{
	struct text x = { 0 };
	int i;

	srand(3);
	head(&x);
	many(&x, 600, 100000, 2 * MS);
	many(&x, 1, pause, 2 * MS);
	for (i = 0; i < 110; i++) {
		one(&x, 5 + i % 3, 3 * MS - (rand() % 4 ? rand() % (3 * MS / 2) : 0));
		x.t += 2 * MS;
	}
	return judged(&x, NULL);
}

static void what_added_more_comes_first(void **state)
{
	sqlite3 *db = pause_and_slower(270 * MS, sleeping);

	(void)state;
	is_verdict(db, "problem", "slower");
	is_number(db, "SELECT pauses FROM verdict", 1);
	db_close(db);
	db = pause_and_slower(500 * MS, sleeping);
	is_verdict(db, "problem", "pauses");
	db_close(db);
}

/* It waits for its answer twice; between that its thread computes, for others. */
static void between_others(struct text *x, int fd, long wait, long others)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 3000, fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 3500);
	x->t += wait;
	text_line(x, "%ld 0 waking target=100\n%ld 0 switch next=100", x->t + 3600, x->t + 3700);
	x->t += others;
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 3800);
	x->t += wait;
	text_line(x, "%ld 0 waking target=100\n%ld 0 switch next=100", x->t + 3900, x->t + 4000);
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", x->t + 4500, fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 5000);
	x->t += 6000;
}

/* No pause makes later requests take more CPU time: that comes first, with the pause in its
 * sentence. */
static void dearer_requests_come_before_a_pause(void **state)
{
	struct text x = { 0 };
	sqlite3 *db = pause_and_slower(500 * MS, request);
	int i;

	(void)state;
	is_verdict(db, "problem", "slower");
	is_number(db, "SELECT pauses FROM verdict", 1);
	is_within(db, "SELECT number FROM finding_value WHERE name='longest'", 250e6, 510e6);
	/* since the pause, in which no request ended; it is no time range of its own */
	is_number(db, "SELECT v.start=p.ts FROM verdict v, pause p WHERE p.counts AND v.rank=1", 1);
	is_number(db, "SELECT count(*) FROM finding_value WHERE name='range'", 0);
	is_number(
		db,
		"SELECT count(*) FROM verdict_range WHERE start >= (SELECT ts + dur / 2 FROM pause WHERE counts)",
		1);
	db_close(db);
	/* not so: the requests of the pauses compute, those outside sleep */
	x = (struct text){ 0 };
	srand(3);
	head(&x);
	many(&x, 600, 100000, 2 * MS);
	for (i = 0; i < 160; i++, x.t += 2 * MS) {
		if (i % 40 == 0)
			request(&x, 8, 500 * MS);
		sleeping(&x, 5 + i % 3, 3 * MS - (rand() % 4 ? rand() % (3 * MS / 2) : 0));
	}
	db = judged(&x, NULL);
	is_verdict(db, "problem", "pauses");
	db_close(db);
	/* nor those that wait for 6 ms, during which the thread computes for others */
	x = (struct text){ 0 };
	srand(3);
	head(&x);
	many(&x, 600, 100000, 2 * MS);
	request(&x, 8, 2000 * MS);
	for (i = 0; i < 110; i++, x.t += 2 * MS)
		between_others(&x, 5 + i % 3, 3 * MS - (rand() % 4 ? rand() % MS : 0), 2 * MS);
	db = judged(&x, NULL);
	is_verdict(db, "problem", "pauses");
	db_close(db);
	/* nor are dearer requests the problem of a server that answers nothing until the end */
	x = (struct text){ 0 };
	srand(3);
	head(&x);
	many(&x, 600, 100000, 2 * MS);
	many(&x, 200, 4 * MS, 2 * MS);
	for (i = 5; i < 8; i++)
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x.t + i, i);
	x.t += 3000 * MS;
	db = judged(&x, NULL);
	is_verdict(db, "problem", "pauses");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_dearer_requests_wait_for_is_shown_too),
		cmocka_unit_test(a_missing_cause_is_said),
		T(slower_requests_are_a_problem),
		T(what_added_more_comes_first),
		T(dearer_requests_come_before_a_pause),
		T(the_range_is_that_of_most_added_latency),
		T(a_slow_start_hides_no_change),
		T(some_long_requests_are_slower_on_average),
		T(other_servers_have_a_name_and_a_time),
		T(small_changes_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
