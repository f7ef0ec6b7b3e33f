// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_pauses.c: where most requests wait in short pauses, as consumers
 * do for what is produced, a far longer one is a problem, unless an arrival ended it.
 */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#include <math.h>
#include <stdio.h>

#define CYCLES 60

enum ending {
	NOTHING,     /* the answers come from elsewhere */
	AN_ARRIVAL,  /* a request on fd 8 is read, then the others are answered */
	ARRIVED,     /* it is read, the thread sleeps again, and the answers come from elsewhere */
	WITH_MIDDLE, /* AN_ARRIVAL, and another one in the middle, which is answered at the end */
	WITH_CLOSED, /* the same, but it has no answer: its connection is closed */
	WITH_NAME,   /* AN_ARRIVAL; one that waits has a name */
};

static void waken(struct text *x, long ts, long slept)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", ts, ts + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1", ts + 2000,
		  slept);
}

/* A request on fd 9 in the middle. */
static void middle(struct text *x, long ts, bool closed)
{
	waken(x, ts, 1000 * MS);
	text_line(x, "%ld 100 syscall nr=read fd=9 ret=29 count=99 dur=200", ts + 2500);
	text_line(x, "%ld 100 switch next=0 state=1", ts + 4000);
	if (!closed)
		return;
	ts += 500 * MS;
	waken(x, ts, 499 * MS);
	text_line(x, "%ld 100 syscall nr=read fd=9 ret=0 count=99 dur=200", ts + 2500);
	text_line(x, "%ld 100 syscall nr=close fd=9 ret=0 dur=20", ts + 3000);
	text_line(x, "%ld 100 switch next=0 state=1", ts + 4000);
}

/* Reads of fds 5 to 7; after a time in which the thread waits for input, their answers. */
static void cycle(struct text *x, int nth, long wait, enum ending how, bool in)
{
	int fd, last = in && how == WITH_MIDDLE ? 10 : 8;

	waken(x, x->t, 2000);
	for (fd = 5; fd < 8; fd++)
		text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
			  x->t + 3000 + fd, fd);
	if (how == WITH_NAME)
		text_line(x, "%ld 100 head conn=5 pos=%d len=29 name=1 requests=1", x->t + 3005,
			  nth * 29);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 9000);
	if (in && (how == WITH_MIDDLE || how == WITH_CLOSED))
		middle(x, x->t + 1000 * MS, how == WITH_CLOSED);
	x->t += wait;
	if (how == ARRIVED) {
		waken(x, x->t - 800000, wait - 805000);
		text_line(x, "%ld 100 syscall nr=read fd=8 ret=29 count=99 dur=200", x->t - 797000);
		text_line(x, "%ld 100 switch next=0 state=1", x->t - 790000);
	}
	waken(x, x->t, how == ARRIVED ? 785000 : wait - 5000);
	if (how != NOTHING && how != ARRIVED)
		text_line(x,
			  "%ld 100 syscall nr=read fd=8 ret=29 count=99 dur=200\n"
			  "%ld 100 syscall nr=write fd=8 ret=9 count=9 dur=200",
			  x->t + 2200, x->t + 2500);
	for (fd = 5; fd < last; fd++)
		if (fd != 8 || how == ARRIVED)
			text_line(x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=200",
				  x->t + 3000 + fd, fd);
	if (how == ARRIVED)
		text_line(x, "%ld 100 syscall nr=write fd=8 ret=9 count=9 dur=200", x->t + 3500);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 9000);
	x->t += MS;
}

/* n cycles; rare: one takes 3 s. */
static sqlite3 *cycles_of(int n, bool rare, enum ending how)
{
	struct text x = { 0 };
	int i;

	srand(3);
	head_of(&x, 5);
	if (how == WITH_NAME)
		text_line(&x, "@recorder\n34 0 request_name id=1 protocol=1 name=\"GET /\"\n"
			      "35 0 connection sock=5 ino=1005 conn=5 family=2 sport=80 dport=40000"
			      " side=1 saddr=127.0.0.1 daddr=10.0.0.9\n@cpu 0");
	for (i = 0; i < n; i++)
		cycle(&x, i, rare && i == n / 2 ? 3000 * MS : (70 + rand() % 20) * MS, how,
		      rare && i == n / 2);
	return judged(
		&x,
		how == WITH_CLOSED
			? "INSERT INTO request_closed(ts, read, end, pid, tid, fd, service) SELECT ts,"
			  " ts, ts + 500000000, 100, 100, 9, 1 FROM syscall WHERE fd=9 AND ret > 0"
			: NULL);
}

static sqlite3 *cycles(bool rare, enum ending how)
{
	return cycles_of(CYCLES, rare, how);
}

static void a_far_longer_pause_counts(void **state)
{
	sqlite3 *db = cycles(true, NOTHING);

	(void)state;
	is_verdict(db, "problem", "pauses");
	is_number(db, "SELECT pauses FROM verdict", 1);
	is_within(db, "SELECT paused FROM verdict", 2999 * MS, 3001 * MS);
	db_close(db);
}

/* How long a connection waits otherwise is not known from 10 requests. */
static void a_longer_pause_of_few_requests_does_not(void **state)
{
	sqlite3 *db = cycles_of(10, true, NOTHING);

	(void)state;
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='pauses'", 0);
	db_close(db);
	db = cycles_of(12, true, NOTHING);
	is_verdict(db, "problem", "pauses");
	db_close(db);
}

static void what_an_arrival_ends_does_not(void **state)
{
	sqlite3 *db = cycles(true, AN_ARRIVAL);

	(void)state;
	is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
	db_close(db);
	/* and the usual ones */
	db = cycles(false, NOTHING);
	is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
	db_close(db);
}

/* What arrives just before the end did not end it; what arrived in the middle had no answer. */
static void what_did_not_wait_for_an_arrival_counts(void **state)
{
	static const enum ending endings[] = { ARRIVED, WITH_MIDDLE, WITH_CLOSED, WITH_NAME };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		sqlite3 *db = cycles(true, endings[i]);

		is_verdict(db, "problem", "pauses");
		db_close(db);
	}
}

/* News at random times: the longest wait of all is often far longer than the next. */
static void random_waits_do_not(void **state)
{
	struct text x;
	sqlite3 *db;
	int seed, i;

	(void)state;
	for (seed = 1; seed <= 20; seed++) {
		x = (struct text){ 0 };
		srand((unsigned)seed);
		head(&x);
		for (i = 0; i < CYCLES; i++)
			cycle(&x, i,
			      (long)(300 * MS * -log((rand() + 1.0) / (RAND_MAX + 2.0))) + 20000,
			      NOTHING, false);
		db = judged(&x, NULL);
		is_number(db, "SELECT count(*) FROM verdict WHERE kind='pauses'", 0);
		db_close(db);
	}
}

/* Two requests of a name wait until the recording ends. */
static sqlite3 *hangs(int name)
{
	struct text x = { 0 };
	char facts[300];
	int i;

	srand(3);
	head_of(&x, 5);
	text_line(&x, "@recorder\n34 0 request_name id=1 protocol=1 name=\"GET /\"\n"
		      "34 0 request_name id=2 protocol=1 name=\"GET /events\"\n"
		      "35 0 connection sock=5 ino=1005 conn=5 family=2 sport=80 dport=40000"
		      " side=1 saddr=127.0.0.1 daddr=10.0.0.9\n@cpu 0");
	for (i = 0; i < 2 * CYCLES; i++)
		cycle(&x, i, (70 + rand() % 20) * MS, WITH_NAME, false);
	snprintf(
		facts, sizeof(facts),
		"INSERT INTO unanswered(ts, read, pid, tid, fd, service, client, name, answered)"
		" SELECT %ld + i, %ld, 100, 100, 5 + i, 1, 0, %d, 1 FROM (SELECT 0 AS i UNION SELECT 1)",
		x.t, x.t + 1000, name);
	x.t += 1500 * MS;
	return judged(&x, facts);
}

static void a_hang_at_the_end_counts(void **state)
{
	sqlite3 *db = hangs(1);

	(void)state;
	is_verdict(db, "problem", "pauses");
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 1);
	is_within(db, "SELECT dur FROM pause WHERE counts", 1499e6, 1501e6);
	db_close(db);
	/* they never had an answer */
	db = hangs(2);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_far_longer_pause_counts),	  T(a_longer_pause_of_few_requests_does_not),
		T(what_an_arrival_ends_does_not), T(what_did_not_wait_for_an_arrival_counts),
		T(random_waits_do_not),		  T(a_hang_at_the_end_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
