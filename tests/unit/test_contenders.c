// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/waits/contenders.c: a pause in the run queue for a program that has the CPU at
 * other times as well is the state of a host without idle CPU; its look-alikes are problems.
 */
#include "tests/lib/pausing.h"

#define NO_IDLE \
	"INSERT INTO cpu_time VALUES(0, 1000000000, 0, 980000000, 0, 0, 20000000, 0, 0, 0, 0)"
#define HALF "INSERT INTO cpu_time VALUES(0, 1000000000, 0, 500000000, 0, 0, 500000000, 0, 0, 0, 0)"

#define NORMAL 120

/* A request whose thread waits in the run queue while `other` has its CPU. */
static void waiting(struct text *x, int other, int prio, long length)
{
	text_line(x, "%ld 0 waking target=100 context=1", x->t);
	text_line(x, "%ld 0 switch next=%d prio=%d\n%ld %d switch next=100 state=1", x->t + 500,
		  other, prio, x->t + 500 + length, other);
	x->t += length;
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1", x->t + 2000,
		  length + 2000);
	text_line(x, "%ld 100 syscall nr=read fd=8 ret=29 count=99 dur=200", x->t + 3000);
	text_line(x, "%ld 100 syscall nr=write fd=8 ret=9 count=9 dur=200", x->t + 24000);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 25000);
	x->t += 26000;
}

/* For a second each: short waits for thread `usual`, 0: none, among other requests. */
static void normally(struct text *x, int usual)
{
	int i;

	for (i = 0; i < 200; i++) {
		if (usual)
			waiting(x, usual, NORMAL, 200000);
		many(x, 100, 4, MS);
		x->t += MS / 2;
	}
}

/* A pause caused by thread 300 of program `build`; 301 is of it as well, 310 of another one. */
static sqlite3 *paused_by(int prio, int before, int after, const char *facts)
{
	struct text x = { 0 };

	head_in_cgroup(&x, "build");
	text_line(&x, "36 301 thread pid=301 state=83 comm=\"build\"");
	text_line(&x, "37 310 thread pid=310 state=83 comm=\"backup\"\n@cpu 0");
	normally(&x, before);
	waiting(&x, 300, prio, 300 * MS);
	normally(&x, after);
	return analysed(changed(answered(&x), facts), "verdict");
}

static sqlite3 *paused(int before, int after, const char *facts)
{
	return paused_by(NORMAL, before, after, facts);
}

static void is(sqlite3 *db, const char *verdict)
{
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", verdict);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_contended'",
		  verdict[0] == 'n');
	db_close(db);
}

static void a_program_that_runs_all_along_is_no_incident(void **state)
{
	sqlite3 *db = paused(301, 301, NO_IDLE);

	(void)state;
	is_text(db, FINDING_VALUE("verdict_contended", "contender", "v.text"), "build");
	is_number(db, "SELECT number FROM finding_value WHERE name='usual_pauses'", 1);
	is(db, "none ");
	is(paused(300, 0, NO_IDLE), "none "); /* it leaves: the pause is no arrival */
}

static void a_program_that_came_is_one(void **state)
{
	(void)state;
	is(paused(310, 310, NO_IDLE), "problem pauses");
	is(paused(0, 0, NO_IDLE), "problem pauses");
	is(paused(310, 301, NO_IDLE), "problem pauses"); /* and stays */
}

/* A busy host shares its CPUs, but not with this one. */
static void a_program_of_realtime_priority_is_one(void **state)
{
	(void)state;
	is(paused_by(49, 301, 301, NO_IDLE), "problem pauses");
}

static void a_host_with_idle_cpus_is_not_busy(void **state)
{
	(void)state;
	is(paused(301, 301, HALF), "problem pauses");
	is(paused(301, 301, "SELECT 1"), "problem pauses"); /* it is not known */
}

static void a_cpu_quota_is_no_state_of_the_host(void **state)
{
	(void)state;
	is(paused(301, 301,
		  NO_IDLE
		  "; INSERT INTO throttle VALUES(0, 9000000000, 7, 90, 4, 290000000, 1000000, 100000000)"),
	   "problem pauses");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_runs_all_along_is_no_incident),
		cmocka_unit_test(a_program_that_came_is_one),
		cmocka_unit_test(a_program_of_realtime_priority_is_one),
		cmocka_unit_test(a_host_with_idle_cpus_is_not_busy),
		cmocka_unit_test(a_cpu_quota_is_no_state_of_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
