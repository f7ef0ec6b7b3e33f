// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_pauses.c: where most requests wait in short pauses, as consumers
 * do for what is produced, a far longer one is a problem, unless an arrival ended it.
 */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#include <math.h>

#define CYCLES 60

/* Reads of fds 5 to 7; after a time in which the thread waits for input, their answers. */
static void cycle(struct text *x, long wait, bool arrival)
{
	int fd;

	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=3",
		  x->t + 2000);
	for (fd = 5; fd < 8; fd++)
		text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
			  x->t + 3000 + fd, fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 9000);
	x->t += wait;
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1", x->t + 2000,
		  wait - 5000);
	if (arrival)
		text_line(x,
			  "%ld 100 syscall nr=read fd=8 ret=29 count=99 dur=200\n"
			  "%ld 100 syscall nr=write fd=8 ret=9 count=9 dur=200",
			  x->t + 2200, x->t + 2500);
	for (fd = 5; fd < 8; fd++)
		text_line(x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=200",
			  x->t + 3000 + fd, fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 9000);
	x->t += MS;
}

/* One cycle takes 3 s. */
static sqlite3 *cycles(bool rare, bool arrival)
{
	struct text x = { 0 };
	int i;

	srand(3);
	head(&x);
	for (i = 0; i < CYCLES; i++)
		cycle(&x, rare && i == CYCLES / 2 ? 3000 * MS : (70 + rand() % 20) * MS, arrival);
	return judged(&x, NULL);
}

static void a_far_longer_pause_counts(void **state)
{
	sqlite3 *db = cycles(true, false);

	(void)state;
	is_verdict(db, "problem", "pauses");
	is_number(db, "SELECT pauses FROM verdict", 1);
	is_within(db, "SELECT paused FROM verdict", 2999 * MS, 3001 * MS);
	db_close(db);
}

static void what_an_arrival_ends_does_not(void **state)
{
	sqlite3 *db = cycles(true, true);

	(void)state;
	is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
	db_close(db);
	/* and the usual ones */
	db = cycles(false, false);
	is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
	db_close(db);
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
			cycle(&x,
			      (long)(300 * MS * -log((rand() + 1.0) / (RAND_MAX + 2.0))) + 20000,
			      false);
		db = judged(&x, NULL);
		is_number(db, "SELECT count(*) FROM verdict WHERE kind='pauses'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_far_longer_pause_counts),
		T(what_an_arrival_ends_does_not),
		T(random_waits_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
