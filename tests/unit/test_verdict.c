// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict*.c: what is a problem, and what is not. */
#include "tests/lib/unit.h"

#include "analyze/render/render.h"
#include "format/buf.h"
#include "tests/lib/judging.h"

#include <stdlib.h>

/* Healthy requests for 2 s, with `pauses` requests of `length` among them. */
static sqlite3 *paused(int pauses, long length, const char *facts)
{
	struct text x = { 0 };
	int i;

	srand(3);
	head(&x);
	many(&x, 600, 100000, MS);
	for (i = 0; i < pauses; i++) {
		request(&x, 8, length);
		many(&x, 300, 100000, MS);
	}
	many(&x, 600, 100000, MS);
	return judged(&x, facts);
}

static void a_healthy_server_is_reported_healthy(void **state)
{
	sqlite3 *db = paused(0, 0, NULL);

	(void)state;
	is_verdict(db, "none", "");
	is_number(db, "SELECT requests FROM verdict", 1200);
	is_below(db, "SELECT max FROM verdict", 200000);
	is_above(db, "SELECT p99 - p50 FROM verdict", 0);
	is_above(db, "SELECT max - p99 FROM verdict", -1);
	is_above(db, "SELECT idle FROM verdict", 80);
	is_below(db, "SELECT idle FROM verdict", 99);
	is_null(db, "SELECT start FROM verdict");
	is_null(db, "SELECT errors FROM verdict");
	is_text(db,
		"SELECT f.kind || ' ' || severity FROM finding f JOIN verdict v ON v.finding=f.id",
		"verdict_healthy 0");
	db_close(db);
}

static void a_pause_is_a_problem(void **state)
{
	sqlite3 *db = paused(2, 300 * MS, NULL);

	(void)state;
	is_verdict(db, "problem", "pauses");
	is_text(db, "SELECT pauses || ' ' || n FROM verdict", "2 2");
	assert_in_range(asked(db, "SELECT paused FROM verdict"), 600 * MS, 602 * MS);
	assert_in_range(asked(db, "SELECT max FROM verdict"), 300 * MS, 301 * MS);
	is_below(db, "SELECT p99_outside FROM verdict", 200000);
	/* 600 requests of about 1.08 ms before it */
	assert_in_range(asked(db, "SELECT start FROM verdict"), 640 * MS, 660 * MS);
	is_number(db,
		  "SELECT count(*) FROM finding WHERE kind='pause_cause' AND parent="
		  "(SELECT finding FROM verdict) AND evidence='OBSERVED'",
		  1);
	is_number(db,
		  "SELECT count(*) FROM finding_value WHERE name='client' AND"
		  " text='10.0.0.9:40008'",
		  1);
	db_close(db);
}

/* Two requests without an answer: the thread computes to the end, or waits for input. */
static sqlite3 *unanswered(bool idle)
{
	struct text x = { 0 };
	int i;

	srand(3);
	head(&x);
	many(&x, 600, 100000, MS);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=2",
		  x.t + 2000);
	for (i = 5; i < 7; i++)
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
			  x.t + 3000 + i, i);
	if (idle) {
		text_line(&x, "%ld 100 switch next=0 state=1", x.t + 5000);
		x.t += 500 * MS;
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 1000);
		text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=500 dur=%ld ret=0",
			  x.t + 2000, 500 * MS);
		x.t += 3000;
	} else {
		x.t += 500 * MS;
	}
	return judged(&x, NULL);
}

static void a_pause_need_not_end(void **state)
{
	sqlite3 *db = unanswered(false);

	(void)state;
	is_verdict(db, "problem", "pauses");
	is_within(db, "SELECT end - start FROM verdict", 499e6, 501e6);
	is_within(db, "SELECT number FROM finding_value WHERE name='at'", 650e6, 670e6);
	is_text(db, "SELECT text FROM finding_value WHERE name='lasts'", "lasts");
	db_close(db);
	db = unanswered(true);
	is_number(db, "SELECT count(*) FROM unanswered", 2);
	is_verdict(db, "none", "");
	db_close(db);
}

/*
 * Process 100 has a pause of 400 ms, in which one request waits. Process 200, all the time: n
 * requests of 0.1 ms, later n of `slow`.
 */
static sqlite3 *two_servers(int n, long slow)
{
	struct text x = { 0 };
	long t = MS;
	int i;

	srand(3);
	head(&x);
	text_line(&x, "@recorder\n40 200 thread pid=200 state=83 comm=\"other\"");
	text_line(&x, "41 200 fd pid=200 fd=5 mode=0140000 ino=2000 family=2 role=2 socktype=1"
		      " sport=90 dport=40100 saddr=127.0.0.1 daddr=10.0.0.9\n@cpu 1");
	for (i = 0; i < 2 * n; i++, t += MS) {
		text_line(&x, "%ld 200 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
		t += (i < n ? 100000 : slow) + rand() % 9000;
		text_line(&x, "%ld 200 syscall nr=write fd=5 ret=900 count=900 dur=200", t);
	}
	text_line(&x, "@cpu 0");
	many(&x, 600, 100000, MS);
	request(&x, 8, 400 * MS);
	many(&x, 600, 100000, MS);
	x.t = t > x.t ? t : x.t;
	return judged(&x, NULL);
}

static void the_server_that_harmed_its_clients_most_comes_first(void **state)
{
	static const char servers[] =
		"SELECT group_concat(s.name || ' ' || v.kind) FROM (SELECT * FROM verdict ORDER BY rank) v"
		" JOIN server s ON s.id=v.subject WHERE v.status='problem'";
	sqlite3 *db = two_servers(600, 5 * MS); /* 2.9 s against 0.4 s */

	(void)state;
	is_text(db, servers, "other[200]:90 slower,server[100]:80 pauses");
	db_close(db);
	db = two_servers(250, 1500000); /* 0.35 s */
	is_text(db, servers, "server[100]:80 pauses,other[200]:90 slower");
	db_close(db);
}

static void limits_decide(void **state)
{
	sqlite3 *db = paused(2, 300 * MS,
			     "INSERT INTO recording VALUES('limit_pause_ns', 400000000),"
			     "('limit_factor', 1.5)");

	(void)state;
	/* long no more, but far above p99 and much of the time */
	is_verdict(db, "problem", "pauses");
	db_close(db);
	db = paused(1, 12 * MS, NULL); /* below 1 % of the time */
	is_verdict(db, "none", "");
	assert_in_range(asked(db, "SELECT pause_max FROM verdict"), 12 * MS, 13 * MS);
	db_close(db);
	db = paused(1, 12 * MS, "INSERT INTO recording VALUES('limit_pause_ns', 11000000)");
	is_verdict(db, "problem", "pauses");
	db_close(db);
	db = paused(1, 60 * MS, NULL); /* more than 1 % of the time, but by one event */
	is_verdict(db, "none", "");
	db_close(db);
	db = paused(8, 30 * MS, NULL); /* short, but often */
	is_verdict(db, "problem", "pauses");
	is_number(db, "SELECT pauses FROM verdict", 8);
	db_close(db);
}

/* Each request takes 200 ms: nothing is answered in between, but that is its normal service. */
static void slow_service_is_no_pause(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	srand(3);
	head(&x);
	many(&x, 120, 200 * MS, MS);
	db = judged(&x, NULL);
	is_number(db, "SELECT count(*) FROM pause WHERE dur > 100000000", 120);
	is_verdict(db, "none", "");
	db_close(db);
}

/* Fast requests, then some that take 300 ms each, on four other connections: one ends each 75 ms.
 */
static void times_between_answers_that_take_long_are_no_pauses(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	long start;
	int i;

	(void)state;
	srand(3);
	head_of(&x, 8);
	many(&x, 900, 100000, MS);
	for (i = 0; i < 100; i++) {
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 1000);
		text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
			  x.t + 2000);
		if (i >= 4)
			text_line(&x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200",
				  x.t + 3000, 9 + i % 4);
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x.t + 4000,
			  9 + i % 4);
		text_line(&x, "%ld 100 switch next=0 state=1", x.t + 5000);
		start = x.t += 10000;
		many(&x, i < 4 ? 60 : 0, 100000, MS);
		x.t = start + 75 * MS;
	}
	db = judged(&x, NULL);
	is_verdict(db, "problem", "slower");
	is_number(db, "SELECT pauses FROM verdict", 0);
	db_close(db);
}

/* 0.1 ms, then `slow`; `pauses` more take 300 ms. hang: at the end three wait for 3 s. */
static sqlite3 *slower_with_pauses(int n, long slow, int pauses, bool hang)
{
	struct text x = { 0 };
	int i;

	srand(3);
	head(&x);
	many(&x, 600, 100000, MS);
	for (i = 0; i < pauses; i++)
		request(&x, 8, 300 * MS);
	for (i = 0; i < n; i++, x.t += MS) /* they sleep: dearer ones come first */
		sleeping(&x, 5 + i % 3, slow - (rand() % 4 ? rand() % (slow / 2) : 0));
	for (i = 5; hang && i < 8; i++)
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x.t + i, i);
	x.t += hang ? 3000 * MS : 0;
	return judged(&x, NULL);
}

/* Three requests wait through a pause of 15 ms, then one of 3 s: it is that of 3 s that they add.
 */
static void requests_belong_to_the_longest_of_their_pauses(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i, fd;

	(void)state;
	srand(3);
	head(&x);
	for (i = 0; i < 30; i++, request(&x, 5, 6 * MS)) /* p99: 6 ms */
		many(&x, 20, 100000, MS);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	for (fd = 5; fd < 9; fd++)
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
			  x.t + 2000 + fd, fd);
	for (fd = 5; fd < 9; fd++)
		text_line(&x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200",
			  x.t + 15 * MS + (fd > 5 ? 3000 * MS + fd : 0), fd);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 3016 * MS);
	x.t += 3020 * MS;
	many(&x, 600, 500000, 100000); /* sent while they waited */
	many(&x, 600, 100000, MS);
	db = judged(&x, NULL);
	is_verdict(db, "problem", "pauses");
	is_number(db, "SELECT pauses FROM verdict", 1);
	db_close(db);
}

static void what_added_more_time_comes_first(void **state)
{
	sqlite3 *db = slower_with_pauses(600, 4 * MS, 2, false); /* 1.7 s against 0.6 s */

	(void)state;
	is_verdict(db, "problem", "slower");
	db_close(db);
	db = slower_with_pauses(600, 4 * MS, 12, false); /* against 3.6 s */
	is_verdict(db, "problem", "pauses");
	db_close(db);
	/* 3 x 3 s of requests without an answer */
	db = slower_with_pauses(600, 4 * MS, 0, true);
	is_verdict(db, "problem", "pauses");
	db_close(db);
}

static void few_requests_are_not_enough(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	head(&x);
	many(&x, 30, 100000, MS);
	db = judged(&x, NULL);
	is_verdict(db, "unknown", "requests");
	db_close(db);
}

/* What the default report prints fits a terminal of 80 x 24, also with the worst names. */
static void the_screen_fits(void **state)
{
	struct render_options o = { .format = RENDER_TEXT, .width = 80, .name = "incident.obs" };
	static const int pauses[] = { 0, 3 };
	struct buf out = { 0 };
	struct err e = { 0 };
	int k, lines, wide, at;
	size_t i;

	(void)state;
	for (k = 0; k < 2; k++) {
		sqlite3 *db = paused(pauses[k], 300 * MS,
				     "INSERT INTO recording VALUES('host', 'a-host-with-a-name')");

		buf_clear(&out);
		assert_int_equal(render_report(&out, db, &o, &e), 0);
		for (i = 0, at = wide = lines = 0; i < out.len; i++) {
			at = out.data[i] == '\n' ? 0 : at + 1;
			lines += out.data[i] == '\n';
			wide = at > wide ? at : wide;
		}
		assert_true(lines <= 24);
		assert_true(wide <= 80);
		assert_non_null(strstr(out.data, pauses[k] ? "PROBLEM  " : "NO PROBLEM FOUND"));
		assert_true(!pauses[k] == !strstr(out.data, "WORST MOMENTS"));
		o.format = RENDER_MARKDOWN;
		buf_clear(&out);
		assert_int_equal(render_report(&out, db, &o, &e), 0);
		for (i = 0, lines = 0; i < out.len; i++)
			lines += out.data[i] == '\n';
		assert_true(lines <= 40);
		o.format = RENDER_TEXT;
		db_close(db);
	}
	buf_free(&out);
}

/* main > keys in the pauses, main > get elsewhere. */
static void a_pause_on_a_cpu_names_the_function(void **state)
{
	sqlite3 *db = paused(
		2, 300 * MS,
		"INSERT INTO module VALUES(1, 'file', '/srv/server', NULL, 0, 0);"
		"INSERT INTO frame(id, address, module) VALUES(1, 1, 1), (2, 2, 1), (3, 3, 1);"
		"INSERT INTO symbol VALUES(1, 'main', 0, NULL, 0, 1), (2, 'keys', 0, NULL, 0, 1),"
		" (3, 'get', 0, NULL, 0, 1);"
		"INSERT INTO stack VALUES(1, 0, 1), (2, 1, 2), (3, 1, 3);"
		"INSERT INTO sample SELECT ts + i.value * 1000000, tid, pid, 0, 10000000, 0, 2, 0, 0, NULL"
		" FROM request, json_each('[1,2,3,4,5]') i WHERE dur > 100000000;"
		"INSERT INTO sample SELECT ts + 1000, tid, pid, 0, 10000000, 0, 3, 0, 0, NULL FROM"
		" request WHERE dur < 100000000");

	(void)state;
	is_text(db, FINDING_VALUE("pause_cause", "function", "v.text"), "main > keys");
	is_number(db, FINDING_VALUE("pause_cause", "samples", "v.number"), 10);
	db_close(db);
}

/* main > loop > handler, and of three in five samples > parse > next > copy, else > other. */
static void the_function_that_has_most_is_first(void **state)
{
	sqlite3 *db = paused(
		2, 300 * MS,
		"INSERT INTO module VALUES(1, 'file', '/srv/server', NULL, 0, 0);"
		"INSERT INTO frame(id, address, module) SELECT value, value, 1 FROM json_each('[1,2,3,4,5,6,7]');"
		"INSERT INTO symbol VALUES(1, 'main', 0, NULL, 0, 1), (2, 'loop', 0, NULL, 0, 1),"
		" (3, 'handler', 0, NULL, 0, 1), (4, 'parse', 0, NULL, 0, 1), (5, 'next', 0, NULL, 0, 1),"
		" (6, 'copy', 0, NULL, 0, 1), (7, 'other', 0, NULL, 0, 1);"
		"INSERT INTO stack VALUES(1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4), (5, 4, 5), (6, 5, 6),"
		" (7, 3, 7);"
		"INSERT INTO sample SELECT ts + i.value * 1000000, tid, pid, 0, 10000000, 0,"
		" iif(i.value <= 3, 6, 7), 0, 0, NULL FROM request, json_each('[1,2,3,4,5]') i"
		" WHERE dur > 100000000");

	(void)state;
	is_text(db, FINDING_VALUE("pause_cause", "function", "v.text"),
		"handler > ... > next > copy");
	db_close(db);
}

/* 400 ms, then two of 300 ms. Of each so many samples: main > fork of the first,
 * main > get of the others. */
static sqlite3 *paused_differently(int of_longest, int of_others)
{
	struct buf sql = { 0 };
	struct text x = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	assert_int_equal(
		buf_printf(
			&sql, &e,
			"INSERT INTO module VALUES(1, 'file', '/srv/server', NULL, 0, 0);"
			"INSERT INTO frame(id, address, module) VALUES(1, 1, 1), (2, 2, 1), (3, 3, 1);"
			"INSERT INTO symbol VALUES(1, 'main', 0, NULL, 0, 1), (2, 'fork', 0, NULL, 0, 1),"
			" (3, 'get', 0, NULL, 0, 1);"
			"INSERT INTO stack VALUES(1, 0, 1), (2, 1, 2), (3, 1, 3);"
			"INSERT INTO sample SELECT ts + i.value * 1000000, tid, pid, 0, 10000000, 0,"
			" iif(dur > 350000000, 2, 3), 0, 0, NULL FROM request JOIN json_each('[1,2,3,4,5,6,7,8]')"
			" i ON i.value <= iif(dur > 350000000, %d, %d) WHERE dur > 100000000",
			of_longest, of_others),
		0);
	srand(3);
	head(&x);
	many(&x, 600, 100000, MS);
	for (i = 0; i < 3; i++) {
		request(&x, 8, i ? 300 * MS : 400 * MS);
		many(&x, 300, 100000, MS);
	}
	db = judged(&x, sql.data);
	buf_free(&sql);
	return db;
}

static void what_ran_in_the_longest_pause_is_named(void **state)
{
	sqlite3 *db = paused_differently(6, 5);

	(void)state;
	is_text(db, FINDING_VALUE("pause_cause", "function", "v.text"), "main > fork");
	is_text(db, FINDING_VALUE("pause_cause", "sampled", "v.text"), "the longest pause");
	is_number(db, FINDING_VALUE("pause_cause", "samples", "v.number"), 6);
	db_close(db);
	db = paused_differently(4, 8); /* too few */
	is_text(db, FINDING_VALUE("pause_cause", "function", "v.text"), "main > get");
	is_number(db, FINDING_VALUE("pause_cause", "samples", "v.number"), 20);
	is_number(db, FINDING_VALUE("pause_cause", "sampled", "count(v.text)"), 0);
	db_close(db);
}

/* One pause has its time in the worst moments. */
static void pauses_have_a_range(void **state)
{
	sqlite3 *db = paused(2, 300 * MS, "");

	(void)state;
	is_like(db, "SELECT sentence(finding) FROM verdict", "2 pauses from % to %: nothing%");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_healthy_server_is_reported_healthy),
		T(a_pause_is_a_problem),
		T(a_pause_need_not_end),
		T(the_server_that_harmed_its_clients_most_comes_first),
		T(limits_decide),
		T(times_between_answers_that_take_long_are_no_pauses),
		T(slow_service_is_no_pause),
		T(requests_belong_to_the_longest_of_their_pauses),
		T(what_added_more_time_comes_first),
		T(few_requests_are_not_enough),
		T(a_pause_on_a_cpu_names_the_function),
		T(the_function_that_has_most_is_first),
		T(what_ran_in_the_longest_pause_is_named),
		T(the_screen_fits),
		T(pauses_have_a_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
