// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_overdue.c: requests without an answer at the end, whose threads
 * have waited for a futex since they read them, next to others that are answered; and what only
 * looks so.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

#define MS	 1000000L
#define END	 (SECONDS * 1000 * MS)
#define VERDICT	 "SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define IS_STUCK "SELECT count(*) FROM verdict WHERE kind='stuck'"
#define STUCK	 3 /* names 2 to 4, of threads 102 to 104 */

/* They read their last request then, and wait in this call; before, so many had an answer. */
struct waiting {
	long since;
	const char *call;
	int before;
	long longest; /* ns, of those that had */
	bool handed;  /* thread 100 answers them */
	bool idle;    /* between requests, they wait at the same place */
	bool woken;   /* and sleep again */
	bool lost;
};

/* A request that gets no answer. */
static void ask_only(struct buf *x, int name, int tid, long t)
{
	struct err e = { 0 };

	buf_printf(x, &e, "%ld 0 segment conn=%d pos=%d len=10 unread=0\n", t, name, 1 << 20);
	buf_printf(x, &e, "%ld %d syscall nr=read fd=%d dur=1 ret=10\n", t + 10000, tid, 4 + name);
	buf_printf(x, &e, "%ld %d head conn=%d pos=%d len=10 name=%d requests=1\n", t + 10000, tid,
		   name, 1 << 20, name);
}

/* A thread runs from its wakeup to the end of its request, or to its wait. */
static void serve(struct buf *x, const struct waiting *w, int name, long t, bool answered)
{
	long end = t + 100000 + rand() % 9000;
	struct err e = { 0 };
	int tid = 100 + name;

	end = answered && t < 100 * MS ? t + w->longest : end;
	buf_printf(x, &e, "%ld 0 waking target=%d context=1\n%ld 0 switch next=%d\n", t, tid,
		   t + 1000, tid);
	if (w->idle)
		buf_printf(x, &e, "%ld %d offcpu pid=100 dur=%d user_stack=3 state=1\n", t + 1000,
			   tid, 5000000);
	if (answered)
		ask_and(x, name, tid, w->handed ? 100 : tid, t, t + 10000, end);
	else
		ask_only(x, name, tid, t);
	buf_printf(x, &e, "%ld %d switch next=0 state=1\n", end + 1000, tid);
}

/* The call that it sleeps in since then is ended by this one; 0: by its time limit. */
static void end_call(struct buf *x, const struct waiting *w, int tid, int waker, long began,
		     long end)
{
	struct err e = { 0 };

	buf_printf(x, &e, "%ld %d waking target=%d%s\n%ld 0 switch next=%d\n", end, waker, tid,
		   waker ? "" : " context=1", end + 1000, tid);
	buf_printf(x, &e, "%ld %d syscall_args nr=%s arg0=4096 dur=%ld\n", end + 2000, tid, w->call,
		   end - began + 30000);
}

/* What it waits in since then, until the recording ends. */
static void wait_on(struct buf *x, const struct waiting *w, int name)
{
	struct err e = { 0 };
	int tid = 100 + name;
	long began = w->since + name * MS + 120000;

	if (w->lost)
		buf_printf(x, &e,
			   "@block\n%ld 0 counters cpu=%d group=syscalls seen=9999"
			   " lost_full=9\n@lost 9\n@block\n",
			   began + MS, name);
	if (w->woken || w->lost) {
		end_call(x, w, tid, 101, began, began + 500 * MS);
		began += 500 * MS + 3000;
		buf_printf(x, &e, "%ld %d switch next=0 state=1\n", began, tid);
	}
	end_call(x, w, tid, 0, began, END - 20000);
	if (w->idle)
		buf_printf(x, &e, "%ld %d offcpu pid=100 dur=%ld user_stack=3 state=1\n",
			   END - 17000, tid, END - 20000 - began);
}

static sqlite3 *at_the_end(struct waiting w)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, each = w.longest > 10 * MS ? w.longest : 10 * MS;
	int i, name;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e,
		   "@recorder\n10 0 module id=1 kind=3 path=\"/srv/bin/app\"\n"
		   "10 0 frame id=1 module=1 address=0x1000\n10 0 stack id=3 frame=1\n@cpu 0\n");
	for (t = 20 * MS; t < END - 50 * MS; t += 10 * MS)
		ask(&x, 1, 100, t, t + 10000, t + 100000 + rand() % 9000);
	for (name = 2; name < 2 + STUCK; name++) {
		buf_printf(&x, &e, "@cpu %d\n", name);
		for (i = 0; i < w.before; i++)
			serve(&x, &w, name, 20 * MS + i * each, true);
		serve(&x, &w, name, w.since + name * MS, false);
		wait_on(&x, &w, name);
	}
	return analysed(loaded_buf(&x), NULL);
}

static const struct waiting deadlock = {
	.since = 5000 * MS, .call = "futex", .before = 60, .longest = 200000
};

static void threads_wait_for_each_other(void **state)
{
	sqlite3 *db = at_the_end(deadlock);
	struct waiting w = deadlock;

	(void)state;
	is_text(db, VERDICT, "problem stuck");
	is_number(db, "SELECT n FROM verdict", STUCK);
	is_number(db, "SELECT due FROM verdict", STUCK);
	is_within(db, "SELECT start FROM verdict", 5001e6, 5003e6);
	is_number(db, FINDING_VALUE("verdict_overdue", "others", "v.number"), STUCK - 1);
	is_within(db, FINDING_VALUE("verdict_overdue", "max", "v.number"), 4.99e9, 5e9);
	is_within(db, FINDING_VALUE("verdict_overdue", "usual", "v.number"), 1e5, 3e5);
	is_number(db, FINDING_VALUE("overdue_thread", "others", "v.number"), STUCK - 1);
	is_text(db, FINDING_VALUE("overdue_thread", "none", "v.text"), "No thread");
	db_close(db);
	/* who tried to end it */
	w.woken = true;
	db = at_the_end(w);
	is_text(db, VERDICT, "problem stuck");
	is_number(db, FINDING_VALUE("overdue_thread", "waker", "v.id"), 101);
	db_close(db);
}

static void what_only_looks_so(void **state)
{
	const struct {
		const char *what;
		struct waiting w;
	} cases[] = {
		{ "they arrived shortly before the end",
		  { .since = 9500 * MS, .call = "futex", .before = 60, .longest = 200000 } },
		{ "one of them took long",
		  { .since = 5000 * MS, .call = "futex", .before = 8, .longest = 600 * MS } },
		{ "few had answers",
		  { .since = 5000 * MS, .call = "futex", .before = 4, .longest = 200000 } },
		{ "poll",
		  { .since = 5000 * MS, .call = "epoll_wait", .before = 60, .longest = 200000 } },
		{ "a disk",
		  { .since = 5000 * MS, .call = "fsync", .before = 60, .longest = 200000 } },
		{ "others answer them",
		  { .since = 5000 * MS,
		    .call = "futex",
		    .before = 60,
		    .longest = 200000,
		    .handed = true } },
		{ "lost events",
		  { .since = 5000 * MS,
		    .call = "futex",
		    .before = 60,
		    .longest = 200000,
		    .lost = true } },
		{ "idle threads",
		  { .since = 5000 * MS,
		    .call = "futex",
		    .before = 60,
		    .longest = 200000,
		    .idle = true } },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = at_the_end(cases[i].w);

		if (asked(db, IS_STUCK))
			fail_msg("%s", cases[i].what);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(threads_wait_for_each_other),
		T(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
