// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_turned.c: connections that are answered and closed unread. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

#define MS 1000000L

#define TURNED(what) FINDING_VALUE("verdict_turned", what, "v.number")

/* What happens to some of the new connections, from a time on. */
enum turning {
	TURNED,	    /* an answer, and closed */
	GREETED,    /* the server speaks first, then reads */
	LEFT,	    /* the same, and the client leaves before the server reads */
	ALWAYS,	    /* from the start */
	READ_FIRST, /* closed after each answer */
	TRIED,	    /* a read that would have blocked */
	TIMED_OUT,  /* no request arrived for long */
	UNANSWERED, /* closed without a byte */
	ELSEWHERE,  /* of another port */
	SELDOM,
	STRAY, /* one of them long before */
};

static void connection(struct buf *x, long t, int i, int client, int port)
{
	struct err e = { 0 };

	buf_printf(
		x, &e,
		"%ld 103 syscall_args nr=accept4 arg0=%d dur=9 ret=40\n"
		"+10 103 fd pid=100 fd=40 mode=0140000 ino=%d family=2 role=2 socktype=1 sport=%d"
		" dport=%d daddr=10.0.0.%d\n",
		t, port == 80 ? 3 : 2, 5000 + i, port, 1000 + i, client);
}

static void turned(struct buf *x, enum turning how, long t, int i)
{
	struct err e = { 0 };

	connection(x, t, i, i % 4 ? 7 : 8, how == ELSEWHERE ? 81 : 80);
	if (how == READ_FIRST || how == TRIED)
		buf_printf(x, &e, "+1000 103 syscall nr=read fd=40 dur=1 ret=%d\n",
			   how == TRIED ? -11 : 10);
	if (how == TIMED_OUT)
		buf_printf(x, &e, "%ld 103 syscall nr=getpid dur=1\n", t + 1500 * MS);
	if (how != UNANSWERED)
		buf_printf(x, &e, "+1000 103 syscall nr=write fd=40 dur=1 ret=33\n");
	if (how == LEFT)
		buf_printf(x, &e, "+5000 103 syscall nr=epoll_wait dur=3000 ret=1\n");
	if (how == GREETED)
		buf_printf(x, &e, "+5000 103 syscall nr=read fd=40 dur=3000 ret=0\n");
	buf_printf(x, &e, "+1000 103 syscall nr=close fd=40 dur=1\n");
}

/* New connections each 50 ms: every third of them in that way, the others are read. */
static sqlite3 *turning(enum turning how)
{
	long t, step = how == TIMED_OUT ? 1600 * MS : 50 * MS, from = how == ALWAYS ? 0 : 4000 * MS;
	struct buf x = { 0 };
	struct err e = { 0 };
	int i = 0;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++)
		ask(&x, 1 + i % 2, 100, t, t + 10000, t + 100000 + rand() % 9000);
	buf_printf(&x, &e,
		   "@recorder\n4 100 fd pid=100 fd=3 mode=0140000 ino=60 family=2 role=1 socktype=1"
		   " sport=80\n4 100 fd pid=100 fd=2 mode=0140000 ino=61 family=2 role=1 socktype=1"
		   " sport=81\n@cpu 1\n");
	for (t = 30 * MS, i = 0; t < 9800 * MS; t += t < from ? 50 * MS : step, i++) {
		bool stray = how == STRAY && i == 3;

		if ((t >= from && i % 3 == 0 && (how != SELDOM || i % 60 == 0)) || stray) {
			turned(&x, how, t, i);
			continue;
		}
		connection(&x, t, i, 9, 80);
		buf_printf(&x, &e,
			   "+1000 103 syscall nr=read fd=40 dur=1 ret=10\n"
			   "+1000 103 syscall nr=write fd=40 dur=1 ret=20\n"
			   "+1000 103 syscall nr=close fd=40 dur=1\n");
	}
	return analysed(loaded_buf(&x), NULL);
}

static void new_connections_that_are_turned_away(void **state)
{
	enum turning how;

	(void)state;
	for (how = TURNED; how <= STRAY; how++) {
		sqlite3 *db = turning(how);

		if (how == TURNED || how == STRAY) {
			is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1",
				"problem connections");
			is_within(db, TURNED("start"), 4000e6, 4200e6);
			is_within(db, TURNED("n"), 38, 40);
			is_within(db, TURNED("of"), 112, 116);
			is_number(db, TURNED("bytes"), 33);
			is_within(db, TURNED("from_n"), 27, 31);
			is_text(db, FINDING_VALUE("verdict_turned", "from", "v.text"), "10.0.0.7");
			/* those of begin_host */
			is_number(db, FINDING_VALUE("failing_holders", "n", "v.number"), NAMES);
		} else {
			is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1",
				"none ");
		}
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(new_connections_that_are_turned_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
