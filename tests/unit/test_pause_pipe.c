// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/pauses/pause_pipe.c: the threads that serve requests wait to write into a full
 * pipe; and what only looks so.
 */
#include "tests/lib/pausing.h"

/* 100 waits in call on fd for 300 ms; threads from 101 to last answered before as well. */
static sqlite3 *waiting(const char *call, int fd, int last)
{
	struct text x = { 0 };
	int tid;

	head(&x);
	text_line(&x, "@recorder\n33 102 thread pid=100 state=83 comm=\"server\"");
	text_line(&x, "35 300 thread pid=300 state=83 comm=\"logger\"");
	text_line(&x, "36 100 fd pid=100 fd=14 mode=0010600 ino=77 path=\"pipe:[77]\"");
	text_line(&x, "36 300 fd pid=300 fd=0 mode=0010600 ino=77 path=\"pipe:[77]\"");
	text_line(&x, "36 300 fd pid=300 fd=9 mode=0010600 ino=78 path=\"pipe:[78]\"\n@cpu 0");
	for (tid = 101; tid <= last; tid++)
		many(&x, tid, 60, MS);
	many(&x, 100, 600, MS);
	text_line(&x, "@cpu 1\n%ld 300 syscall nr=read fd=0 ret=4096 count=4096 dur=200\n@cpu 0",
		  x.t + 299 * MS);
	sleeps(&x, call, fd, 300);
	return judged(&x);
}

#define PIPE_VALUE(what, name_) FINDING_VALUE("pause_pipe", name_, what)

static void the_reader_of_a_full_pipe_is_named(void **state)
{
	sqlite3 *db = waiting("write", 14, 100);

	(void)state;
	is_number(db, PIPE_VALUE("v.id", "thread"), 100);
	is_number(db, PIPE_VALUE("v.id", "reader"), 300);
	is_within(db, PIPE_VALUE("v.number", "longest"), 299 * MS, 301 * MS);
	is_above(db, PIPE_VALUE("v.number", "blocked"), 95);
	is_number(db, PIPE_VALUE("count(v.number)", "others"), 0);
	db_close(db);
}

/* It waits to read; for a client; two other threads that serve do not wait. */
static void what_only_looks_so(void **state)
{
	static const struct {
		const char *call;
		int fd, last;
	} all[] = { { "read", 14, 100 }, { "write", 6, 100 }, { "write", 14, 102 } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = waiting(all[i].call, all[i].fd, all[i].last);

		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_pipe'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_reader_of_a_full_pipe_is_named),
		T(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
