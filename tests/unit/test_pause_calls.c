// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/pauses/pause_calls.c: a server that answers nothing while its thread writes to a
 * file; and what only looks so.
 */
#include "tests/lib/pausing.h"

struct writing {
	const char *call;
	int fd;	   /* 12: a file; 13: a pipe */
	long dur;  /* of one call, in a pause of 400 ms */
	long sync; /* of fsync after it; 0: none */
};

static sqlite3 *with(struct writing w)
{
	struct text x = { 0 };
	long t;

	head(&x);
	text_line(
		&x,
		"@recorder\n36 100 fd pid=100 fd=12 mode=0100644 ino=5 dev=9 path=\"/var/app.log\"");
	text_line(&x, "36 100 fd pid=100 fd=13 mode=0010600 ino=6 path=\"pipe:[6]\"\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	wakes(&x);
	text_line(&x, "%ld 100 syscall nr=%s fd=%d ret=150000000 count=150000000 dur=%ld",
		  t + 300 * MS, w.call, w.fd, w.dur);
	if (w.sync)
		text_line(&x, "%ld 100 syscall nr=fsync fd=%d ret=0 dur=%ld", t + 390 * MS, w.fd,
			  w.sync);
	x.t = t + 400 * MS;
	return judged(&x);
}

#define CALLS_VALUE(what, name_) FINDING_VALUE("pause_calls", name_, what)

static void the_file_that_a_server_writes_is_named(void **state)
{
	sqlite3 *db = with((struct writing){ "write", 12, 290 * MS, 80 * MS });

	(void)state;
	is_text(db, CALLS_VALUE("v.text", "path"), "/var/app.log");
	is_text(db, CALLS_VALUE("v.text", "call"), "write, fsync");
	is_number(db, CALLS_VALUE("v.number", "n"), 2);
	is_number(db, CALLS_VALUE("v.number", "bytes"), 150000000);
	is_within(db, CALLS_VALUE("v.number", "longest"), 289 * MS, 291 * MS);
	is_within(db, CALLS_VALUE("v.number", "share"), 90, 95);
	db_close(db);
}

/* Less than half of the pause; no file; a lock of the file; short calls. */
static void what_only_looks_so(void **state)
{
	static const struct writing all[] = {
		{ "write", 12, 150 * MS, 0 },
		{ "write", 13, 290 * MS, 0 },
		{ "flock", 12, 290 * MS, 0 },
		{ "write", 12, MS / 2, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = with(all[i]);

		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_calls'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_file_that_a_server_writes_is_named),
		T(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
