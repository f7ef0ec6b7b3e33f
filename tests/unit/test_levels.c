// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/causes/causes_compare.c: which units are slow. A server of one thread computes for each
 * request; how long, is up to the test.
 */
#include "tests/lib/unit.h"

#include "format/buf.h"
#include "tests/lib/loaded.h"

#define REQUESTS 400
#define PERIOD	 10000000 /* ns */
#define BEGIN	 1000000

/* The finding of the analysis, for requests that take as long as work says; to be freed by closing.
 */
static sqlite3 *served(long (*work)(long request))
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long i, t, end = BEGIN + REQUESTS * (long)PERIOD;

	buf_printf(&text, &e,
		   "@recorder\n"
		   "100 0 info text=\"targets=100\"\n"
		   "101 0 info text=\"groups=core,syscalls,sched,block\"\n"
		   "102 100 thread pid=100 state=83 comm=\"server\" cmdline=\"server\"\n"
		   "103 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 sport=80 "
		   "saddr=127.0.0.1\n"
		   "1000 0 info text=\"begin=1000\"\n"
		   "%ld 0 info text=\"stopped=%ld\"\n@cpu 0\n",
		   end, end);
	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * PERIOD;
		buf_printf(&text, &e,
			   "%ld 0 waking target=100 cpu=0 context=1 prio=120\n"
			   "%ld 0 switch next=100 prio=120\n"
			   "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=1000 ret=1 flags=1\n"
			   "%ld 100 syscall nr=read fd=5 dur=2000 ret=10\n",
			   t, t + 1000, t + 2000, t + 5000);
		t += 5000 + work(i);
		buf_printf(&text, &e,
			   "%ld 100 syscall nr=write fd=5 dur=2000 ret=10\n"
			   "%ld 100 switch next=0 state=1\n",
			   t, t + 10000);
	}
	db = loaded(text.data);
	analysed(db, "causes");
	buf_free(&text);
	return db;
}

static long longer(long request)
{
	return request < REQUESTS / 2 ? 400000 : 2000000;
}

/* In the second half most requests are short, and one of eight is so long that all are on average.
 */
static long shorter_and_some_long(long request)
{
	if (request < REQUESTS / 2)
		return 400000;
	return request % 8 ? 20000 : 6000000;
}

static void the_longer_level_is_the_slow_one(void **state)
{
	sqlite3 *db = served(longer);

	(void)state;
	is_text(db, "SELECT kind || ' ' || basis FROM cause WHERE rank=1", "self change");
	db_close(db);
}

static void a_level_is_not_slow_if_its_units_are_faster_on_average(void **state)
{
	sqlite3 *db = served(shorter_and_some_long);

	(void)state;
	is_text(db, "SELECT kind || ' ' || basis FROM cause WHERE rank=1", "self tail");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_longer_level_is_the_slow_one),
		T(a_level_is_not_slow_if_its_units_are_faster_on_average),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
