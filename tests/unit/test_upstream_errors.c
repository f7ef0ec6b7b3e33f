// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors of which an upstream is why: its accept queue is full. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS	1000000L
#define BACKLOG "syscall nr=connect fd=9 dur=1000 ret=-11"

#define VERDICT		    "SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define VALUE(kind, what)   FINDING_VALUE(kind, what, "v.number")
#define TEXT_OF(kind, what) FINDING_VALUE(kind, what, "v.text")
#define N_OF(kind_)	    "SELECT count(*) FROM finding WHERE kind='" kind_ "'"

/* From the middle on requests take longer, and of every three one fails at once. */
static void a_full_accept_queue_of_a_unix_socket(void **state)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t;
	int i = 0;

	(void)state;
	begin_host(&x);
	buf_printf(&x, &e,
		   "@recorder\n"
		   "81 100 fd pid=100 fd=20 mode=0140777 ino=6 family=1 role=3 socktype=1"
		   " path=\"/run/fpm.sock\"\n@cpu 0\n");
	for (t = 20 * MS; t < 9000 * MS; t += 10 * MS, i++) {
		bool late = t >= 5000 * MS, bad = late && i % 3 == 0;
		long end = t + (bad ? 200000 : late ? 60 * MS : 2 * MS);

		ask(&x, 1 + i % NAMES, 100, t, t + 10000, end);
		if (bad && t >= 5500 * MS)
			buf_printf(&x, &e,
				   "%ld 100 " BACKLOG
				   "\n%ld 100 answer conn=%d pos=0 len=20 status=502 protocol=1\n",
				   t + 50000, end, 1 + i % NAMES);
	}
	db = analysed(loaded_buf(&x), NULL);
	is_text(db, VERDICT, "problem slower");
	is_text(db, TEXT_OF("verdict_calls", "call"), "connect");
	is_text(db, TEXT_OF("verdict_calls", "address"), "/run/fpm.sock");
	is_number(db, "SELECT parent FROM finding WHERE kind='verdict_calls'", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_full_accept_queue_of_a_unix_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
