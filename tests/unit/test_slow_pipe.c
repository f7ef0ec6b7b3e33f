// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/pauses/pause_pipe.c: requests are slow, as a thread that answered the one before
 * on their connection waits to write its log into a full pipe; and what only looks so.
 */
#include "tests/lib/pooled.h"

#define SECONDS 8
#define THREADS 4 /* from 101 on, each with a CPU and a connection of its own */
#define QUICK	5 /* another one: it answers all the time, and what waited on the others */
#define WRITER	6 /* one without requests */

struct log {
	const char *call;
	int fd;	      /* 30: a pipe, 31: a socket */
	bool another; /* thread waits for the pipe; those of the requests for a lock */
};

static void begin(struct text *x)
{
	int k;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(
		x,
		"1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,sched,requests\"");
	text_line(x, "3 100 thread pid=100 state=83 comm=\"web\"");
	text_line(x, "3 300 thread pid=300 state=83 comm=\"logger\"");
	for (k = 1; k <= WRITER; k++) {
		text_line(x, "5 %d thread pid=100 state=83 comm=\"web\"", 100 + k);
		text_line(x,
			  "6 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1"
			  " sport=80 dport=%d daddr=10.0.0.9",
			  10 + k, 1000 + k, 4000 + k);
	}
	text_line(x, "6 100 fd pid=100 fd=30 mode=0010600 ino=77 path=\"pipe:[77]\"");
	text_line(x, "6 300 fd pid=300 fd=0 mode=0010600 ino=77 path=\"pipe:[77]\"");
	text_line(x, "6 100 fd pid=100 fd=31 mode=0140000 ino=78 family=1 role=3 socktype=1");
	text_line(x, "31 0 info text=\"begin=31\"\n@cpu 0");
	for (k = 1; k <= QUICK; k++)
		text_line(x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 40 + k, k,
			  1000 + k, k);
}

static long pos[QUICK + 1];

/* A request on the connection of k wakes a thread, which reads and answers it. */
static void served(struct pool_text *x, int k, int by, long t, long arrival)
{
	x->cpu = 0;
	pool_line(x, arrival, "0 segment conn=%d pos=%ld len=29 unread=0", k, pos[k]);
	pos[k] += 29;
	x->cpu = by;
	pool_line(x, t, "0 waking target=%d context=1", 100 + by);
	pool_line(x, t + 1000, "0 switch next=%d", 100 + by);
	pool_line(x, t + 2000, "%d syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=500 ret=1",
		  100 + by);
	pool_line(x, t + 3000, "%d syscall nr=read fd=%d ret=29 count=99 dur=200", 100 + by,
		  10 + k);
	pool_line(x, t + 90000, "%d syscall nr=write fd=%d ret=900 count=900 dur=200", 100 + by,
		  10 + k);
}

static void sleeps(struct pool_text *x, int k, long t)
{
	x->cpu = k;
	pool_line(x, t, "%d switch next=0 state=1", 100 + k);
}

/* It waits in this call for 100 ms. */
static void waits(struct pool_text *x, int k, long t, const char *call, int fd)
{
	bool futex = !call;

	sleeps(x, k, t);
	pool_line(x, t + 100 * POOL_MS, "300 waking target=%d", 100 + k);
	pool_line(x, t + 100 * POOL_MS + 1000, "0 switch next=%d", 100 + k);
	pool_line(x, t + 100 * POOL_MS + 2000, "%d syscall%s nr=%s %s=%d ret=9 dur=%ld", 100 + k,
		  futex ? "_args" : "", futex ? "futex" : call, futex ? "arg0" : "fd",
		  futex ? 4096 : fd, 100 * POOL_MS + 4000);
}

static sqlite3 *judged(struct log m)
{
	long middle = SECONDS * 500 * POOL_MS, last = SECONDS * 1000 * POOL_MS, t;
	struct pool_text x = { .v = calloc(POOL_LINES, sizeof(*x.v)) };
	struct text head = { 0 };
	int k;

	memset(pos, 0, sizeof(pos));
	begin(&head);
	for (k = 1; k <= THREADS; k++) {
		for (t = POOL_MS * k; t < middle; t += 10 * POOL_MS) {
			served(&x, k, k, t, t);
			sleeps(&x, k, t + 95000);
		}
		for (; t < last - 150 * POOL_MS; t += 110 * POOL_MS) {
			served(&x, k, k, t, t);
			waits(&x, k, t + 95000, m.another ? NULL : m.call, m.fd);
			sleeps(&x, k, t + 101 * POOL_MS);
			served(&x, k, QUICK, t + 101 * POOL_MS, t + 10 * POOL_MS);
			sleeps(&x, QUICK, t + 101 * POOL_MS + 95000);
			if (m.another && k == 1) {
				waits(&x, WRITER, t + 95000, m.call, m.fd);
				sleeps(&x, WRITER, t + 101 * POOL_MS);
			}
		}
	}
	for (t = POOL_MS; t < last; t += 10 * POOL_MS) {
		served(&x, QUICK, QUICK, t, t);
		sleeps(&x, QUICK, t + 95000);
	}
	x.cpu = 7;
	pool_line(&x, middle, "300 syscall nr=read fd=0 ret=4096 count=4096 dur=200");
	return analysed(pool_loaded(&head, &x, last), NULL);
}

#define VALUE(what, name) FINDING_VALUE("pause_pipe", name, what)

static void logs_that_wait_for_a_pipe_delay_requests(void **state)
{
	sqlite3 *db = judged((struct log){ "write", 30, false });

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_number(db, VALUE("v.id", "reader"), 300);
	is_number(db, VALUE("v.number", "others"), THREADS - 1);
	is_within(db, VALUE("v.number", "longest"), 99 * POOL_MS, 101 * POOL_MS);
	is_above(db, VALUE("v.number", "blocked"), 80);
	db_close(db);
}

/* They read from the pipe; it is a socket; another thread waits for the pipe. */
static void what_only_looks_so(void **state)
{
	static const struct log all[] = {
		{ "read", 30, false },
		{ "write", 31, false },
		{ "write", 30, true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = judged(all[i]);

		is_text(db, "SELECT status FROM verdict WHERE rank=1", "problem");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_pipe'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(logs_that_wait_for_a_pipe_delay_requests),
		T(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
