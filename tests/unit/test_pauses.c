// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pauses.c and silences.c: when a server answered nothing although requests
 * waited. */
#include "tests/lib/unit.h"

#include "analyze/analyses/pauses/silences.h"
#include "tests/lib/pausing.h"

#include <stdlib.h>

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
	is_number(db, "SELECT count(*) FROM pause", 1);
	assert_in_range(asked(db, "SELECT dur FROM pause"), 300 * MS, 301 * MS);
	is_number(db, "SELECT victims FROM pause", 1);
	is_number(db, "SELECT tid FROM pause", 100);
	is_number(db, "SELECT fd FROM pause", 8);
	is_number(db, "SELECT recv_bytes FROM pause", 29);
	is_number(db, "SELECT send_bytes FROM pause", 900);
	assert_true(asked(db, "SELECT 100 * run / dur FROM pause") >= 99);
	is_number(db,
		  "SELECT request=(SELECT rowid FROM request ORDER BY dur DESC LIMIT 1)"
		  " FROM pause",
		  1);
	db_close(db);
}

/* Thread 101, or process 200, holds one request for 300 ms; 100 goes on answering. */
static void answered_beside(int tid)
{
	struct text x = { 0 };
	sqlite3 *db;
	long end;

	head(&x);
	many(&x, 100, 100, MS / 2);
	text_line(&x, "@cpu 1\n%ld 0 switch next=%d", x.t, tid);
	text_line(&x, "%ld %d syscall nr=read fd=8 ret=29 count=99 dur=200", x.t + 3000, tid);
	end = x.t + 300 * MS;
	text_line(&x, "%ld %d syscall nr=write fd=8 ret=9 count=9 dur=200", end, tid);
	text_line(&x, "%ld %d switch next=0 state=1\n@cpu 0", end + 1000, tid);
	x.t += 5000;
	many(&x, 100, 800, MS / 2);
	db = answered(&x);
	is_above(db, "SELECT max(dur) FROM request", 300000000 - 5000);
	is_number(db, "SELECT count(*) FROM server", 1);
	is_number(db, "SELECT count(*) FROM pause", 0);
	db_close(db);
}

static void a_slow_request_among_answered_ones_is_no_pause(void **state)
{
	(void)state;
	answered_beside(101);
	answered_beside(200);
}

/* A request that stays open while others come and go makes no pause of the idle times. */
static void a_long_poll_is_no_pause(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	head(&x);
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", x.t);
	text_line(&x, "%ld 101 syscall nr=read fd=8 ret=29 count=99 dur=200", x.t + 3000);
	text_line(&x, "%ld 101 switch next=0 state=1", x.t + 4000);
	text_line(&x, "%ld 0 switch next=101", x.t + 3000 * MS);
	text_line(&x, "%ld 101 syscall nr=write fd=8 ret=9 count=9 dur=200", x.t + 3001 * MS);
	text_line(&x, "%ld 101 switch next=0 state=1\n@cpu 0", x.t + 3002 * MS);
	x.t += 5 * MS;
	for (i = 0; i < 20; i++) {
		request(&x, 100, 5, 20000);
		x.t += 150 * MS;
	}
	db = answered(&x);
	is_above(db, "SELECT max(dur) FROM request", 2999000000);
	is_number(db, "SELECT count(*) FROM pause WHERE dur > 10000000", 0);
	db_close(db);
}

/* No request is served while the thread waits for a disk: the states say so. */
static void states_of_the_thread_split_a_pause(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	head(&x);
	many(&x, 100, 50, MS);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	text_line(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", x.t + 3000);
	text_line(&x, "%ld 100 switch next=0 state=2 flags=2", x.t + 10000);
	text_line(&x, "%ld 101 waking target=100\n%ld 0 switch next=100", x.t + 150 * MS,
		  x.t + 200 * MS);
	text_line(&x, "%ld 100 syscall nr=fsync fd=3 dur=%ld", x.t + 201 * MS, 200 * MS);
	text_line(&x, "%ld 100 syscall nr=write fd=6 ret=9 count=9 dur=200", x.t + 202 * MS);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 202 * MS + 1000);
	x.t += 203 * MS;
	many(&x, 100, 50, MS);
	db = answered(&x);
	assert_in_range(asked(db, "SELECT disk FROM pause"), 149 * MS, 150 * MS);
	assert_in_range(asked(db, "SELECT woken FROM pause"), 50 * MS, 50 * MS);
	is_number(db, "SELECT partner FROM pause", 101);
	is_text(db, "SELECT n.name FROM pause JOIN syscall_name n USING(abi, nr)", "fsync");
	db_close(db);
}

/* A timer ends the first sleep; the thread looks and sleeps on: the last wakeup ends the pause. */
static void the_last_wakeup_ends_a_pause(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	head(&x);
	many(&x, 100, 50, MS);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	text_line(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", x.t + 3000);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 10000);
	text_line(&x, "%ld 0 waking target=100 context=2", x.t + 300 * MS);
	text_line(&x, "%ld 0 switch next=100", x.t + 300 * MS + 1000);
	text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=300 dur=%ld",
		  x.t + 300 * MS + 2000, 300 * MS - 5000);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 300 * MS + 4000);
	text_line(&x, "%ld 200 waking target=100", x.t + 400 * MS);
	text_line(&x, "%ld 0 switch next=100", x.t + 400 * MS + 1000);
	text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld",
		  x.t + 400 * MS + 2000, 100 * MS - 1000);
	text_line(&x, "%ld 100 syscall nr=write fd=6 ret=9 count=9 dur=200", x.t + 401 * MS);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 401 * MS + 1000);
	x.t += 402 * MS;
	many(&x, 100, 50, MS);
	db = answered(&x);
	is_above(db, "SELECT poll FROM pause WHERE id=1", 390000000);
	is_number(db, "SELECT partner FROM pause WHERE id=1", 200);
	db_close(db);
}

/* Without requests: what its busiest thread waited for. */
static void a_process_without_requests_has_those_of_its_thread(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;

	(void)state;
	head(&x);
	text_line(&x, "%ld 0 switch next=100", x.t);
	text_line(&x, "%ld 100 switch next=0 state=2 flags=2", x.t + 100 * MS);
	text_line(&x, "%ld 0 waking target=100\n%ld 0 switch next=100", x.t + 1600 * MS,
		  x.t + 1600 * MS);
	text_line(&x, "%ld 100 syscall nr=fsync fd=3 dur=5", x.t + 1601 * MS);
	text_line(&x, "%ld 100 switch next=0 flags=1", x.t + 1700 * MS);
	x.t += 1700 * MS + 1000;
	db = answered(&x);
	is_number(db, "SELECT count(*) FROM pause", 1);
	is_number(db, "SELECT dur FROM pause", 1500 * MS);
	is_number(db, "SELECT disk FROM pause", 1500 * MS);
	is_number(db, "SELECT server FROM pause", 0);
	db_close(db);
}

/* The thread reads two requests and runs on to the end of the recording. */
static sqlite3 *hung(int first_fd, int n_answered)
{
	struct text x = { 0 };
	int i;

	head(&x);
	many(&x, 100, n_answered, MS);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=2",
		  x.t + 2000);
	for (i = 0; i < 2; i++)
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
			  x.t + 3000 + i, first_fd + i);
	x.t += 700 * MS;
	return answered(&x);
}

/* Requests without an answer wait until the end; on sockets that never answered they may not. */
static void a_pause_need_not_end(void **state)
{
	sqlite3 *db = hung(5, 300);

	(void)state;
	is_number(db, "SELECT count(*) FROM unanswered WHERE tid=100 AND read >= ts", 2);
	is_number(db, "SELECT count(*) FROM pause WHERE waiting=2 AND tid=100", 1);
	is_within(db, "SELECT dur FROM pause", 698.9e6, 700.1e6);
	is_within(db, "SELECT 100 * run / dur FROM pause", 99, 100);
	db_close(db);
	db = hung(7, 2);
	is_number(db, "SELECT count(*) FROM unanswered WHERE answered", 0);
	is_number(db, "SELECT count(*) FROM unanswered WHERE read >= ts", 2);
	is_number(db, "SELECT count(*) FROM pause", 0);
	db_close(db);
}

/* Bytes that arrived and were never read wait as well; those that were read do not. */
static void unread_bytes_wait(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	head(&x);
	for (i = 5; i < 8; i++)
		text_line(&x, "%ld 0 connection sock=%d ino=%d conn=%d family=2 side=1", x.t, i,
			  100000 + i, i);
	for (i = 0; i < 300; i++) {
		text_line(&x, "%ld 0 segment conn=%d pos=%d len=29 unread=0", x.t - 500, 5 + i % 3,
			  29 * (i / 3));
		request(&x, 100, 5 + i % 3, 20000);
		x.t += MS;
	}
	text_line(&x, "%ld 0 segment conn=6 pos=2900 len=29 unread=0", x.t);
	x.t += 400 * MS;
	db = answered(&x);
	is_number(db, "SELECT count(*) FROM unanswered WHERE fd=6 AND read IS NULL", 1);
	is_number(db, "SELECT count(*) FROM unanswered", 1);
	is_within(db, "SELECT dur FROM pause", 399.9e6, 400.1e6);
	db_close(db);
}

static void sleep_until(struct text *x, long t)
{
	text_line(x, "%ld 100 switch next=0 state=1", x->t);
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1", t + 2000,
		  t - x->t + 2500);
	x->t = t + 3000;
}

/*
 * Two requests wait for 300 ms while the thread is in epoll. It has asked 10.0.0.5, which answers
 * after so long; peer: that server is recorded, and runs all the time. A question to 10.0.0.6 is
 * open for longer than the pause: a subscription. next: 10.0.0.5 is asked again after its answer.
 */
static sqlite3 *paused_by_upstream(long answer, bool peer, bool next)
{
	struct text x = { 0 };
	long start;
	int i;

	head(&x);
	text_line(&x,
		  "@recorder\n25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=3 socktype=1"
		  " sport=33000 dport=9000 saddr=10.0.0.1 daddr=10.0.0.5");
	if (peer)
		text_line(&x, "25 300 thread pid=300 state=83 comm=\"db\"\n"
			      "26 300 fd pid=300 fd=4 mode=0140000 ino=4 family=2 role=2 socktype=1"
			      " sport=9000 dport=33000 saddr=10.0.0.5 daddr=10.0.0.1");
	text_line(&x, "27 100 fd pid=100 fd=10 mode=0140000 ino=10 family=2 role=3 socktype=1"
		      " sport=33001 dport=9001 saddr=10.0.0.1 daddr=10.0.0.6");
	text_line(&x, "@cpu 0");
	many(&x, 100, 600, MS);
	start = x.t;
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	text_line(&x, "%ld 100 syscall nr=write fd=10 ret=40 count=40 dur=200", x.t + 2000);
	for (i = 7; i < 9; i++)
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
			  x.t + 1000 * i, i);
	text_line(&x, "%ld 100 syscall nr=write fd=9 ret=40 count=40 dur=200", x.t + 10000);
	x.t += 11000;
	sleep_until(&x, start + answer);
	text_line(&x, "%ld 100 syscall nr=read fd=9 ret=40 count=40 dur=200", x.t);
	x.t += 1000;
	if (next)
		text_line(&x, "%ld 100 syscall nr=write fd=9 ret=40 count=40 dur=200", x.t);
	x.t += 1000;
	if (answer < 300 * MS)
		sleep_until(&x, start + 300 * MS);
	if (next)
		text_line(&x, "%ld 100 syscall nr=read fd=9 ret=40 count=40 dur=200", x.t);
	for (i = 7; i < 9; i++)
		text_line(&x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200",
			  x.t + 1000 * i, i);
	text_line(&x, "%ld 100 syscall nr=read fd=10 ret=40 count=40 dur=200", x.t + 10000);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 11000);
	x.t += MS;
	many(&x, 100, 600, MS);
	if (peer)
		text_line(&x, "@cpu 1\n%ld 0 switch next=300\n%ld 300 switch next=0 state=1",
			  start - MS, x.t);
	return analysed(answered(&x), "verdict");
}

static void a_pause_names_the_upstream(void **state)
{
	sqlite3 *db = paused_by_upstream(300 * MS, true, false);
	int i;

	(void)state;
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
	is_text(db, CAUSE_VALUE("v.text", "upstream"), "10.0.0.5:9000");
	is_number(db, CAUSE_VALUE("v.id", "peer"), 300);
	is_text(db, CAUSE_VALUE("v.text", "peer_did"), "on a CPU or queued for one");
	is_within(db, CAUSE_VALUE("v.number", "peer_share"), 99, 100);
	db_close(db);
	db = paused_by_upstream(300 * MS, false, false);
	is_text(db, CAUSE_VALUE("v.text", "upstream"), "10.0.0.5:9000");
	is_number(db, CAUSE_VALUE("count(v.text)", "peer_did"), 0);
	db_close(db);
	/* it answered, and the thread waited again: something else ended the pause */
	for (i = 0; i < 2; i++) {
		db = paused_by_upstream((i ? 30 : 200) * MS, true, false);
		is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
		is_number(db, CAUSE_VALUE("count(v.text)", "upstream"), 0);
		db_close(db);
	}
	/* two questions, one after the other */
	db = paused_by_upstream(200 * MS, true, true);
	is_text(db, CAUSE_VALUE("v.text", "upstream"), "10.0.0.5:9000");
	db_close(db);
}

/* One request waits in two pauses, and one more in each: three. */
static void who_waits_twice_is_one(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	head(&x);
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", x.t);
	x.t += 1000;
	for (i = 0; i < 2; i++) {
		text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
		x.t += 1000;
		stays(&x, "futex", -1, 0);
		text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t);
		x.t += 1000;
	}
	text_line(&x, "%ld 100 syscall nr=write fd=6 ret=9 count=9 dur=200", x.t);
	x.t += 1000;
	text_line(&x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", x.t);
	x.t += 1000;
	db = judged(&x);
	is_number(db, "SELECT pauses FROM verdict", 2);
	is_number(db, "SELECT total(waiting) FROM pause WHERE counts", 4);
	is_number(db, "SELECT waited FROM verdict", 3);
	db_close(db);
}

/* Three requests are read; the thread answers nothing for 300 ms, then the last one 5 ms later. */
static sqlite3 *last_of_three(bool sleeps, bool queues)
{
	struct text x = { 0 };
	int fd;

	head(&x);
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	for (fd = 5; fd < 8; fd++)
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
			  x.t + 2000 * fd, fd);
	x.t += 20000;
	if (queues)
		text_line(&x, "%ld 100 switch next=300\n%ld 300 switch next=100 state=1", x.t,
			  x.t + 200 * MS);
	if (sleeps)
		stays(&x, "fsync", 3, 0);
	else
		x.t += 300 * MS;
	for (fd = 5; fd < 7; fd++)
		text_line(&x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=200",
			  x.t + 1000 * fd, fd);
	x.t += 5 * MS;
	return judged(&x);
}

/* The request for which the thread runs, or waits for a CPU, delays the others. */
static void a_request_is_no_victim_of_itself(void **state)
{
	sqlite3 *db;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		db = last_of_three(i == 2, i == 1);
		is_number(db, "SELECT waiting FROM pause WHERE counts", 3);
		is_number(db, "SELECT victims FROM pause WHERE counts", i == 2 ? 3 : 2);
		is_within(db, "SELECT max_wait FROM pause WHERE counts", 305e6, 305.1e6);
		is_within(db, "SELECT victim_wait FROM pause WHERE counts", i == 2 ? 305e6 : 300e6,
			  i == 2 ? 305.1e6 : 300.1e6);
		is_number(db, "SELECT waited FROM verdict", i == 2 ? 3 : 2);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_waits_twice_is_one),
		T(a_request_is_no_victim_of_itself),
		T(silences_are_as_defined),
		T(a_request_that_runs_alone_is_a_pause),
		T(a_slow_request_among_answered_ones_is_no_pause),
		T(a_long_poll_is_no_pause),
		T(states_of_the_thread_split_a_pause),
		T(the_last_wakeup_ends_a_pause),
		T(a_pause_need_not_end),
		T(unread_bytes_wait),
		T(a_process_without_requests_has_those_of_its_thread),
		T(a_pause_names_the_upstream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
