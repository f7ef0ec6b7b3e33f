// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_tail.c: more late requests, while the typical one is as fast as
 * before.
 */
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

#include <stdio.h>

#define N    (4 * REQUESTS)
#define MS   1000000L
#define LATE "SELECT count(*) FROM finding_value WHERE name='late' AND number BETWEEN 9 AND 11"

/* A tenth of the requests from `from` on, unevenly, has the fault. */
static sqlite3 *tenth(fault_fn fault, int from)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	for (i = 0; i < N; i++)
		script_request(&s, BEGIN + i * PERIOD,
			       i >= from && i * 37 % 101 < 10 ? fault : NULL);
	db = script_play(&s, "all", BEGIN + N * (long)PERIOD, NULL);
	return analysed(db, NULL);
}

/* A neighbour has the CPU for long. */
static long waits(struct script *s, long t, long ns)
{
	script_line(s, 0, "%ld 100 switch next=200 flags=1 prio=120", t);
	script_line(s, 0, "%ld 200 switch next=100 flags=1 prio=120", t + ns);
	return t + ns;
}

static long waits_long(struct script *s, long t)
{
	return waits(s, t, 4 * MS);
}

static long waits_briefly(struct script *s, long t)
{
	return waits(s, t, MS / 2);
}

static long waits_for_its_own(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 waking target=101 cpu=0 context=2", t - 1000);
	script_line(s, 0, "%ld 100 switch next=101 flags=1 prio=120", t);
	script_line(s, 0, "%ld 101 switch next=100 state=1", t + 4 * MS);
	return t + 4 * MS;
}

static long computes_long(struct script *s, long t)
{
	(void)s;
	return t + 4 * MS;
}

static long sent_in_parts(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	t += 4 * MS;
	script_line(s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
	script_line(s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
	script_line(s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=%ld ret=1 flags=1",
		    t + 2000, 4 * MS);
	script_line(s, 0, "%ld 100 syscall nr=read fd=5 dur=2000 ret=10", t + 5000);
	return t + 10000;
}

static void is_none(sqlite3 *db, int late)
{
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "none");
	is_number(db, LATE, late);
	db_close(db);
}

static void late_requests_since_a_time_are_a_problem(void **state)
{
	sqlite3 *db = tenth(waits_long, N / 2);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem tail");
	is_within(db, "SELECT start FROM verdict", N / 2 * (long)PERIOD - 100 * MS,
		  N / 2 * (long)PERIOD + 100 * MS);
	is_within(db,
		  "SELECT number FROM finding_value WHERE name='share' AND finding=(SELECT finding"
		  " FROM verdict WHERE rank=1)",
		  9, 11);
	is_number(db,
		  "SELECT number FROM finding_value WHERE name='before' AND finding=(SELECT finding"
		  " FROM verdict WHERE rank=1)",
		  0);
	is_above(db, "SELECT n FROM verdict WHERE rank=1", 20);
	first_is(db, "cpu_contender", "burner[200]", "basis='change'");
}

/* All the time: nothing to compare with; the share of late requests is in the finding. */
static void late_requests_all_the_time_are_said(void **state)
{
	sqlite3 *db = tenth(waits_long, 0);

	(void)state;
	is_text(db, "SELECT kind || ' ' || basis FROM cause WHERE rank=1", "cpu_contender tail");
	is_none(db, 1);
}

static void waits_for_a_lock_or_a_disk_are_a_problem(void **state)
{
	const fault_fn faults[] = { held_lock, slow_disk, slow_peer };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		sqlite3 *db = tenth(faults[i], N / 2);

		is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1",
			"problem tail");
		db_close(db);
	}
}

/* Late by dearer requests, by the server's own threads, or by the client. */
static void late_requests_without_waits_for_others_are_no_problem(void **state)
{
	(void)state;
	is_none(tenth(computes_long, N / 2), 0);
	is_none(tenth(waits_for_its_own, N / 2), 0);
	is_none(tenth(sent_in_parts, N / 2), 0);
}

static void brief_waits_make_none_late(void **state)
{
	(void)state;
	is_none(tenth(waits_briefly, N / 2), 0);
	is_none(tenth(NULL, 0), 0);
}

/* One in a hundred at most: as before. */
static void few_late_requests_are_no_problem(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < N; i++)
		script_request(&s, BEGIN + i * PERIOD, i % 120 == 119 ? waits_long : NULL);
	db = script_play(&s, "all", BEGIN + N * (long)PERIOD, NULL);
	analysed(db, NULL);
	is_none(db, 0);
}

/* Three late requests in three windows next to each other are three events: chance. */
static void three_events_are_chance(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < N; i++)
		script_request(&s, BEGIN + i * PERIOD,
			       (i >= N / 2 && i < N / 2 + 30 && i % 10 == 5) || i % 300 == 7
				       ? waits_long
				       : NULL);
	db = script_play(&s, "all", BEGIN + N * (long)PERIOD, NULL);
	analysed(db, NULL);
	is_none(db, 0);
}

/* Frequent for a while, but fewer than one in a hundred of all. */
static void a_short_burst_is_no_problem(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < 4 * N; i++)
		script_request(&s, BEGIN + i * PERIOD,
			       i >= N && i < N + 90 && i % 3 == 0 ? waits_long : NULL);
	db = script_play(&s, "all", BEGIN + 4 * N * (long)PERIOD, NULL);
	analysed(db, NULL);
	is_none(db, 0);
}

#define CONNS	  40
#define FIRST_FD  10
#define EVERY	  5
#define ELSEWHERE (6 * PERIOD)

static void add_connections(struct script *s, char *facts, size_t size)
{
	size_t n = 0;
	int i;

	for (i = 0; i < CONNS; i++)
		n += (size_t)snprintf(facts + n, size - n,
				      "110 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2"
				      " sport=80 saddr=127.0.0.1\n",
				      FIRST_FD + i, 100 + i);
	s->facts = facts;
}

static void move(struct script *s, long t, const char *call, int fd)
{
	script_line(s, 0, "%ld 100 syscall nr=%s fd=%d dur=2000 ret=10", t, call, fd);
}

/* A request whose answer waits for another host, while the thread answers others. */
static void at_once_or_elsewhere(struct script *s, long i, bool asks, bool answered, long quick)
{
	long t = BEGIN + i * PERIOD;

	script_line(s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
	script_line(s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
	script_line(s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=1000 ret=1 flags=1",
		    t + 2000);
	if (asks)
		move(s, t + 5000, "read", FIRST_FD + i / EVERY % CONNS);
	if (answered)
		move(s, t + 10000, "write", FIRST_FD + (i - ELSEWHERE / PERIOD) / EVERY % CONNS);
	move(s, t + 15000, "read", 5);
	move(s, t + 15000 + quick, "write", 5);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t + 20000 + quick);
}

/*
 * They overlap all the time; those that pass them show that it is no one stall. As others are
 * answered sooner than before, the level stays.
 */
static void overlapping_requests_that_others_pass_are_separate(void **state)
{
	char facts[CONNS * 120];
	struct script s = { 0 };
	sqlite3 *db;
	long i, before = ELSEWHERE / PERIOD;

	(void)state;
	add_connections(&s, facts, sizeof(facts));
	for (i = 0; i < N; i++)
		at_once_or_elsewhere(&s, i, i >= N / 2 && i % EVERY == 0,
				     i - before >= N / 2 && (i - before) % EVERY == 0,
				     i < N / 2 ? 4400000 : 100000);
	db = script_play(&s, "all", BEGIN + N * (long)PERIOD, NULL);
	analysed(db, NULL);
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem tail");
	is_above(db,
		 "SELECT number FROM finding_value WHERE name='events' AND finding=(SELECT finding"
		 " FROM verdict WHERE rank=1)",
		 30);
	db_close(db);
}

/* Requests of many clients wait for one stall, and for those before them. */
static void one_stall_with_its_queue_is_one_event(void **state)
{
	char facts[CONNS * 120];
	struct script s = { 0 };
	sqlite3 *db;
	long i, t;
	int k;

	(void)state;
	add_connections(&s, facts, sizeof(facts));
	for (i = 0; i < N; i++) {
		if (i < N / 2 || i >= N / 2 + 45)
			script_request(&s, BEGIN + i * PERIOD, NULL);
		if (i != N / 2)
			continue;
		t = BEGIN + i * PERIOD;
		script_line(&s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
		script_line(&s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
		for (k = 0; k < CONNS; k++)
			move(&s, t + 5000 + k * 5000, "read", FIRST_FD + k);
		t = waits(&s, t + 300000, 20 * MS);
		for (k = 0; k < CONNS; k++)
			move(&s, t += PERIOD, "write", FIRST_FD + k);
		script_line(&s, 0, "%ld 100 switch next=0 state=1", t + 10000);
	}
	db = script_play(&s, "all", BEGIN + N * (long)PERIOD, NULL);
	analysed(db, NULL);
	is_none(db, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(late_requests_since_a_time_are_a_problem),
		T(late_requests_all_the_time_are_said),
		T(waits_for_a_lock_or_a_disk_are_a_problem),
		T(late_requests_without_waits_for_others_are_no_problem),
		T(brief_waits_make_none_late),
		T(few_late_requests_are_no_problem),
		T(three_events_are_chance),
		T(a_short_burst_is_no_problem),
		T(overlapping_requests_that_others_pass_are_separate),
		T(one_stall_with_its_queue_is_one_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
