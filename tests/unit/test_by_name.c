// SPDX-License-Identifier: GPL-2.0-or-later
/* verdict_by_name.c: silences while only requests wait that are answered late by design. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define ITEMS 250 /* requests of /item next to each of them: of all, 1 in 100 is a /wait */
#define POLLS 24  /* pairs of requests of /wait, each answered after 200 ms */

static void item(struct text *x, int pid, int fd, long at, int nth, long took)
{
	text_line(x, "%ld %d syscall nr=read fd=%d ret=29 count=99 dur=200", at, pid, fd);
	text_line(x, "%ld %d head conn=%d pos=%d len=29 name=1 requests=1", at, pid, fd, nth * 29);
	text_line(x, "%ld %d syscall nr=write fd=%d ret=9 count=9 dur=200", at + took, pid, fd);
}

static void waiting(struct text *x, int fd, long at, int nth)
{
	text_line(x, "%ld 101 syscall nr=read fd=%d ret=29 count=99 dur=200", at, fd);
	text_line(x, "%ld 101 head conn=%d pos=%d len=29 name=1 requests=1", at, fd, nth * 29);
}

/*
 * Another process of the server: two connections, an /item on either each 2 ms. stops: not for 160
 * ms of the last poll; two of them wait.
 */
static void next_to_it(struct text *x, bool stops)
{
	int fd, i, from = (POLLS - 1) * 200 + 20, to = from + 160;

	text_line(x,
		  "@recorder\n36 101 thread pid=101 state=83 comm=\"server\" cmdline=\"server\"");
	for (fd = 8; fd < 10; fd++) {
		text_line(x,
			  "37 101 fd pid=101 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1"
			  " sport=80 dport=4000%d saddr=127.0.0.1 daddr=10.0.0.9",
			  fd, 1000 + fd, fd);
		text_line(
			x,
			"38 0 connection sock=%d ino=%d conn=%d family=2 sport=80 dport=4000%d side=1"
			" saddr=127.0.0.1 daddr=10.0.0.9",
			fd, 1000 + fd, fd, fd);
	}
	text_line(x, "@cpu 1\n%ld 0 switch next=101", MS);
	for (i = 0; i < POLLS * 200; i++)
		if (!stops || i < from || i >= to)
			item(x, 101, 8 + i % 2, (i + 2) * MS, i / 2, 100000 + 10000 * (i % 7));
		else if (i < from + 2)
			waiting(x, 8 + i % 2, (from + 2) * MS + i % 2 * 1000, i / 2);
		else if (i >= to - 2)
			text_line(x, "%ld 101 syscall nr=write fd=%d ret=9 count=9 dur=200",
				  (to + 1) * MS + i % 2 * 1000, 8 + i % 2);
}

enum other { ALONE, ANOTHER, STOPS, SOONER };

/*
 * While /wait waits for its timer, /item is asked and answered; from this poll on, not at
 * all. late: while this one waits, an /item is read 150 ms before its answer. other: another
 * process of the server answers /item all the time. SOONER: one /wait of the first poll has an
 * answer at once.
 */
static sqlite3 *polled(int silent, int late, enum other other)
{
	struct text x = { 0 };
	long from, t;
	int i, k;

	head(&x);
	text_line(&x, "@recorder\n34 0 request_name id=1 protocol=1 name=\"GET /item\"");
	text_line(&x, "34 0 request_name id=2 protocol=1 name=\"GET /wait\"");
	for (i = 5; i < 8; i++)
		text_line(
			&x,
			"35 0 connection sock=%d ino=%d conn=%d family=2 sport=80 dport=4000%d side=1"
			" saddr=127.0.0.1 daddr=10.0.0.9",
			i, 1000 + i, i, i);
	text_line(&x, "@cpu 0");
	text_line(&x, "%ld 0 switch next=100", x.t);
	for (i = 0; i < POLLS; i++) {
		from = x.t;
		text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", from);
		text_line(&x, "%ld 100 head conn=5 pos=%d len=29 name=2 requests=1", from, i * 29);
		text_line(&x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", from + 1000);
		text_line(&x, "%ld 100 head conn=7 pos=%d len=29 name=2 requests=1", from + 1000,
			  i * 29);
		for (k = 0; k < ITEMS; k++) {
			bool held = i == late && k == 1, none = i >= silent && !held;

			t = from + (held ? 15 * MS : MS + k * 190 * MS / ITEMS);
			if (none)
				continue;
			item(&x, 100, 6, t, i * ITEMS + k,
			     held ? 150 * MS : 100000 + 10000 * (k % 7));
		}
		t = from + 200 * MS;
		text_line(&x, "%ld 100 switch next=0 state=1\n%ld 0 switch next=100", t - 9000,
			  t - 5000);
		text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=200 dur=5000 ret=0",
			  t - 3000);
		text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200",
			  other == SOONER && !i ? from + 9000 : t);
		text_line(&x, "%ld 100 syscall nr=write fd=7 ret=9 count=9 dur=200", t + 9000);
		x.t = t + MS;
	}
	if (other == ANOTHER || other == STOPS)
		next_to_it(&x, other == STOPS);
	return judged(&x, NULL);
}

static void silences_between_late_answers_are_no_pauses(void **state)
{
	sqlite3 *db = polled(20, POLLS, ALONE);

	(void)state;
	/* four of 200 ms, longer than the limit */
	is_number(db, "SELECT count(*) FROM pause WHERE dur > 150000000", 4);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 0);
	db_close(db);
	/* in one of them, a request of a name waits that is answered at once at other times */
	db = polled(20, 22, ALONE);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 1);
	db_close(db);
	/* nothing says how long they take at other times, but that they can have an answer sooner
	 */
	db = polled(2, POLLS, SOONER);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", POLLS - 2);
	db_close(db);
	/* none ever had one */
	db = polled(2, POLLS, ALONE);
	is_number(db, "SELECT count(*) FROM pause WHERE dur > 150000000", POLLS - 2);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 0);
	db_close(db);
}

static void nor_are_they_of_one_process(void **state)
{
	sqlite3 *db = polled(20, POLLS, ANOTHER);

	(void)state;
	is_number(db, "SELECT count(*) FROM pause WHERE service AND dur > 150000000", 4);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 0);
	db_close(db);
	/* the other one pauses, for less time */
	db = polled(20, POLLS, STOPS);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 1);
	is_within(db, "SELECT dur FROM pause WHERE counts", 157e6, 161e6);
	db_close(db);
	/* of the process that is silent, an item waits */
	db = polled(20, 22, ANOTHER);
	is_number(db, "SELECT count(*) FROM pause WHERE service AND counts", 1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(silences_between_late_answers_are_no_pauses),
		T(nor_are_they_of_one_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
