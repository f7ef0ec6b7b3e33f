// SPDX-License-Identifier: GPL-2.0-or-later
/* Locks whose waiters lose the race, or give up: the holder decides; and queues that are no locks.
 */
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"

/* 100 waits for a lock that 300 takes again and again; it wakes 100 each time, and 101 lets go
 * last. */
static long barged(struct script *s, long t, const char *expects)
{
	int i;

	script_line(s, 0, "%ld 100 futex_wait address=0x1000 own=100 %s", t - 1000, expects);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 1, 300, t + 1000);
	for (i = 1; i <= 3; i++) {
		script_wake(s, 1, 300, t + i * 500000);
		script_resume(s, t + i * 500000 + 3000, t + i * 500000 + 4000, 505000);
		script_line(s, 0, "%ld 100 futex_wait address=0x1000 own=100 %s",
			    t + i * 500000 + 5000, expects);
		script_line(s, 0, "%ld 100 switch next=0 state=1", t + i * 500000 + 8000);
	}
	script_line(s, 1, "%ld 300 switch next=0 state=1", t + 1900000);
	script_timer(s, 1, 101, t + 1990000);
	script_wake(s, 1, 101, t + 2000000);
	script_line(s, 1, "%ld 101 switch next=0 state=1", t + 2020000);
	script_resume(s, t + 2003000, t + 2005000, 500000);
	return t + 2010000;
}

static long barged_mutex(struct script *s, long t)
{
	return barged(s, t, "value=2 holder=300");
}

/* A queue: the value happens to be that of a contended lock, 8 bytes after it stands another
 * number. */
static long queue_of_two(struct script *s, long t)
{
	return barged(s, t, "value=2 holder=500");
}

/* The waiters never release it, so only the holder shows that it is a lock. */
static void the_holder_of_a_contended_mutex_is_named(void **state)
{
	(void)state;
	first_is(slowed(barged_mutex, 0, "all", NULL), "lock", "housekeeper[100/300]",
		 "evidence='OBSERVED' AND offender_part > 0.9 AND (SELECT class FROM futex WHERE"
		 " id=cause.object)='contention' AND EXISTS (SELECT 1 FROM finding_value v WHERE"
		 " v.finding=cause.finding AND v.name='holder' AND v.id=300)");
	first_is(
		slowed(queue_of_two, 0, "all", NULL), "handoff", NULL,
		"(SELECT class FROM futex WHERE id=cause.object)='handoff' AND NOT EXISTS (SELECT 1"
		" FROM finding_value v WHERE v.finding=cause.finding AND v.name='holder')");
}

/* pthread_mutex_timedlock gives up after 2 ms: a timer wakes. */
static long given_up(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 futex_wait address=0x1000 own=100 value=2 holder=300", t - 1000);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_line(s, 0, "%ld 0 waking target=100 cpu=0 context=2", t + 2000000);
	script_line(s, 0, "%ld 0 switch next=100", t + 2003000);
	script_line(s, 0,
		    "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x80 dur=2008000 ret=-110",
		    t + 2005000);
	return t + 2010000;
}

/* No wakeup by a thread, but a holder. */
static void a_holder_that_never_wakes_is_named(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i, t;

	(void)state;
	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * (long)PERIOD;
		script_request(&s, t, i >= REQUESTS / 2 ? given_up : NULL);
	}
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	first_is(db, "lock", "housekeeper[100/300]", "evidence='OBSERVED' AND offender_part > 0.9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_holder_of_a_contended_mutex_is_named),
		T(a_holder_that_never_wakes_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
