// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_busy.c: a host that other programs keep busy all the time, and
 * the look-alikes that are an incident: a neighbour that came, a wait for something else, long
 * waits.
 */
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

#define NO_IDLE \
	"INSERT INTO cpu_time VALUES(0, 500000000, 0, 490000000, 0, 0, 10000000, 0, 0, 0, 0)"
#define HALF "INSERT INTO cpu_time VALUES(0, 500000000, 0, 250000000, 0, 0, 250000000, 0, 0, 0, 0)"

/* The second half of the requests has the fault. */
static sqlite3 *judged(fault_fn fault, const char *facts)
{
	sqlite3 *db = slowed(fault, 0, "all", NULL);

	return analysed(changed(db, facts), NULL);
}

static void is(sqlite3 *db, const char *status, const char *kind, int busy)
{
	is_text(db, "SELECT status FROM verdict WHERE rank=1", status);
	is_text(db, "SELECT kind FROM verdict WHERE rank=1", kind);
	is_number(db, "SELECT count(*) FROM finding_value WHERE name='busy'", busy);
	db_close(db);
}

static void a_busy_host_is_no_incident(void **state)
{
	(void)state;
	is(judged(preempted, NO_IDLE), "none", "", 1);
}

static void a_neighbour_that_came_is_one(void **state)
{
	(void)state;
	is(judged(preempted, HALF), "problem", "slower", 0);
	is(judged(preempted, "SELECT 1"), "problem", "slower", 0); /* it is not known */
}

static void another_wait_is_one(void **state)
{
	(void)state;
	is(judged(slow_disk, NO_IDLE), "problem", "slower", 0);
	is(judged(held_lock, NO_IDLE), "problem", "slower", 0);
}

static long computes_and_waits(struct script *s, long t)
{
	t = computes(s, t);
	script_line(s, 0, "%ld 100 switch next=200 flags=1 prio=120", t);
	script_line(s, 0, "%ld 200 switch next=100 flags=1 prio=120", t + 2500000);
	return t + 2500000;
}

static long waits_for_longer(struct script *s, long t)
{
	return preempted(s, preempted(s, t));
}

/* Requests that need more CPU time are queued for longer; a host does not change that. */
static void dearer_requests_are_one(void **state)
{
	(void)state;
	is(judged(computes_and_waits, NO_IDLE), "problem", "slower", 0);
	is(judged(waits_for_longer, NO_IDLE), "none", "", 1);
}

/* Too little for dearer requests, but with the waits most of the time of the thread. */
static long computes_and_is_preempted(struct script *s, long t)
{
	return preempted(s, t + 900000);
}

/* The thread sleeps for a moment, and others have its CPU when it wakes. */
static long computes_and_wakes_late(struct script *s, long t)
{
	t += 900000;
	script_line(s, 0, "%ld 100 switch next=200 state=1", t);
	script_line(s, 0, "%ld 0 waking target=100 cpu=0 context=2", t + 10000);
	script_line(s, 0, "%ld 200 switch next=100", t + 2000000);
	script_line(s, 0, "%ld 100 syscall_args nr=clock_nanosleep dur=%d", t + 2001000, 2000000);
	return t + 2002000;
}

/* What it waits for is more CPU time than its share. */
static void a_server_that_wants_more_is_one(void **state)
{
	(void)state;
	is(judged(computes_and_is_preempted, NO_IDLE), "problem", "slower", 0);
	is(judged(computes_and_wakes_late, NO_IDLE), "none", "", 1);
}

static long computes_a_little(struct script *s, long t)
{
	(void)s;
	return t + 900000;
}

/* Requests come in bursts, later one after the other: each costs as much CPU time as before. */
static void more_requests_are_no_more_cpu_time(void **state)
{
	struct script s = { .facts = NULL };
	long t = BEGIN;
	int i;

	(void)state;
	for (i = 0; i < REQUESTS; i++, t += PERIOD) {
		bool later = i >= REQUESTS / 2;

		t += !later && i % 10 == 0 ? 40 * (long)PERIOD : 0;
		script_request(&s, t, later ? computes_and_is_preempted : computes_a_little);
	}
	is(analysed(changed(script_play(&s, "all", t, NULL), NO_IDLE), NULL), "none", "", 1);
}

/* The thread runs for 1.5 ms of no request, as for a handshake. */
static void works_between(struct script *s, long t)
{
	script_line(s, 0, "%ld 0 waking target=100", t);
	script_line(s, 0, "%ld 0 switch next=100", t + 1000);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t + 1501000);
}

/* Such work delays requests as dearer ones do. What is as much as before of each second does not.
 */
static void work_between_requests_is_one(void **state)
{
	struct script s = { .facts = NULL }, steady = { .facts = NULL };
	long t = BEGIN;
	int i;

	(void)state;
	for (i = 0; i < REQUESTS; i++, t += PERIOD) {
		script_request(&s, t, i < REQUESTS / 2 ? NULL : preempted);
		if (i >= REQUESTS / 2)
			works_between(&s, t + PERIOD / 2);
		if (i < REQUESTS / 2 || i % 2)
			script_request(&steady, t, i < REQUESTS / 2 ? NULL : preempted);
		works_between(&steady, t + PERIOD / 2);
	}
	is(analysed(changed(script_play(&s, "all", t, NULL), NO_IDLE), NULL), "problem", "slower",
	   0);
	is(analysed(changed(script_play(&steady, "all", t, NULL), NO_IDLE), NULL), "none", "", 1);
}

/* As much as a pause that counts adds; or the user named the time. */
static void clients_that_are_hurt_are_one(void **state)
{
	(void)state;
	is(judged(preempted, NO_IDLE "; INSERT INTO recording VALUES('limit_pause_ns', 20000000)"),
	   "problem", "slower", 0);
	is(judged(preempted,
		  NO_IDLE "; INSERT INTO recording VALUES('baseline_from', 0),('baseline_to',"
			  " 600000000)"),
	   "problem", "slower", 0);
}

/* A short wait for the disk; other programs have the CPU until then, or for longer. */
static long waits_for_disk(struct script *s, long t, long on)
{
	script_line(s, 0, "%ld 100 block_start request=1 dev=0xfe00000 bytes=4096 sector=8",
		    t - 400);
	script_line(s, 0, "%ld 100 switch next=200 state=2 flags=2", t);
	script_line(s, 1, "%ld 0 block_issue request=1 dev=0xfe00000 bytes=4096 sector=8", t + 100);
	script_line(s, 1, "%ld 0 block_complete request=1 dev=0xfe00000 bytes=4096 sector=8",
		    t + 400000);
	script_line(s, 1, "%ld 0 waking target=100 cpu=0 context=2", t + 401000);
	script_line(s, 0, "%ld 200 switch next=100", t + on);
	return t + on + 1000;
}

static long disk_and_wakes(struct script *s, long t)
{
	return waits_for_disk(s, t, 500000);
}

static long disk_and_wakes_late(struct script *s, long t)
{
	return waits_for_disk(s, t, 2000000);
}

/* A wait for the CPU after a wait for the disk that is new is due to the disk. */
static void waits_after_new_waits_for_a_disk_are_one(void **state)
{
	sqlite3 *db = judged(disk_and_wakes_late, NO_IDLE);

	(void)state;
	is_within(db, FINDING_VALUE("verdict_disk_waits", "n", "v.number"), 0.9, 1);
	is_within(db, FINDING_VALUE("verdict_disk_waits", "part", "v.number"), 90, 100);
	is(db, "problem", "slower", 0);
	/* the disk was not waited for more often */
	db = judged(preempted, HALF);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_disk_waits'", 0);
	is(db, "problem", "slower", 0);
	is(analysed(changed(halves(disk_and_wakes, disk_and_wakes_late, NULL), NO_IDLE), NULL),
	   "none", "", 1);
}

/* Each request waits for the CPU, later for twice as long; the next one comes after a gap. */
static sqlite3 *queued(long gap)
{
	struct script s = { .facts = NULL };
	long t = BEGIN;
	int i;

	for (i = 0; i < REQUESTS; i++) {
		script_line(&s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
		t += i < REQUESTS / 2 ? 2500000 : 5000000;
		script_line(&s, 0, "%ld 200 switch next=100 prio=120", t);
		script_line(&s, 0,
			    "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=%ld ret=1 flags=1",
			    t + 1000, i < REQUESTS / 2 ? 2502000L : 5002000L);
		script_line(&s, 0, "%ld 100 syscall nr=read fd=5 dur=2000 ret=10", t + 4000);
		script_line(&s, 0, "%ld 100 syscall nr=write fd=5 dur=2000 ret=10", t + 10000);
		script_line(&s, 0, "%ld 100 switch next=200 state=1", t + 12000);
		t += 13000 + gap;
	}
	return analysed(changed(script_play(&s, "all", t, NULL), NO_IDLE), NULL);
}

/* Other programs have the CPUs, but one waits to be read all the time: that is no health. */
static void a_queue_for_all_of_the_time_is_said(void **state)
{
	(void)state;
	is(queued(0), "unchanged", "queue", 0);
	is(queued(1000000), "none", "", 1);
}

/* A tracer lets it go on after each of its calls, by a wakeup; others have the CPU until then. */
static long traced(struct script *s, long t, int stops, long waits)
{
	int i;

	for (i = 0; i < stops; i++, t += 50000 + waits) {
		script_line(s, 0, "%ld 100 switch next=200 state=8", t);
		script_line(s, 1, "%ld 0 switch next=400", t + 10000);
		script_line(s, 1, "%ld 400 waking target=100 cpu=0", t + 20000);
		script_line(s, 1, "%ld 400 switch next=0 state=1", t + 30000);
		script_line(s, 0, "%ld 200 switch next=100", t + 40000 + waits);
	}
	return t;
}

static long traced_at_each_call(struct script *s, long t)
{
	return traced(s, t, 6, 400000);
}

/* A debugger attaches once, and leaves at once. */
static long preempted_once_traced(struct script *s, long t)
{
	t = preempted(s, t);
	return t > BEGIN + (REQUESTS * 3 / 4) * (long)PERIOD &&
			       t < BEGIN + (REQUESTS * 3 / 4 + 1) * (long)PERIOD
		       ? traced(s, t, 1, 1000)
		       : t;
}

/* It waits for a CPU after each stop: that is of the tracer, not of the host. */
static void stops_by_a_tracer_are_one(void **state)
{
	sqlite3 *db = judged(traced_at_each_call, NO_IDLE);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	first_is(db, "stopped", "reader[400]", "contribution > 0.9");
	is(judged(preempted_once_traced, NO_IDLE), "none", "", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_host_is_no_incident),
		cmocka_unit_test(a_neighbour_that_came_is_one),
		cmocka_unit_test(another_wait_is_one),
		cmocka_unit_test(dearer_requests_are_one),
		cmocka_unit_test(a_server_that_wants_more_is_one),
		cmocka_unit_test(more_requests_are_no_more_cpu_time),
		cmocka_unit_test(work_between_requests_is_one),
		cmocka_unit_test(clients_that_are_hurt_are_one),
		cmocka_unit_test(waits_after_new_waits_for_a_disk_are_one),
		cmocka_unit_test(a_queue_for_all_of_the_time_is_said),
		cmocka_unit_test(stops_by_a_tracer_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
