// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_say.c: who keeps the thread of a pause off the CPU, a quota or a
 * thread.
 */
#include "tests/lib/pausing.h"
#include "tests/lib/screened.h"

#include <string.h>

/* Thread 300 has the CPU for 300 ms while 100 has a request, after 100 ran for some time; the quota
 * stopped its cgroup for so long. */
static sqlite3 *waited(long ran, const char *throttled)
{
	struct text x = { 0 };
	sqlite3 *db;

	head_in_cgroup(&x, "neighbour");
	text_line(&x, "36 0 throttle cgroup=7 quota=1000000 period=100000000\n@cpu 0");
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t + 3000);
	x.t += ran;
	text_line(&x, "%ld 100 switch next=300", x.t + 10000);
	x.t += 300 * MS;
	text_line(&x, "%ld 300 switch next=100 state=1", x.t);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t + 2000);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 4000);
	x.t += MS;
	many(&x, 100, 600, MS);
	text_line(&x,
		  "@recorder\n%ld 0 throttle cgroup=7 quota=1000000 period=100000000 periods=15%s",
		  x.t - MS, throttled);
	db = answered(&x);
	analysed(db, "verdict");
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
	return db;
}

static sqlite3 *preempted(const char *throttled)
{
	sqlite3 *db = waited(0, throttled);

	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a CPU");
	return db;
}

static void a_quota_that_stopped_the_thread_is_named(void **state)
{
	sqlite3 *db = preempted(" throttled=4 time=290000000");

	(void)state;
	is_number(db, CAUSE_VALUE("v.id", "quota"), 7);
	is_number(db, CAUSE_VALUE("v.number", "throttled"), 4);
	is_number(db, CAUSE_VALUE("total(v.id)", "contender"), 0);
	is_text(db, "SELECT evidence FROM finding WHERE kind='pause_cause'", "OVERLAP");
	db_close(db);
}

/* Never, or for a tenth of the time in which the neighbour ran. */
static void a_quota_that_stopped_it_little_is_not(void **state)
{
	static const char *const cases[] = { "", " throttled=1 time=30000000" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = preempted(cases[i]);

		is_number(db, CAUSE_VALUE("total(v.id)", "quota"), 0);
		is_number(db, CAUSE_VALUE("v.id", "contender"), 300);
		is_text(db, "SELECT evidence FROM finding WHERE kind='pause_cause'", "OBSERVED");
		db_close(db);
	}
}

/* It ran longer than it waited: what had the CPU, and the quota, are named as well. */
static void a_second_wait_for_a_cpu_is_explained(void **state)
{
	sqlite3 *db = waited(400 * MS, "");

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "on CPU");
	is_text(db, CAUSE_VALUE("v.text", "second"), "waiting for a CPU");
	is_number(db, CAUSE_VALUE("v.id", "contender"), 300);
	is_number(db, CAUSE_VALUE("round(v.number)", "contender_share"), 100);
	is_number(db, CAUSE_VALUE("total(v.id)", "forked_by"), 0);
	db_close(db);
	db = waited(400 * MS, " throttled=4 time=290000000");
	is_number(db, CAUSE_VALUE("v.id", "quota"), 7);
	is_number(db, CAUSE_VALUE("total(v.id)", "contender"), 0);
	is_text(db, "SELECT evidence FROM finding WHERE kind='pause_cause'", "OBSERVED");
	db_close(db);
}

/* Four processes of one program have the CPU in turn, then one of another for longer than each. */
static sqlite3 *in_turn(int parent)
{
	struct text x = { 0 };
	int i;

	head_in_cgroup(&x, "neighbour");
	for (i = 301; i < 305; i++)
		text_line(&x, "36 %d thread pid=%d parent=%d state=83 comm=\"job\"", i, i, parent);
	text_line(&x, "@cpu 0");
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t + 3000);
	for (i = 301; i < 306; i++) {
		text_line(&x, "%ld 100 switch next=%d", x.t += MS, i < 305 ? i : 300);
		x.t += (i < 305 ? 60 : 70) * MS;
		text_line(&x, "%ld %d switch next=100 state=1", x.t, i < 305 ? i : 300);
	}
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t + 2000);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 4000);
	x.t += MS;
	many(&x, 100, 600, MS);
	return analysed(answered(&x), "verdict");
}

static void short_processes_of_one_program_are_one(void **state)
{
	sqlite3 *db = in_turn(50);

	(void)state;
	is_text(db, CAUSE_VALUE("v.kind", "contender"), "program");
	is_within(db, CAUSE_VALUE("v.id", "contender"), 301, 304);
	is_number(db, CAUSE_VALUE("v.number", "contender_processes"), 4);
	is_number(db, CAUSE_VALUE("round(v.number)", "contender_share"), 77);
	db_close(db);
	/* services of the same name, which nothing but init started */
	db = in_turn(1);
	is_text(db, CAUSE_VALUE("v.kind", "contender"), "thread");
	is_number(db, CAUSE_VALUE("v.id", "contender"), 300);
	db_close(db);
}

static void what_has_the_cpu_has_its_function(void **state)
{
	static const char samples[] =
		"INSERT INTO module VALUES(1, 'file', '/srv/neighbour', NULL, 0, 0);"
		"INSERT INTO frame(id, address, module) VALUES(1, 1, 1), (2, 2, 1);"
		"INSERT INTO symbol VALUES(1, 'main', 0, NULL, 0, 1), (2, 'compact', 0, NULL, 0, 1);"
		"INSERT INTO stack VALUES(1, 0, 1), (2, 1, 2);"
		"INSERT INTO sample SELECT ts + i.value * 10000000, 300, 300, 0, 10000000, 0, 2, 0, 0, NULL"
		" FROM pause, json_each('[1,2,3,4,5,6]') i WHERE counts";
	sqlite3 *db = waited(0, "");
	struct err e = { 0 };

	(void)state;
	is_number(db, CAUSE_VALUE("count(v.text)", "contender_function"), 0);
	assert_int_equal(db_exec(db, &e, samples), 0);
	analysed(db, "verdict");
	is_text(db, CAUSE_VALUE("v.text", "contender_function"), "main > compact");
	db_close(db);
}

/* A short wait is no part of what it did. */
static void a_short_wait_for_a_cpu_names_nothing(void **state)
{
	sqlite3 *db = waited(2000 * MS, "");

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "on CPU");
	is_number(db, CAUSE_VALUE("total(v.id)", "contender"), 0);
	db_close(db);
}

static void a_child_that_has_the_cpu_is_called_so(void **state)
{
	sqlite3 *db = waited(400 * MS, "");
	struct err e = { 0 };

	(void)state;
	assert_int_equal(db_exec(db, &e, "UPDATE process SET parent=100 WHERE pid=300"), 0);
	analysed(db, "verdict");
	is_number(db, CAUSE_VALUE("v.id", "forked_by"), 100);
	db_close(db);
}

/*
 * The server's requests were dearer from start to end (ns), in function scan: cause 9001 of table
 * cause.
 */
static sqlite3 *dearer(const char *throttled, const char *load, const char *start, const char *end)
{
	struct buf sql = { 0 };
	struct err e = { 0 };
	sqlite3 *db = preempted(throttled);

	assert_int_equal(
		buf_printf(
			&sql, &e,
			"INSERT INTO finding(rowid, id, analysis, kind, evidence, parent, subject_kind,"
			" subject) SELECT 9001, 9001, 'causes', 'cause_self', 'OBSERVED', 0, 'server', subject FROM"
			" verdict WHERE rank=1 UNION ALL SELECT 9002, 9002, 'causes', '%s', 'OBSERVED', 9001, 'server',"
			" subject FROM verdict WHERE rank=1;"
			"INSERT INTO finding_value(finding, seq, name, number, text) VALUES(9001, 1,"
			" 'in', 93, NULL), (9001, 2, 'function', NULL, 'main > scan'), (9001, 3, 'samples', 78,"
			" NULL), (9001, 4, 'contribution', 85, NULL), (9001, 5, 'time', NULL, 'added latency');"
			"INSERT INTO cause(finding, rank, kind, category, path, subject_kind, subject, start,"
			" end) SELECT 9001, 1, 'self', 'cpu', 'main > scan', 'server', v.subject, %s, %s FROM"
			" verdict v, pause p WHERE v.rank=1 AND p.id=1",
			load, start, end),
		0);
	assert_int_equal(db_exec(db, &e, sql.data), 0);
	buf_free(&sql);
	return db;
}

/* Waiting for a CPU is what dearer requests do to each other. */
static void dearer_requests_at_the_same_time_are_shown(void **state)
{
	(void)state;
	assert_true(screen_names(dearer("", "load_dearer", "p.ts - 1000", "p.ts + 2 * p.dur"),
				 "main > scan"));
	assert_false(screen_names(dearer("", "load_more", "p.ts - 1000", "p.ts + 2 * p.dur"),
				  "main > scan"));
	assert_false(screen_names(dearer("", "load_dearer", "p.ts + 2 * p.dur", "p.ts + 3 * p.dur"),
				  "main > scan"));
	assert_false(screen_names(dearer(" throttled=4 time=290000000", "load_dearer",
					 "p.ts - 1000", "p.ts + 2 * p.dur"),
				  "main > scan"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_that_stopped_the_thread_is_named),
		cmocka_unit_test(a_quota_that_stopped_it_little_is_not),
		cmocka_unit_test(a_second_wait_for_a_cpu_is_explained),
		cmocka_unit_test(short_processes_of_one_program_are_one),
		cmocka_unit_test(what_has_the_cpu_has_its_function),
		cmocka_unit_test(a_short_wait_for_a_cpu_names_nothing),
		cmocka_unit_test(a_child_that_has_the_cpu_is_called_so),
		cmocka_unit_test(dearer_requests_at_the_same_time_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
