// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests that ask another server, which does not answer: the connection is closed after a while.
 */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

enum way {
	GIVEN_UP,
	PUBLISHED,    /* it never answers, and messages to it are given up soon as well */
	NO_ANSWERS,   /* it never answers */
	NOT_OF_THESE, /* another thread asks, longer than any request lasts */
	ANSWERED,     /* late */
};

#define OPENED                                                                             \
	"%ld 100 fd pid=100 fd=20 mode=0140000 ino=%d family=2 role=3 socktype=1 sport=%d" \
	" dport=%d saddr=10.0.0.1 daddr=10.0.0.7"

/* A question to the port on a connection of its own, which is closed after wait. */
static void ask(struct text *x, int port, long wait, bool answered, int nr)
{
	text_line(x, OPENED, x->t, 5000 + nr, 30000 + nr, port);
	text_line(x, "%ld 100 syscall nr=write fd=20 ret=90 count=90 dur=100", x->t + 1000);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 2000);
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t + wait,
		  x->t + wait + 500);
	if (answered)
		text_line(x, "%ld 100 syscall nr=read fd=20 ret=50 count=99 dur=100",
			  x->t + wait + 1000);
	text_line(x, "%ld 100 syscall nr=close fd=20 ret=0 dur=100", x->t + wait + 2000);
	x->t += wait + 3000;
}

/* One request; first: asks 7012, and is answered well or not. */
static void serve(struct text *x, enum way way, bool first, bool well, int nr)
{
	int fd = 5 + nr % 4;
	bool hangs = !well && way != NOT_OF_THESE;

	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 500);
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 1000, fd);
	x->t += 2000;
	if (way == PUBLISHED)
		ask(x, 7012, hangs ? 400 * MS : 20000, false, 2 * nr);
	else if (first && (way != NO_ANSWERS || hangs))
		ask(x, 7012, hangs ? 400 * MS : MS, !hangs || way == ANSWERED, 2 * nr);
	if (!first || (hangs && way != ANSWERED))
		ask(x, 7011, MS, true, 2 * nr + 1);
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", x->t + 1000, fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 2000);
	x->t += 5 * MS;
}

static sqlite3 *served(enum way way)
{
	struct text x = { 0 };
	int i;

	head(&x);
	for (i = 0; i < 300; i++)
		serve(&x, way, i % 3 == 0, true, i);
	if (way == NOT_OF_THESE)
		text_line(
			&x,
			"%ld 100 fd pid=100 fd=30 mode=0140000 ino=77 family=2 role=3 socktype=1"
			" sport=9 dport=7012 saddr=10.0.0.1 daddr=10.0.0.7\n%ld 100 syscall nr=write"
			" fd=30 ret=90 count=90 dur=100",
			x.t, x.t + 1000);
	x.t += 2000;
	for (; i < 390; i++)
		serve(&x, way, i % 3 == 0, i % 3 != 0, i);
	if (way == NOT_OF_THESE)
		text_line(&x, "%ld 100 syscall nr=close fd=30 ret=0 dur=100", x.t += 1000);
	return judged(&x, NULL);
}

static void requests_that_are_given_up(void **state)
{
	sqlite3 *db = served(GIVEN_UP);

	(void)state;
	is_text(db, "SELECT status FROM verdict", "problem");
	is_text(db, FINDING_VALUE("connect_given_up", "address", "v.text"), "10.0.0.7:7012");
	is_number(db, FINDING_VALUE("connect_given_up", "n", "v.number"), 30);
	is_within(db, FINDING_VALUE("connect_given_up", "max", "v.number"), 399e6, 401e6);
	is_within(db, FINDING_VALUE("connect_given_up", "share", "v.number"), 90, 100);
	db_close(db);
}

static void what_only_looks_so(void **state)
{
	static const enum way cases[] = { PUBLISHED, NO_ANSWERS, NOT_OF_THESE, ANSWERED };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = served(cases[i]);

		is_number(db, "SELECT count(*) FROM finding WHERE kind='connect_given_up'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_that_are_given_up),
		cmocka_unit_test(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
