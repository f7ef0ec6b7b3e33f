// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_lookups.c: requests of an event loop wait for answers of a name
 * server on a socket that is not connected; and what only looks so.
 */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define TOGETHER 4 /* requests that wait for one answer */

/* ns, before and after half of the time: of an answer, of the poll after it, on the CPU. */
struct lookups {
	long answer[2], rest[2], run[2];
	bool outside; /* it is asked when the requests have been answered */
	int port;
};

/* Sleeps in poll until then. */
static long polled(struct text *x, long at, long dur)
{
	text_line(x, "%ld 100 switch next=0 state=1", at);
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", at + dur,
		  at + dur + 500);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1",
		  at + dur + 700, dur + 900);
	return at + dur + 1000;
}

static long lookup(struct text *x, const struct lookups *l, int half, long at)
{
	long each = l->answer[half];

	text_line(x, "%ld 100 datagram daddr=127.0.0.31 family=2 dport=%d", at, l->port);
	text_line(x, "%ld 100 syscall nr=sendto fd=20 ret=33 count=33 dur=200", at);
	/* what else the loop serves ends most of its sleeps */
	at = polled(x, at + 500, each - rand() % (each / 3));
	text_line(x, "%ld 100 syscall nr=read fd=22 ret=8 count=8 dur=200", at);
	at = polled(x, at + 500, 20000);
	text_line(x, "%ld 100 datagram daddr=127.0.0.31 family=2 dport=%d", at, l->port);
	text_line(x, "%ld 100 syscall nr=recvfrom fd=20 ret=50 count=999 dur=200", at);
	return at + 500;
}

/* Another server, with which a connection is open. */
static long origin(struct text *x, long at)
{
	text_line(x, "%ld 100 syscall nr=write fd=21 dur=200 ret=20", at + 500);
	at = polled(x, at + 1000, MS / 5);
	text_line(x, "%ld 100 syscall nr=read fd=21 dur=200 ret=30", at);
	return at + 500;
}

/* Requests that are read at once, and answered together. */
static void served(struct text *x, const struct lookups *l, int half)
{
	long at = polled(x, x->t, 1000);
	int i;

	for (i = 0; i < TOGETHER; i++)
		text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", at + 300 * i,
			  5 + i);
	at += 2000;
	at = l->outside ? at : lookup(x, l, half, at);
	at = l->rest[half] ? polled(x, at, l->rest[half] - rand() % (l->rest[half] / 3)) : at;
	at = origin(x, at);
	at += l->run[half] ? l->run[half] - rand() % (l->run[half] / 3) : 0;
	for (i = 0; i < TOGETHER; i++)
		text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200",
			  at + 300 * i, 5 + i);
	at += 2000;
	at = l->outside ? lookup(x, l, half, at) : at;
	x->t = polled(x, at, 9 * MS);
}

static sqlite3 *recorded(const struct lookups *l)
{
	struct text x = { 0 };
	int i;

	srand(1);
	head_of(&x, TOGETHER);
	text_line(&x,
		  "@recorder\n33 100 fd pid=100 fd=20 mode=0140000 ino=1020 family=2 role=4"
		  " socktype=2 sport=43801\n34 100 fd pid=100 fd=21 mode=0140000 ino=1021"
		  " family=2 role=3 socktype=1 sport=5000 dport=8231 saddr=127.0.0.1"
		  " daddr=127.0.0.1\n@cpu 0\n%ld 100 switch next=0 state=1",
		  x.t - 10);
	for (i = 0; i < 600; i++)
		served(&x, l, i >= 300);
	return judged(&x, NULL);
}

#define N "SELECT count(*) FROM finding WHERE kind='verdict_lookups'"

static void answers_of_a_name_server_that_requests_wait_for(void **state)
{
	const struct lookups l = { .answer = { MS, 8 * MS }, .port = 53 };
	sqlite3 *db = recorded(&l);

	(void)state;
	is_verdict(db, "problem", "slower");
	is_text(db, "SELECT remote FROM fd WHERE fd=20", "127.0.0.31:53");
	is_text(db, FINDING_VALUE("verdict_lookups", "upstream", "v.text"), "127.0.0.31:53");
	is_within(db, FINDING_VALUE("verdict_lookups", "each", "v.number"), 6 * MS, 8 * MS);
	is_within(db, FINDING_VALUE("verdict_lookups", "each_before", "v.number"), MS / 2, MS);
	db_close(db);
}

/* Requests compute during that time; wait for something else; the peer is no name server. */
static void what_only_looks_so(void **state)
{
	static const struct lookups all[] = {
		{ .answer = { MS, 8 * MS }, .run = { MS, 8 * MS }, .outside = true, .port = 53 },
		{ .answer = { MS, MS }, .rest = { MS, 8 * MS }, .port = 53 },
		{ .answer = { MS, 8 * MS }, .port = 8125 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = recorded(&all[i]);

		is_verdict(db, "problem", "slower");
		is_number(db, N, 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(answers_of_a_name_server_that_requests_wait_for),
		T(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
