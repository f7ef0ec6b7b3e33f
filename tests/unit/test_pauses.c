// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses.c and silences.c: when a server answered nothing although requests
 * waited. */
#include "tests/lib/unit.h"

#include "analyze/analyses/analysis.h"
#include "analyze/analyses/silences.h"
#include "format/buf.h"
#include "tests/lib/loaded.h"

#include <stdlib.h>

#define MS 1000000L

/* ---- silences against their definition ---- */

#define N_RANDOM 300

struct random_request {
	s64 arrival, end;
};

/* Pauses of at least SILENCE_LEAST, straight from the definition; returns their total and number.
 */
static s64 by_definition(const struct random_request *r, int n, int *ret_n)
{
	s64 total = 0;
	int i, k;

	*ret_n = 0;
	for (i = 0; i < n; i++) { /* the silence that ends with the answer i */
		s64 last = 0, newest = -1, start = r[i].end;

		for (k = 0; k < n; k++)
			if (r[k].end < r[i].end) {
				last = r[k].end > last ? r[k].end : last;
				newest = r[k].arrival > newest ? r[k].arrival : newest;
			}
		for (k = 0; k < n; k++)
			if (r[k].end >= r[i].end && r[k].arrival > newest && r[k].arrival < start)
				start = r[k].arrival;
		start = start > last ? start : last;
		if (r[i].end - start >= SILENCE_LEAST) {
			total += r[i].end - start;
			++*ret_n;
		}
	}
	return total;
}

static void silences_are_as_defined(void **state)
{
	struct random_request r[N_RANDOM];
	struct err e = { 0 };
	int round, i, n, found;
	s64 total;
	size_t k;

	(void)state;
	srand(7);
	for (round = 0; round < 60; round++) {
		struct silences s;
		s64 sum = 0, at = 0;

		for (i = 0; i < N_RANDOM; i++) {
			/* bursts, idle times, and requests that are overtaken */
			at += rand() % 9 ? rand() % 300000 : rand() % 9000000;
			r[i].end = at + 1;
			r[i].arrival = at - rand() % (rand() % 4 ? 400000 : 12000000);
			r[i].arrival = r[i].arrival < 0 ? 0 : r[i].arrival;
			at++;
		}
		total = by_definition(r, N_RANDOM, &n);
		assert_int_equal(silences_begin(&s, 1, at + 1000000, &e), 0);
		for (i = 0; i < N_RANDOM; i++)
			silences_answer(&s, 0, r[i].arrival, r[i].end);
		assert_int_equal(silences_between(&s, &e), 0);
		for (i = N_RANDOM - 1; i >= 0; i--) /* in any order */
			silences_arrival(&s, 0, r[i].arrival, r[i].end);
		silences_end(&s, 100000);
		for (k = 0, found = (int)s.n; k < s.n; k++)
			sum += s.v[k].end - s.v[k].start;
		silences_free(&s);
		assert_int_equal(found, n);
		assert_int_equal(sum, total);
		assert_true(n > 5);
	}
}

/* ---- recordings ---- */

struct text {
	struct buf b;
	long t;
};

static void add(struct text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *x, const char *fmt, ...)
{
	struct err e = { 0 };
	char line[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	assert_int_equal(buf_printf(&x->b, &e, "%s\n", line), 0);
}

static void connection(struct text *x, int pid, int fd)
{
	add(x,
	    "20 %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80 dport=%d "
	    "saddr=127.0.0.1 daddr=10.0.0.9",
	    pid, pid, fd, 1000 * pid + fd, 40000 + fd);
}

static void head(struct text *x)
{
	int i;

	add(x,
	    "@recorder\n1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,sched\"");
	add(x, "4 100 thread pid=100 state=83 comm=\"server\" cmdline=\"server\"");
	add(x, "5 101 thread pid=100 state=83 comm=\"server\"");
	add(x, "6 200 thread pid=200 state=83 comm=\"server\" cmdline=\"server\"");
	for (i = 5; i < 9; i++) {
		connection(x, 100, i);
		connection(x, 200, i);
	}
	add(x, "30 0 info text=\"snapshot=30\"\n31 0 info text=\"begin=31\"\n@cpu 0");
	x->t = MS;
}

/* The thread wakes, reads on fd, works, answers, and sleeps in epoll_wait. */
static void request(struct text *x, int tid, int fd, long work)
{
	add(x, "%ld 0 waking target=%d context=1", x->t, tid);
	add(x, "%ld 0 switch next=%d", x->t + 1000, tid);
	add(x, "%ld %d syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1", x->t + 2000, tid);
	add(x, "%ld %d syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 3000, tid, fd);
	add(x, "%ld %d syscall nr=write fd=%d ret=900 count=900 dur=200", x->t + 4000 + work, tid,
	    fd);
	add(x, "%ld %d switch next=0 state=1", x->t + 5000 + work, tid);
	x->t += 6000 + work;
}

static void many(struct text *x, int tid, int n, long gap)
{
	int i;

	for (i = 0; i < n; i++) {
		request(x, tid, 5 + i % 3, 20000);
		x->t += gap;
	}
}

static sqlite3 *answered(struct text *x)
{
	struct err e = { 0 };
	sqlite3 *db;

	add(x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x->t, x->t);
	db = loaded(x->b.data);
	buf_free(&x->b);
	if (analyses_run(db, "pauses", &e) < 0)
		fail_msg("%s", e.text);
	return db;
}

static void a_request_that_runs_alone_is_a_pause(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	head(&x);
	many(&x, 100, 200, MS);
	request(&x, 100, 8, 300 * MS);
	many(&x, 100, 200, MS);
	db = answered(&x);
	assert_int_equal(asked(db, "SELECT count(*) FROM pause"), 1);
	assert_in_range(asked(db, "SELECT dur FROM pause"), 300 * MS, 301 * MS);
	assert_int_equal(asked(db, "SELECT tid FROM pause"), 100);
	assert_int_equal(asked(db, "SELECT fd FROM pause"), 8);
	assert_int_equal(asked(db, "SELECT recv_bytes FROM pause"), 29);
	assert_int_equal(asked(db, "SELECT send_bytes FROM pause"), 900);
	assert_true(asked(db, "SELECT 100 * run / dur FROM pause") >= 99);
	assert_int_equal(asked(db,
			       "SELECT request=(SELECT rowid FROM turn ORDER BY dur DESC LIMIT 1)"
			       " FROM pause"),
			 1);
	sqlite3_close(db);
}

/* Thread 101, or process 200, holds one request for 300 ms; 100 goes on answering. */
static void answered_beside(int tid)
{
	struct text x = { 0 };
	sqlite3 *db;
	long end;

	head(&x);
	many(&x, 100, 100, MS / 2);
	add(&x, "@cpu 1\n%ld 0 switch next=%d", x.t, tid);
	add(&x, "%ld %d syscall nr=read fd=8 ret=29 count=99 dur=200", x.t + 3000, tid);
	end = x.t + 300 * MS;
	add(&x, "%ld %d syscall nr=write fd=8 ret=9 count=9 dur=200", end, tid);
	add(&x, "%ld %d switch next=0 state=1\n@cpu 0", end + 1000, tid);
	x.t += 5000;
	many(&x, 100, 800, MS / 2);
	db = answered(&x);
	assert_int_equal(asked(db, "SELECT max(dur) > 300000000 - 5000 FROM turn"), 1);
	assert_int_equal(asked(db, "SELECT count(*) FROM server"), 1);
	assert_int_equal(asked(db, "SELECT count(*) FROM pause"), 0);
	sqlite3_close(db);
}

static void a_slow_request_beside_answered_ones_is_none(void **state)
{
	(void)state;
	answered_beside(101);
	answered_beside(200);
}

/* A request that stays open while others come and go makes no pause of the idle times. */
static void a_long_poll_makes_none(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	head(&x);
	add(&x, "@cpu 1\n%ld 0 switch next=101", x.t);
	add(&x, "%ld 101 syscall nr=read fd=8 ret=29 count=99 dur=200", x.t + 3000);
	add(&x, "%ld 101 switch next=0 state=1", x.t + 4000);
	add(&x, "%ld 0 switch next=101", x.t + 3000 * MS);
	add(&x, "%ld 101 syscall nr=write fd=8 ret=9 count=9 dur=200", x.t + 3001 * MS);
	add(&x, "%ld 101 switch next=0 state=1\n@cpu 0", x.t + 3002 * MS);
	x.t += 5 * MS;
	for (i = 0; i < 20; i++) {
		request(&x, 100, 5, 20000);
		x.t += 150 * MS;
	}
	db = answered(&x);
	assert_int_equal(asked(db, "SELECT max(dur) > 2999000000 FROM turn"), 1);
	assert_int_equal(asked(db, "SELECT count(*) FROM pause WHERE dur > 10000000"), 0);
	sqlite3_close(db);
}

/* Nobody serves while the thread waits for a disk: the states say so. */
static void states_of_the_thread_are_told_apart(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	head(&x);
	many(&x, 100, 50, MS);
	add(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	add(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", x.t + 3000);
	add(&x, "%ld 100 switch next=0 state=2 flags=2", x.t + 10000);
	add(&x, "%ld 101 waking target=100\n%ld 0 switch next=100", x.t + 150 * MS, x.t + 200 * MS);
	add(&x, "%ld 100 syscall nr=fsync fd=3 dur=%ld", x.t + 201 * MS, 200 * MS);
	add(&x, "%ld 100 syscall nr=write fd=6 ret=9 count=9 dur=200", x.t + 202 * MS);
	add(&x, "%ld 100 switch next=0 state=1", x.t + 202 * MS + 1000);
	x.t += 203 * MS;
	many(&x, 100, 50, MS);
	db = answered(&x);
	assert_in_range(asked(db, "SELECT disk FROM pause"), 149 * MS, 150 * MS);
	assert_in_range(asked(db, "SELECT woken FROM pause"), 50 * MS, 50 * MS);
	assert_int_equal(asked(db, "SELECT partner FROM pause"), 101);
	assert_int_equal(
		asked(db, "SELECT n.name='fsync' FROM pause JOIN syscall_name n USING(abi, nr)"),
		1);
	sqlite3_close(db);
}

/* Without requests: what its busiest thread waited for. */
static void a_process_without_requests_has_those_of_its_thread(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	head(&x);
	add(&x, "%ld 0 switch next=100", x.t);
	add(&x, "%ld 100 switch next=0 state=2 flags=2", x.t + 100 * MS);
	add(&x, "%ld 0 waking target=100\n%ld 0 switch next=100", x.t + 1600 * MS, x.t + 1600 * MS);
	add(&x, "%ld 100 syscall nr=fsync fd=3 dur=5", x.t + 1601 * MS);
	add(&x, "%ld 100 switch next=0 flags=1", x.t + 1700 * MS);
	x.t += 1700 * MS + 1000;
	db = answered(&x);
	assert_int_equal(asked(db, "SELECT count(*) FROM pause"), 1);
	assert_int_equal(asked(db, "SELECT dur FROM pause"), 1500 * MS);
	assert_int_equal(asked(db, "SELECT disk FROM pause"), 1500 * MS);
	assert_int_equal(asked(db, "SELECT server FROM pause"), 0);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(silences_are_as_defined),
		T(a_request_that_runs_alone_is_a_pause),
		T(a_slow_request_beside_answered_ones_is_none),
		T(a_long_poll_makes_none),
		T(states_of_the_thread_are_told_apart),
		T(a_process_without_requests_has_those_of_its_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
