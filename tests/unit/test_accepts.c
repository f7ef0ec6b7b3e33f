// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/queues/verdict_accepts.c: connections that wait for accept while the thread that
 * accepts is idle, and others.
 */
#include "tests/lib/pooled.h"

#define REQUESTS 300
#define FIRST	 40 /* descriptor */

/* SLEEPS, HANDS_ON: until a timer; another thread serves what HANDS_ON accepts */
enum how { AT_ONCE, IDLE, BUSY, LOCKED, POLLS, SLEEPS, HANDS_ON, FAILS, BEFORE_THE_READ };

static long every = 10 * POOL_MS, later_by = 8 * POOL_MS;
static bool hands_on;	   /* another thread reads and answers */
static bool one_at_a_time; /* it closes each connection after the answer */

static void begin(struct text *x)
{
	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(x, "1 0 info text=\"targets=all\"\n"
		     "2 0 info text=\"groups=core,syscalls,sched,requests\"");
	text_line(x, "3 100 thread pid=100 state=83 comm=\"server\"");
	text_line(x, "3 101 thread pid=100 state=83 comm=\"server\"");
	text_line(x, "4 100 limits files=400");
	text_line(x, "5 100 fd pid=100 fd=3 mode=0140000 ino=999 family=2 role=1 socktype=1"
		     " sport=80");
	text_line(x, "6 0 request_name id=1 protocol=1 name=\"GET /\"");
	text_line(x, "31 0 info text=\"begin=31\"\n@cpu 0");
}

static void accepts(struct pool_text *x, int i, long at)
{
	pool_line(x, at, "100 syscall_args nr=accept4 arg0=3 dur=500 ret=%d", FIRST + i);
	pool_line(x, at + 100,
		  "100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
		  " dport=%d daddr=10.0.0.9",
		  FIRST + i, 1000 + i, 4000 + i);
}

static long asleep = POOL_MS / 2; /* since when */

static void sleeps(struct pool_text *x, long at)
{
	pool_line(x, at, "100 switch next=0 state=1");
	asleep = at;
}

/* call: that it slept in */
static void wakes_from(struct pool_text *x, long at, const char *call)
{
	pool_line(x, at - 4000, "0 waking target=100 context=1");
	pool_line(x, at - 3000, "0 switch next=100");
	pool_line(x, at - 2000, "100 syscall_args nr=%s arg0=4 arg3=-1 dur=%ld ret=1", call,
		  at - 1000 - asleep);
}

static void wakes(struct pool_text *x, long at)
{
	wakes_from(x, at, "epoll_wait");
}

/* A request on a connection of its own arrives at t. */
static void asks(struct pool_text *x, int i, long t, enum how how)
{
	long at = how == AT_ONCE ? t + 10000 : t + later_by;
	int tid = hands_on ? 101 : 100;

	pool_line(x, t, "0 connection sock=%d ino=%d conn=%d family=2 side=1", i + 1, 1000 + i,
		  i + 1);
	pool_line(x, t + 1, "0 segment conn=%d pos=0 len=20 unread=0", i + 1);
	wakes_from(x, how == BUSY || how >= FAILS ? t + 10000 : at,
		   how == LOCKED		      ? "futex"
		   : how == POLLS		      ? "poll"
		   : how == SLEEPS || how == HANDS_ON ? "clock_nanosleep"
						      : "epoll_wait");
	if (how == FAILS) { /* and polls until it tries again */
		pool_line(x, t + 11000, "100 syscall_args nr=accept4 arg0=3 dur=500 ret=-24");
		sleeps(x, t + 12000);
		wakes(x, at);
	}
	if (how == BEFORE_THE_READ) { /* it accepts, and polls for the others first */
		accepts(x, i, t + 10000);
		sleeps(x, t + 12000);
		wakes(x, at);
	} else {
		accepts(x, i, at);
	}
	pool_line(x, at + 1000, "%d syscall nr=read fd=%d dur=500 ret=20", tid, FIRST + i);
	pool_line(x, at + 1000, "%d head conn=%d pos=0 len=20 name=1 requests=1", tid, i + 1);
	pool_line(x, at + 20000, "%d syscall nr=write fd=%d dur=500 ret=20", tid, FIRST + i);
	if (one_at_a_time)
		pool_line(x, at + 22000, "100 syscall nr=close fd=%d dur=300 ret=0", FIRST + i);
	sleeps(x, at + 24000);
}

/* The first half is accepted at once, the second so. */
static sqlite3 *accepted(enum how first, enum how how)
{
	struct pool_text lines = { 0 };
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	asleep = POOL_MS / 2;
	begin(&x);
	lines.v = calloc(POOL_LINES, sizeof(*lines.v));
	for (i = 0; i < REQUESTS; i++)
		asks(&lines, i, POOL_MS + i * every + i % 7 * 10000,
		     i < REQUESTS / 2 ? first : how);
	db = pool_loaded(&x, &lines, POOL_MS + REQUESTS * every);
	analysed(db, "pauses");
	return analysed(db, "verdict");
}

#define SAID "SELECT count(*) FROM finding WHERE kind='verdict_accepts'"

static void it_was_idle_and_did_not_accept(void **state)
{
	sqlite3 *db = accepted(AT_ONCE, IDLE);

	(void)state;
	is_text(db, "SELECT status FROM verdict WHERE rank=1", "problem");
	is_number(db, SAID, 1);
	is_number(db, FINDING_VALUE("verdict_accepts", "n", "v.number"), REQUESTS / 2);
	is_within(db, FINDING_VALUE("verdict_accepts", "mean", "v.number"), 7.9e6, 8.1e6);
	is_above(db, FINDING_VALUE("verdict_accepts", "share", "v.number"), 99);
	is_number(db, FINDING_VALUE("verdict_accepts", "thread", "v.id"), 100);
	is_number(db, FINDING_VALUE("verdict_accepts", "limit", "v.number"), 400);
	is_number(
		db,
		FINDING_VALUE(
			"verdict_accepts", "files",
			"v.number - (SELECT number FROM finding_value WHERE finding=f.id AND name='clients')"),
		1);
	is_above(db, FINDING_VALUE("verdict_accepts", "clients", "v.number"), 280);
	db_close(db);
}

/* It serves no request itself: what it was asleep for is said. */
static void it_slept_between_its_calls(void **state)
{
	sqlite3 *db;

	(void)state;
	hands_on = true;
	db = accepted(AT_ONCE, HANDS_ON);
	hands_on = false;
	is_text(db, "SELECT status FROM verdict WHERE rank=1", "problem");
	is_number(db, SAID, 1);
	is_text(db, FINDING_VALUE("verdict_accepts", "state", "v.text"), "asleep until a timer");
	db_close(db);
}

static void others_are_not(void **state)
{
	static const enum how cases[] = { BUSY, LOCKED, POLLS, SLEEPS, FAILS, BEFORE_THE_READ };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		db = accepted(AT_ONCE, cases[i]);
		is_text(db, "SELECT status FROM verdict WHERE rank=1", "problem");
		is_number(db, SAID, 0);
		db_close(db);
	}
	one_at_a_time = true;
	db = accepted(AT_ONCE, IDLE);
	one_at_a_time = false;
	is_text(db, "SELECT status FROM verdict WHERE rank=1", "problem");
	is_number(db, SAID, 0);
	db_close(db);
}

/* Without a change: as long as a pause, or it is how it serves. */
static void always(void **state)
{
	sqlite3 *db = accepted(IDLE, IDLE);

	(void)state;
	is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
	db_close(db);
	every = 130 * POOL_MS;
	later_by = 120 * POOL_MS;
	db = accepted(IDLE, IDLE);
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1",
		"problem connections");
	is_number(db, FINDING_VALUE("verdict_unserved", "late", "v.number"), REQUESTS);
	is_within(db, FINDING_VALUE("verdict_unserved", "longest", "v.number"), 119e6, 121e6);
	is_number(db, SAID, 1);
	db_close(db);
	db = accepted(BUSY, BUSY);
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='connections'", 0);
	db_close(db);
	every = 10 * POOL_MS;
	later_by = 8 * POOL_MS;
}

/*
 * Thread 100 accepts when 101 or 102 is free, and waits for that on a futex. From the middle on
 * they take 25 ms per request, which is more than they can serve; or it is idle for no reason.
 */
static sqlite3 *handed_on(bool all_busy)
{
	struct pool_text lines = { 0 };
	long free_at[2] = { 0 }, t, at, takes;
	struct text x = { 0 };
	sqlite3 *db;
	int i, w;

	asleep = POOL_MS / 2;
	begin(&x);
	text_line(&x, "@recorder\n32 102 thread pid=100 state=83 comm=\"server\"");
	lines.v = calloc(POOL_LINES, sizeof(*lines.v));
	for (i = 0; i < REQUESTS; i++) {
		t = POOL_MS + i * every + i % 7 * 10000;
		w = free_at[1] < free_at[0];
		takes = (i >= REQUESTS / 2 && all_busy ? 25 : 5) * POOL_MS;
		at = t + (i >= REQUESTS / 2 && !all_busy ? later_by : 10000);
		at = free_at[w] > at ? free_at[w] : at;
		free_at[w] = at + takes + 50000;
		pool_line(&lines, t, "0 connection sock=%d ino=%d conn=%d family=2 side=1", i + 1,
			  1000 + i, i + 1);
		pool_line(&lines, t + 1, "0 segment conn=%d pos=0 len=20 unread=0", i + 1);
		wakes_from(&lines, at, "futex");
		accepts(&lines, i, at);
		sleeps(&lines, at + 1000);
		pool_line(&lines, at + 2000, "%d syscall nr=read fd=%d dur=500 ret=20", 101 + w,
			  FIRST + i);
		pool_line(&lines, at + 2000, "%d head conn=%d pos=0 len=20 name=1 requests=1",
			  101 + w, i + 1);
		pool_line(&lines, at + takes, "%d syscall nr=write fd=%d dur=500 ret=20", 101 + w,
			  FIRST + i);
	}
	db = pool_loaded(&x, &lines, free_at[0] + every);
	analysed(db, "pauses");
	return analysed(db, "verdict");
}

/* What accepts waits for a thread of the pool: what these do is the cause. */
static void all_threads_of_a_pool_come_first(void **state)
{
	sqlite3 *db = handed_on(true);

	(void)state;
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problemslower");
	is_number(db, FINDING_VALUE("verdict_pool", "threads", "v.number"), 2);
	is_number(db, SAID, 0);
	db_close(db);
	db = handed_on(false);
	is_number(db, SAID, 1);
	is_text(db, FINDING_VALUE("verdict_accepts", "state", "v.text"), "waiting for a futex");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_was_idle_and_did_not_accept),
		cmocka_unit_test(it_slept_between_its_calls),
		cmocka_unit_test(others_are_not),
		cmocka_unit_test(always),
		cmocka_unit_test(all_threads_of_a_pool_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
