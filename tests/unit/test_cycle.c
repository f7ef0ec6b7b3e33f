// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads that wait for locks of each other until the recording ends, and what is no deadlock. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

enum way {
	DEADLOCK,
	OF_THREE,  /* each waits for a lock of the next */
	CHAIN,	   /* the last one sleeps with its lock */
	PASSED_ON, /* another thread got one of the locks since */
	RESOLVED,  /* the locks are released in the end */
};

#define FUTEX \
	"%ld %d futex_wait address=0x%x own=%d value=2 holder=%d\n%ld %d switch next=0 state=1"

/* A thread waits for the lock of another; locks are numbered by who has them. Entry of the call. */
static long wait(struct text *x, int tid, int holder)
{
	long since = x->t + 1000;

	text_line(x, "%ld 0 waking target=%d\n%ld 0 switch next=%d", x->t, tid, x->t + 500, tid);
	if (tid == 101)
		text_line(x,
			  "%ld 101 syscall nr=read fd=8 ret=29 count=99 dur=200\n"
			  "%ld 101 head conn=1 pos=1 len=29 name=1 requests=1",
			  x->t + 800, x->t + 800);
	text_line(x, FUTEX, x->t + 1000, tid, 0x1000 * holder, tid, holder, x->t + 2000, tid);
	x->t += 5 * MS;
	return since;
}

static void wake(struct text *x, int waker, int tid, int holder)
{
	text_line(x, "%ld %d waking target=%d\n%ld 0 switch next=%d", x->t, waker, tid, x->t + 500,
		  tid);
	text_line(x, "%ld %d syscall_args nr=futex arg0=0x%x ret=0 flags=1", x->t + 1000, tid,
		  0x1000 * holder);
	x->t += MS;
}

static sqlite3 *locked(enum way way)
{
	struct text x = { 0 };
	int tid, last = way == OF_THREE ? 103 : 102;
	long end, since[105] = { 0 };

	head(&x);
	text_line(&x, "@recorder");
	for (tid = 101; tid < 105; tid++)
		text_line(&x, "4 %d thread pid=100 state=83 comm=\"worker\"", tid);
	text_line(
		&x,
		"4 0 request_name id=1 protocol=1 name=\"GET /\"\n2 0 info text=\"groups=core,"
		"syscalls,sched,requests\"\n@cpu 0\n35 0 connection sock=8 ino=1008 conn=1 family=2"
		" sport=80 dport=40008 side=1 saddr=127.0.0.1 daddr=10.0.0.9");
	many(&x, 500, 200000, MS);
	if (way == PASSED_ON)
		wait(&x, 104, 102);
	for (tid = 101; tid < last; tid++)
		since[tid] = wait(&x, tid, tid + 1);
	if (way == PASSED_ON)
		wake(&x, 102, 104, 102);
	if (way == PASSED_ON)
		text_line(&x, "%ld 104 switch next=0 state=1", x.t += 1000);
	since[last] = way == CHAIN ? 0 : wait(&x, last, 101);
	end = x.t + 3000 * MS;
	x.t = end;
	if (way == RESOLVED)
		wake(&x, 0, last, 101);
	if (way == RESOLVED)
		wake(&x, last, 101, 102);
	text_line(&x, "@recorder");
	for (tid = 101; tid <= last && way != RESOLVED; tid++)
		text_line(&x, "%ld %d syscall_args nr=%s arg0=0x%x dur=%ld flags=%d", x.t + 10, tid,
			  way == CHAIN && tid == last ? "clock_nanosleep" : "futex",
			  0x1000 * (tid == last ? 101 : tid + 1),
			  since[tid] ? x.t + 10 - since[tid] : 0, since[tid] ? 2 : 3);
	return judged(&x, NULL);
}

static void threads_wait_for_each_other(void **state)
{
	sqlite3 *db = locked(DEADLOCK);

	(void)state;
	is_text(db, "SELECT status FROM verdict", "problem");
	is_number(db, FINDING_VALUE("verdict_cycle", "n", "v.number"), 2);
	is_number(db, FINDING_VALUE("verdict_cycle", "first", "v.id"), 101);
	is_number(db, FINDING_VALUE("verdict_cycle", "second", "v.id"), 102);
	is_number(db, FINDING_VALUE("verdict_cycle", "last", "v.id"), 102);
	db_close(db);
	db = locked(OF_THREE);
	is_number(db, FINDING_VALUE("verdict_cycle", "n", "v.number"), 3);
	is_number(db, FINDING_VALUE("verdict_cycle", "second", "v.id"), 102);
	is_number(db, FINDING_VALUE("verdict_cycle", "last", "v.id"), 103);
	db_close(db);
}

static void what_is_no_deadlock(void **state)
{
	static const enum way cases[] = { CHAIN, PASSED_ON, RESOLVED };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = locked(cases[i]);

		is_number(db, "SELECT count(*) > 0 FROM futex_holder WHERE holder > 0", 1);
		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_cycle'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_wait_for_each_other),
		cmocka_unit_test(what_is_no_deadlock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
