// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_unserved.c: connections that are not accepted. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

#define MS 1000000L

/* A request each 10 ms. */
static void requests(struct buf *x)
{
	struct err e = { 0 };
	long t;
	int i = 0;

	srand(5);
	begin_host(x);
	buf_printf(x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++)
		ask(x, 1 + i % 2, 100, t, t + 10000, t + 100000 + rand() % 9000);
}

/* FULL_HANDED_ON: another thread serves what was accepted before; this one has other work */
enum accepting {
	FULL,
	FULL_CLOSING,
	FULL_LATE,
	FULL_ONCE,
	FULL_BETWEEN,
	FULL_HANDED_ON,
	NO_FORK,
	FORKS
};

static sqlite3 *accepting(enum accepting how)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;

	requests(&x);
	buf_printf(&x, &e,
		   "@recorder\n4 100 fd pid=100 fd=3 mode=0140000 ino=60 family=2 role=1 socktype=1"
		   " sport=80\n@cpu 1\n");
	if (how == FULL_HANDED_ON)
		buf_printf(&x, &e, "2990000000 103 syscall_args nr=accept4 arg0=3 dur=9 ret=41\n");
	for (t = 3000 * MS; t < 7000 * MS; t += how == FULL_LATE ? 300 * MS : 50 * MS) {
		if (how == NO_FORK || how == FORKS) {
			buf_printf(&x, &e,
				   "%ld 103 syscall_args nr=accept4 arg0=3 dur=9 ret=40\n"
				   "+1000 103 syscall_args nr=clone dur=9 ret=%d\n"
				   "+1000 103 syscall nr=close fd=40 dur=1\n",
				   t, how == FORKS ? 999 : -11);
			continue;
		}
		if (how == FULL_LATE) /* established before the failure, accepted after it */
			buf_printf(
				&x, &e,
				"%ld 0 tcp_state sock=%ld family=2 sport=80 dport=%ld daddr=10.0.0.8"
				" from=3 to=1\n",
				t - 200 * MS, 70000 + t / MS, t / MS);
		if (how != FULL_ONCE || t == 3000 * MS)
			buf_printf(&x, &e, "%ld 103 syscall_args nr=accept4 arg0=3 dur=9 ret=-24\n",
				   t);
		if (how == FULL_HANDED_ON)
			buf_printf(&x, &e, "+1000 103 syscall nr=write fd=9 dur=1 ret=1\n");
		if (how == FULL_LATE)
			buf_printf(&x, &e,
				   "%ld 103 fd pid=100 fd=40 mode=0140000 ino=%ld family=2 role=2"
				   " socktype=1 sport=80 dport=%ld daddr=10.0.0.8\n",
				   t + 900, 80000 + t / MS, t / MS);
		if (how == FULL_BETWEEN || how == FULL_CLOSING || how == FULL_LATE)
			buf_printf(&x, &e,
				   "+1000 103 syscall_args nr=accept4 arg0=3 dur=9 ret=40\n"
				   "+1000 103 syscall nr=%s fd=40 dur=1 ret=%d\n",
				   how == FULL_CLOSING ? "close" : "read",
				   how == FULL_CLOSING ? 0 : 10);
	}
	return analysed(loaded_buf(&x), NULL);
}

static void connections_that_nobody_serves(void **state)
{
	static const struct {
		enum accepting how;
		const char *verdict, *error;
	} cases[] = {
		{ FULL, "problem connections", "EMFILE" },
		{ FULL_CLOSING, "problem connections", "EMFILE" },
		{ FULL_LATE, "problem connections", "EMFILE" },
		{ FULL_HANDED_ON, "problem connections", "EMFILE" },
		{ NO_FORK, "problem connections", "EAGAIN" },
		{ FULL_ONCE, "none ", NULL },
		{ FULL_BETWEEN, "none ", NULL },
		{ FORKS, "none ", NULL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = accepting(cases[i].how);

		is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1",
			cases[i].verdict);
		if (cases[i].error)
			is_text(db, FINDING_VALUE("verdict_calls", "errno", "v.text"),
				cases[i].error);
		else
			is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_calls'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(connections_that_nobody_serves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
