// SPDX-License-Identifier: GPL-2.0-or-later
/* verdict_by_name.c: silences while only requests wait that are answered late by design. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define ITEMS 250 /* requests of /item next to each of them: of all, 1 in 100 is a /wait */
#define POLLS 24  /* pairs of requests of /wait, each answered after 200 ms */

/*
 * While /wait waits for its timer, /item is asked and answered; from this poll on, not at
 * all. late: while this one waits, an /item is read 150 ms before its answer.
 */
static sqlite3 *polled(int silent, int late)
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
			text_line(&x, "%ld 100 syscall nr=read fd=6 ret=29 count=99 dur=200", t);
			text_line(&x, "%ld 100 head conn=6 pos=%d len=29 name=1 requests=1", t,
				  (i * ITEMS + k) * 29);
			t += held ? 150 * MS : 100000 + 10000 * (k % 7);
			text_line(&x, "%ld 100 syscall nr=write fd=6 ret=9 count=9 dur=200", t);
		}
		t = from + 200 * MS;
		text_line(&x, "%ld 100 switch next=0 state=1\n%ld 0 switch next=100", t - 9000,
			  t - 5000);
		text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=200 dur=5000 ret=0",
			  t - 3000);
		text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", t);
		text_line(&x, "%ld 100 syscall nr=write fd=7 ret=9 count=9 dur=200", t + 9000);
		x.t = t + MS;
	}
	return judged(&x, NULL);
}

static void silences_between_late_answers_are_no_pauses(void **state)
{
	sqlite3 *db = polled(20, POLLS);

	(void)state;
	/* four of 200 ms, longer than the limit */
	is_number(db, "SELECT count(*) FROM pause WHERE dur > 150000000", 4);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 0);
	db_close(db);
	/* in one of them, a request of a name waits that is answered at once at other times */
	db = polled(20, 22);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", 1);
	db_close(db);
	/* nothing says how long they take at other times */
	db = polled(2, POLLS);
	is_number(db, "SELECT count(*) FROM pause WHERE counts", POLLS - 2);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(silences_between_late_answers_are_no_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
