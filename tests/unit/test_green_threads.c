// SPDX-License-Identifier: GPL-2.0-or-later
/* Where requests of programs with green threads spend their time: threads go on without them, or
 * are idle. */
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

#include "format/buf.h"

/*
 * Process 100 serves fd 5 and 6 with threads 101 and 102, and asks on fd 20. %s: the function in
 * which its threads wait.
 */
#define HOST                                                                                              \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,sched,cpu\"\n"    \
	"1 0 info text=\"stack_threshold=1000\"\n"                                                        \
	"2 100 thread pid=100 state=83 comm=\"front\"\n2 101 thread pid=100 state=83 comm=\"front\"\n"    \
	"2 102 thread pid=100 state=83 comm=\"front\"\n"                                                  \
	"4 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80\n"                 \
	"4 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=2 socktype=1 sport=80\n"                 \
	"4 100 fd pid=100 fd=20 mode=0140000 ino=79 family=2 role=3 socktype=1 sport=9 dport=99"          \
	" daddr=10.0.0.7\n"                                                                               \
	"9 0 info text=\"begin=9\"\n"                                                                     \
	"10 0 module id=1 kind=3 path=\"/srv/front\"\n10 0 frame id=1 module=1 address=0x1000\n"          \
	"10 0 frame id=2 module=1 address=0x2000\n10 0 stack id=1 frame=1\n"                              \
	"10 0 stack id=2 caller=1 frame=2\n10 0 frame id=3 module=1 address=0x3000\n"                     \
	"10 0 stack id=3 frame=3\n9000 0 symbol frame=1 text=\"%s\"\n9000 0 symbol frame=3 text=\"%s\"\n" \
	"9000 0 symbol frame=2 text=\"futexsleep\"\n99_000_000 0 info text=\"stopped=99000000\"\n"        \
	"@cpu 0\n100_000 0 switch next=102\n110_000 102 syscall nr=read fd=6 ret=9 dur=100\n"             \
	"120_000 102 syscall nr=write fd=6 ret=9 dur=100\n130_000 102 switch next=0 state=1\n"
/* A wait of 101 with a stack; one that is in the runtime. */
#define OF_101 "1_000_000 101 offcpu pid=100 user_stack=3 dur=900000\n"
/* 101 reads a request and asks, 102 gets the answer after 8 ms and answers 2 ms later. */
#define ASKS                                                                                        \
	"1_000_000 0 switch next=101\n" OF_101                                                      \
	"1_010_000 101 syscall nr=read fd=5 ret=9 dur=100\n"                                        \
	"1_020_000 101 syscall nr=write fd=20 ret=9 dur=100\n1_030_000 101 switch next=0 state=1\n" \
	"9_000_000 0 waking target=102\n9_010_000 0 switch next=102\n"                              \
	"9_010_000 102 offcpu pid=100 user_stack=2 dur=5000000\n"                                   \
	"9_011_000 102 syscall_args nr=futex arg0=0x1000 dur=8885000 ret=0\n"                       \
	"9_020_000 102 syscall nr=read fd=20 ret=9 dur=100\n9_030_000 102 switch next=0 state=1\n"  \
	"11_000_000 0 waking target=102\n11_010_000 0 switch next=102\n"                            \
	"11_011_000 102 syscall_args nr=futex arg0=0x1000 dur=1985000 ret=0\n"                      \
	"11_020_000 102 syscall nr=write fd=5 ret=9 dur=100\n11_030_000 102 switch next=0 state=1\n"
/* Another request, which asks no other server: read after that, answered before. */
#define ALONE                                                                                     \
	"2_000_000 0 waking target=101\n2_010_000 0 switch next=101\n"                            \
	"2_011_000 101 syscall_args nr=futex arg0=0x2000 dur=985000 ret=0\n"                      \
	"2_020_000 101 syscall nr=read fd=6 ret=9 dur=100\n2_030_000 101 switch next=0 state=1\n" \
	"7_000_000 0 waking target=101\n7_010_000 0 switch next=101\n"                            \
	"7_011_000 101 syscall_args nr=futex arg0=0x2000 dur=4985000 ret=0\n"                     \
	"7_020_000 101 syscall nr=write fd=6 ret=9 dur=100\n7_030_000 101 switch next=0 state=1\n"
#define SPENT(fd, state)                                                                                                \
	"SELECT total(w.dur) FROM request r JOIN request_wait w ON w.request=r.rowid WHERE r.ts > 500000 AND r.fd=" #fd \
	" AND w.state=state_id('" state "')"

static sqlite3 *front(const char *function, const char *of_101, const char *events)
{
	struct buf text = { 0 };

	assert_int_equal(buf_printf(&text, NULL, HOST "%s", function, of_101, events), 0);
	return loaded_buf(&text);
}

static void what_they_asked_others(void **state)
{
	sqlite3 *db = front("runtime.stopm", "runtime.mcall", ASKS);

	(void)state;
	is_number(db, "SELECT count(*) FROM process WHERE green='goroutine'", 1);
	is_text(db, "SELECT group_concat(tid) FROM thread WHERE green", "102");
	is_number(db, "SELECT count(*) FROM request WHERE receiver=101 AND tid=102", 1);
	is_within(db, SPENT(5, "client"), 7.9e6, 8.1e6);
	is_within(db, SPENT(5, "other"), 1.8e6, 2.1e6);
	is_number(db, SPENT(5, "futex"), 0);
	is_number(db, SPENT(5, "poll"), 0);
	db_close(db);
	/* it waits in a function that runs on a goroutine */
	db = front("runtime.goexit", "runtime.goexit", ASKS);
	is_number(db, "SELECT count(*) FROM process WHERE green='goroutine'", 1);
	is_number(db, "SELECT count(*) FROM thread WHERE green", 0);
	db_close(db);
}

/* The thread of a request that asks no other server sleeps while another request has its answer. */
static void what_they_wait_for_else_is_not_known(void **state)
{
	sqlite3 *db = front("runtime.findRunnable", "runtime.mcall",
			    "1_000_000 0 switch next=101\n" OF_101
			    "1_010_000 101 syscall nr=read fd=5 ret=9 dur=100\n"
			    "1_020_000 101 syscall nr=write fd=20 ret=9 dur=100\n"
			    "1_030_000 101 switch next=0 state=1\n" ALONE
			    "9_000_000 0 waking target=102\n9_010_000 0 switch next=102\n"
			    "9_010_000 102 offcpu pid=100 user_stack=2 dur=5000000\n"
			    "9_020_000 102 syscall nr=read fd=20 ret=9 dur=100\n"
			    "9_021_000 102 syscall nr=write fd=5 ret=9 dur=100\n"
			    "9_030_000 102 switch next=0 state=1\n");

	(void)state;
	is_within(db, SPENT(6, "other"), 4.9e6, 5.1e6);
	is_number(db, SPENT(6, "client"), 0);
	is_within(db, SPENT(5, "client"), 7.9e6, 8.1e6);
	db_close(db);
}

/* fd 21 is asked later, and answers first. */
static void several_answers_are_waited_for_once(void **state)
{
	sqlite3 *db = front(
		"runtime.stopm", "runtime.mcall",
		"500_000 100 fd pid=100 fd=21 mode=0140000 ino=80 family=2 role=3 socktype=1 sport=8 dport=99\n"
		"1_000_000 0 switch next=101\n" OF_101
		"1_010_000 101 syscall nr=read fd=5 ret=9 dur=100\n"
		"1_020_000 101 syscall nr=write fd=20 ret=9 dur=100\n1_030_000 101 switch next=0 state=1\n"
		"5_000_000 0 waking target=101\n5_010_000 0 switch next=101\n"
		"5_020_000 101 syscall nr=write fd=21 ret=9 dur=100\n5_025_000 101 waking target=102\n5_030_000 101 switch next=102 state=1\n"
		"6_020_000 102 syscall nr=read fd=21 ret=9 dur=100\n6_030_000 102 switch next=0 state=1\n"
		"9_000_000 0 waking target=102\n9_010_000 0 switch next=102\n"
		"9_010_000 102 offcpu pid=100 user_stack=2 dur=2000000\n"
		"9_020_000 102 syscall nr=read fd=20 ret=9 dur=100\n"
		"9_021_000 102 syscall nr=write fd=5 ret=9 dur=100\n9_030_000 102 switch next=0 state=1\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM upstream", 2);
	is_within(db, SPENT(5, "client"), 6e6, 8.1e6);
	is_number(db, SPENT(5, "other"), 0);
	db_close(db);
}

static void threads_of_other_programs_wait_themselves(void **state)
{
	sqlite3 *db = front("worker_main", "main", ASKS);

	(void)state;
	is_number(db, "SELECT count(*) FROM process WHERE green<>''", 0);
	is_within(db, SPENT(5, "futex"), 9.8e6, 10.1e6);
	is_number(db, SPENT(5, "client"), 0);
	db_close(db);
	/* the runtime came with a library: this thread is none of it */
	db = front("runtime.stopm", "main", ASKS);
	is_number(db, "SELECT count(*) FROM process WHERE green='goroutine'", 1);
	is_within(db, SPENT(5, "futex"), 9.8e6, 10.1e6);
	db_close(db);
}

/* Thread 100 goes on when 101 has news from the network, which it polled for. */
static long polled_by_another(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_line(s, 1, "%ld 0 waking target=101 cpu=1 context=1", t + 2000000);
	script_line(s, 1, "%ld 0 switch next=101", t + 2001000);
	script_line(s, 1, "%ld 101 syscall_args nr=epoll_wait arg0=4 dur=2900000 ret=1",
		    t + 2003000);
	script_wake(s, 1, 101, t + 2010000);
	script_line(s, 1, "%ld 101 switch next=0 state=1", t + 2020000);
	script_resume(s, t + 2013000, t + 2015000, 2010000);
	return t + 2020000;
}

/* 2 ms in poll, until a timer; then 0.2 ms until a thread in fsync gives it work. */
static long mostly_polls(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_line(s, 0, "%ld 0 waking target=100 cpu=0 context=2", t + 2000000);
	script_line(s, 0, "%ld 0 switch next=100", t + 2001000);
	script_line(s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=2005000 ret=0",
		    t + 2002000);
	t += 2005000;
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 1, 300, t - 100000);
	script_line(s, 1, "%ld 300 syscall_args nr=nanosleep dur=1000000", t - 98000);
	script_line(s, 1, "%ld 300 switch next=0 state=2 flags=2", t - 90000);
	script_line(s, 1, "%ld 0 waking target=300 cpu=1 context=2", t + 200000);
	script_line(s, 1, "%ld 0 switch next=300", t + 201000);
	script_line(s, 1, "%ld 300 syscall nr=fsync fd=9 dur=295000", t + 203000);
	script_wake(s, 1, 300, t + 210000);
	script_line(s, 1, "%ld 300 switch next=0 state=1", t + 220000);
	script_resume(s, t + 213000, t + 215000, 216000);
	return t + 220000;
}

/* Requests of goroutines, the later half with this fault: their causes. */
static sqlite3 *slow_goroutines(fault_fn fault)
{
	struct script s = {
		.facts = "1001 0 module id=1 kind=3 path=\"/srv/front\"\n"
			 "1001 0 frame id=1 module=1 address=0x1000\n1001 0 stack id=1 frame=1\n"
			 "1002 0 symbol frame=1 text=\"runtime.stopm\"\n"
	};
	long i;

	script_line(&s, 0, "%d 100 offcpu pid=100 user_stack=1 dur=90000", BEGIN - 1);
	for (i = 0; i < REQUESTS; i++)
		script_request(&s, BEGIN + i * PERIOD, i < REQUESTS / 2 ? NULL : fault);
	return script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
}

/* One goroutine writes to the disk for the others. */
static void the_thread_that_gave_work_waited_for_the_disk(void **state)
{
	sqlite3 *db = slow_goroutines(held_for_disk);

	(void)state;
	is_number(
		db,
		"SELECT count(*) FROM cause JOIN finding f ON f.id=cause.finding WHERE"
		" cause.kind='other' AND f.kind='cause_green_end' AND end_id=300 AND end_state='disk'",
		1);
	first_is(db, "disk", NULL,
		 "contribution > 0.9 AND " CHILD("cause_through", "v.number > 90"));
}

static void what_is_most_of_the_wait_decides(void **state)
{
	sqlite3 *db = slow_goroutines(mostly_polls);

	(void)state;
	is_within(db,
		  "SELECT total(w.dur) / 120 FROM request_wait w WHERE w.state=state_id('other')",
		  2.1e6, 2.3e6);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='cause_green_end'", 0);
	first_is(db, "other", "", "end_kind='none' AND contribution > 0.9");
}

static void a_thread_that_polled_is_no_end(void **state)
{
	sqlite3 *db = slow_goroutines(polled_by_another);

	(void)state;
	is_text(db, "SELECT f.kind FROM cause JOIN finding f ON f.id=cause.finding WHERE rank=1",
		"cause_green");
	first_is(db, "other", "", "end_kind='none' AND contribution > 0.9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_they_asked_others),
		cmocka_unit_test(what_they_wait_for_else_is_not_known),
		cmocka_unit_test(several_answers_are_waited_for_once),
		cmocka_unit_test(threads_of_other_programs_wait_themselves),
		cmocka_unit_test(the_thread_that_gave_work_waited_for_the_disk),
		cmocka_unit_test(what_is_most_of_the_wait_decides),
		cmocka_unit_test(a_thread_that_polled_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
