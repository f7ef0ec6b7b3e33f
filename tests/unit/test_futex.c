// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/io/track_futex.c: each rule of pairing waits with wakes, by hand. */
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"

#define START                                              \
	"@recorder\n"                                      \
	"900 0 info text=\"targets=all\"\n"                \
	"901 0 info text=\"groups=core,syscalls,sched\"\n" \
	"902 100 thread pid=100 state=S comm=\"a\"\n"      \
	"903 101 thread pid=100 state=S comm=\"b\"\n"      \
	"904 102 thread pid=100 state=S comm=\"c\"\n"      \
	"1000 0 info text=\"begin=1000\"\n90000 0 info text=\"stopped=90000\"\n"
#define RUN(tid) "1500 0 waking target=" tid "\n1500 0 switch next=" tid "\n"
/* 100 sleeps from 2000 in a wait that it entered at 1900, and is woken by 101 at 5000 */
#define SLEEP                                                                                  \
	"@cpu 0\n" RUN("100") "@cpu 1\n" RUN("101") "@cpu 0\n2000 100 switch next=0 state=S\n" \
						    "@cpu 1\n5000 101 waking target=100 cpu=0\n"
#define WAITER_RETURNS \
	"@cpu 0\n5010 0 switch next=100\n5100 100 syscall_args nr=futex dur=3200 arg0=0x1000 op=WAIT|PRIVATE\n"
#define WAKER_RETURNS \
	"@cpu 1\n5050 101 syscall_args nr=futex dur=100 ret=1 arg0=0x1000 op=WAKE|PRIVATE\n"
#define LATE_WAKER_RETURNS \
	"@cpu 1\n5200 101 syscall_args nr=futex dur=300 ret=1 arg0=0x1000 op=WAKE|PRIVATE\n"

static void pairs(const char *text, s64 n, s64 observed)
{
	sqlite3 *db = loaded(text);

	is_number(db, "SELECT total(n) FROM futex_release", n);
	is_number(db, "SELECT total(observed) FROM futex_release", observed);
	db_close(db);
}

/* The two calls may return in either order. */
static void waits_are_paired_with_their_wake(void **state)
{
	sqlite3 *db;

	(void)state;
	pairs(START SLEEP WAKER_RETURNS WAITER_RETURNS, 1, 1);
	db = loaded(START SLEEP WAITER_RETURNS LATE_WAKER_RETURNS);
	is_number(db, "SELECT waker FROM futex_release WHERE waiter=100", 101);
	is_number(db, "SELECT observed FROM futex_release", 1);
	is_number(db, "SELECT total FROM futex_release", 3200);
	is_number(db, "SELECT waits FROM futex WHERE address=0x1000", 1);
	is_number(db, "SELECT woken FROM futex", 1);
	is_number(db, "SELECT unseen FROM futex", 0);
	/* the interval says which futex it was */
	is_number(db,
		  "SELECT object=(SELECT id FROM futex) FROM thread_state "
		  "WHERE tid=100 AND state=3",
		  1);
	db_close(db);
}

/* Woken inside a call on another futex, or in no futex call at all: only woken. */
static void other_wakes_are_not_observed(void **state)
{
	(void)state;
	pairs(START SLEEP
	      "5050 101 syscall_args nr=futex dur=100 ret=1 arg0=0x2000 op=WAKE|PRIVATE\n" WAITER_RETURNS,
	      1, 0);
	pairs(START SLEEP "5050 101 syscall_args nr=tgkill dur=100\n" WAITER_RETURNS, 1, 0);
	pairs(START SLEEP WAITER_RETURNS "@cpu 1\n5200 101 syscall_args nr=tgkill dur=300\n", 1, 0);
}

/*
 * A semaphore in memory that two processes share: the waker names it by its own process, at this
 * address or another. Woken from inside the call, so it is one futex, and its row the waiter's.
 */
static void shared_futexes_are_one(void **state)
{
	sqlite3 *db = loaded(START "@recorder\n905 201 thread pid=201 state=S comm=\"d\"\n"
				   "@cpu 0\n" RUN("100") "@cpu 1\n" RUN(
					   "201") "@cpu 0\n2000 100 switch next=0 state=S\n"
						  "@cpu 1\n5000 201 waking target=100 cpu=0\n"
						  "5050 201 syscall_args nr=futex dur=100 ret=1 "
						  "arg0=0x9000 arg1=1\n" WAITER_RETURNS);

	(void)state;
	is_number(db, "SELECT count(*) FROM futex", 1);
	is_number(db, "SELECT waits FROM futex WHERE pid=100 AND address=0x1000", 1);
	is_number(db, "SELECT wakes FROM futex", 1);
	is_number(db, "SELECT woken FROM futex", 1);
	is_number(db, "SELECT observed FROM futex_release WHERE waker=201", 1);
	is_number(db,
		  "SELECT futex=(SELECT id FROM futex) FROM futex_user"
		  " WHERE tid=201 AND wakes=1",
		  1);
	db_close(db);
}

/* A waiter that was requeued names the first futex, its waker the second. */
static void requeued_waiters_are_followed(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n" RUN("100") "2000 100 switch next=0 state=S\n@cpu 1\n" RUN(
		"101") "4000 101 syscall_args nr=futex dur=50 ret=1 arg0=0x1000 arg1=0x84 arg4=0x3000\n"
		       "5000 101 waking target=100 cpu=0\n"
		       "5050 101 syscall_args nr=futex dur=100 ret=1 arg0=0x3000 op=WAKE|PRIVATE\n" WAITER_RETURNS);

	(void)state;
	is_number(db, "SELECT requeued FROM futex WHERE address=0x1000", 1);
	is_number(db, "SELECT observed FROM futex_release", 1);
	db_close(db);
}

/* A lock with priority inheritance: LOCK_PI (6) waits, UNLOCK_PI (7) returns 0 and wakes. */
static void priority_inheriting_locks_are_locks(void **state)
{
	sqlite3 *db = loaded(START SLEEP
			     "5050 101 syscall_args nr=futex dur=100 ret=0 arg0=0x1000 arg1=0x87\n"
			     "@cpu 0\n5010 0 switch next=100\n"
			     "5100 100 syscall_args nr=futex dur=3200 arg0=0x1000 arg1=0x86\n"
			     "6000 100 syscall_args nr=futex dur=50 arg0=0x1000 arg1=0x87\n");

	(void)state;
	is_number(db, "SELECT waits FROM futex WHERE class='contention'", 1);
	is_number(db, "SELECT woken FROM futex", 1);
	is_number(db, "SELECT unseen FROM futex", 0);
	is_number(db, "SELECT observed FROM futex_release WHERE waker=101", 1);
	db_close(db);
}

/* WAKE_OP (5) wakes waiters of its second futex too: the one at which 100 waits. */
static void wakes_of_a_second_futex_are_observed(void **state)
{
	(void)state;
	pairs(START SLEEP "5050 101 syscall_args nr=futex dur=100 ret=1 arg0=0x2000 arg1=0x85 "
			  "arg4=0x1000\n" WAITER_RETURNS,
	      1, 1);
}

/* A wakeup by an interrupt (a timer) is not one by the interrupted thread. */
static void interrupts_are_no_wakers(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n" RUN(
		"100") "2000 100 switch next=0 state=S\n"
		       "@cpu 1\n5000 101 waking target=100 cpu=0 context=hardirq\n"
		       "@cpu 0\n5010 0 switch next=100\n"
		       "5100 100 syscall_args nr=futex dur=3200 ret=-110 arg0=0x1000 op=WAIT|PRIVATE\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM futex_release", 0);
	is_number(db, "SELECT timeouts FROM futex", 1);
	is_number(db, "SELECT waits FROM futex", 0);
	is_text(db, "SELECT class FROM futex", "timeout");
	db_close(db);
}

/* EAGAIN never slept; EINTR was a signal; neither is a wait. */
static void failures_are_no_waits(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n" RUN(
		"100") "2000 100 syscall_args nr=futex dur=9 ret=-11 arg0=0x1000 op=WAIT|PRIVATE\n"
		       "2100 100 syscall_args nr=futex dur=9 ret=-4 arg0=0x1000 op=WAIT|PRIVATE\n");

	(void)state;
	is_number(db, "SELECT attempts FROM futex", 1);
	is_number(db, "SELECT interrupted FROM futex", 1);
	is_number(db, "SELECT waits FROM futex", 0);
	db_close(db);
}

/* A call that says it woke two, with one wake-up in the recording. */
static void missing_wakeups_are_counted(void **state)
{
	sqlite3 *db = loaded(
		START SLEEP
		"5050 101 syscall_args nr=futex dur=100 ret=2 arg0=0x1000 op=WAKE|PRIVATE\n" WAITER_RETURNS);

	(void)state;
	is_number(db, "SELECT unseen FROM futex", 1);
	db_close(db);
}

/* As with a lock, 100 waits and later wakes; 102 only wakes another futex: a handoff. */
static void locks_differ_from_handoffs(void **state)
{
	sqlite3 *db = loaded(
		START SLEEP WAKER_RETURNS WAITER_RETURNS
		"@cpu 0\n6000 100 syscall_args nr=futex dur=50 ret=0 arg0=0x1000 op=WAKE|PRIVATE\n"
		"@cpu 1\n7000 101 switch next=0 state=S\n"
		"@cpu 2\n1600 0 waking target=102\n1600 0 switch next=102\n"
		"8000 102 waking target=101 cpu=1\n"
		"8050 102 syscall_args nr=futex dur=100 ret=1 arg0=0x2000 op=WAKE|PRIVATE\n"
		"@cpu 1\n8100 0 switch next=101\n"
		"8200 101 syscall_args nr=futex dur=1300 arg0=0x2000 op=WAIT|PRIVATE\n");

	(void)state;
	is_text(db, "SELECT class FROM futex WHERE address=0x1000", "contention");
	is_number(db, "SELECT cycles FROM futex WHERE address=0x1000", 1);
	is_text(db, "SELECT class FROM futex WHERE address=0x2000", "handoff");
	is_number(db, "SELECT wakes FROM futex_user WHERE tid=102", 1);
	db_close(db);
}

/* Two futexes with the same threads in the same roles share a signature, a third does not. */
static void futexes_are_grouped_by_signature(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n" RUN(
		"100") "2000 100 syscall_args nr=futex dur=9 ret=1 arg0=0x1000 op=WAKE|PRIVATE\n"
		       "2100 100 syscall_args nr=futex dur=9 ret=1 arg0=0x2000 op=WAKE|PRIVATE\n"
		       "2200 100 syscall_args nr=futex dur=9 ret=0 arg0=0x3000 op=WAIT|PRIVATE\n");

	(void)state;
	is_number(db, "SELECT count(DISTINCT signature) FROM futex", 2);
	is_number(db, "SELECT signature FROM futex WHERE address=0x2000",
		  asked(db, "SELECT id FROM futex WHERE address=0x1000"));
	db_close(db);
}

/* Recorders of before could not tell the futex: then it is not known, whatever the arguments are.
 */
static void the_futex_that_ended_a_wait_on_several(void **state)
{
	sqlite3 *db = loaded(START SLEEP WAKER_RETURNS
			     "@cpu 0\n5010 0 switch next=100\n"
			     "5100 100 syscall_args nr=futex_waitv dur=3200 ret=1"
			     " arg0=0x7000 arg1=2 arg5=0x1000 flags=4\n");

	(void)state;
	is_number(db, "SELECT waits FROM futex WHERE address=0x1000", 1);
	is_number(db, "SELECT observed FROM futex_release WHERE waiter=100", 1);
	is_number(db,
		  "SELECT f.address FROM thread_state s JOIN futex f ON f.id=s.object"
		  " WHERE s.tid=100 AND s.nr=449",
		  0x1000);
	is_number(db, "SELECT count(*) FROM futex WHERE address=0x7000", 0);
	db_close(db);
	db = loaded(START SLEEP WAKER_RETURNS "@cpu 0\n5010 0 switch next=100\n"
					      "5100 100 syscall_args nr=futex_waitv dur=3200 ret=1"
					      " arg0=0x7000 arg1=2 arg5=0x1000\n");
	is_number(db, "SELECT total(waits) FROM futex", 0);
	is_number(db,
		  "SELECT count(*) FROM thread_state WHERE tid=100 AND nr=449 AND"
		  " object IS NULL",
		  1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(waits_are_paired_with_their_wake),
		T(other_wakes_are_not_observed),
		T(shared_futexes_are_one),
		T(requeued_waiters_are_followed),
		T(priority_inheriting_locks_are_locks),
		T(wakes_of_a_second_futex_are_observed),
		T(interrupts_are_no_wakers),
		T(failures_are_no_waits),
		T(missing_wakeups_are_counted),
		T(locks_differ_from_handoffs),
		T(futexes_are_grouped_by_signature),
		T(the_futex_that_ended_a_wait_on_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
