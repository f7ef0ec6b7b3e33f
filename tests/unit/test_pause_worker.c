// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/pauses/pause_worker.c: requests wait in poll, woken by no thread, while one
 * process of the same program works on an earlier request; and what only looks so.
 */
#include "tests/lib/pausing.h"

struct other {
	int parent;  /* of process 200; that of 100 is 50 */
	long read;   /* by 200, ns after the start of the pause */
	bool sleeps; /* 200 ms of its 400 */
	bool second; /* thread 101 works as well */
	bool two;    /* 200 has read another request before */
	bool green;  /* 200 has no work when it waits: it works on any request */
};

/* The thread reads a request at t, and answers it 400 ms later. */
static void works(struct text *x, int cpu, int tid, int fd, long t, bool sleeps)
{
	long end = t + 400 * MS;

	text_line(x, "@cpu %d\n%ld 0 switch next=%d", cpu, t, tid);
	text_line(x, "%ld %d syscall nr=read fd=%d ret=29 count=99 dur=200", t + 3000, tid, fd);
	if (sleeps) {
		text_line(x, "%ld %d switch next=0 state=1", t + 5000, tid);
		text_line(x, "%ld 0 waking target=%d context=1", t + 205 * MS, tid);
		text_line(x, "%ld 0 switch next=%d", t + 205 * MS + 1000, tid);
	}
	text_line(x, "%ld %d syscall nr=write fd=%d ret=9 count=9 dur=200", end, tid, fd);
	text_line(x, "%ld %d switch next=0 state=1\n@cpu 0", end + 1000, tid);
}

static sqlite3 *waits_beside(const struct other *o)
{
	struct text x = { 0 };

	head(&x);
	text_line(&x, "@recorder\n33 100 thread pid=100 parent=50 state=83 comm=\"server\"");
	text_line(&x, "34 200 thread pid=200 parent=%d state=83 comm=\"server\"\n@cpu 0",
		  o->parent);
	many(&x, 100, 600, MS);
	if (o->two)
		text_line(&x, "@cpu 1\n%ld 200 syscall nr=read fd=7 ret=29 count=99 dur=200",
			  x.t + o->read - MS);
	works(&x, 1, 200, 8, x.t + o->read, o->sleeps);
	if (o->second)
		works(&x, 2, 101, 8, x.t + o->read, false);
	wakes(&x);
	text_line(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", x.t + 5000);
	stays(&x, "epoll_wait", -1, 0);
	text_line(&x, "%ld 100 syscall nr=write fd=6 ret=9 count=9 dur=200", x.t);
	x.t += 1000;
	return judged_after(&x, o->green ? "UPDATE thread SET green=1 WHERE tid=200" : NULL);
}

static void is_named(const struct other *o, int n)
{
	sqlite3 *db = waits_beside(o);

	is_text(db, CAUSE_VALUE("v.text", "state"),
		"waiting in poll with all requests already read");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_worker'", n);
	if (n) {
		is_number(db, FINDING_VALUE("pause_worker", "worker", "v.id"), 200);
		is_within(db, FINDING_VALUE("pause_worker", "share", "v.number"), 99, 100);
	}
	db_close(db);
}

static void the_process_that_works_is_named(void **state)
{
	(void)state;
	is_named(&(struct other){ .parent = 50, .read = -5 * MS }, 1);
	is_named(&(struct other){ .parent = 50, .read = -5 * MS, .two = true }, 1);
}

/* Of another parent; read when the others waited already; asleep for most of it; one of two; a
 * request that another thread may work on. */
static void what_may_not_be_waited_for_is_not_named(void **state)
{
	(void)state;
	is_named(&(struct other){ .parent = 51, .read = -5 * MS }, 0);
	is_named(&(struct other){ .parent = 50, .read = 1000 }, 0);
	is_named(&(struct other){ .parent = 50, .read = -5 * MS, .sleeps = true }, 0);
	is_named(&(struct other){ .parent = 50, .read = -5 * MS, .second = true }, 0);
	is_named(&(struct other){ .parent = 50, .read = -5 * MS, .green = true }, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_process_that_works_is_named),
		T(what_may_not_be_waited_for_is_not_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
