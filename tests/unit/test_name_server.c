// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/failing/verdict_name_server.c: requests of one name fail, and the name server
 * that they ask answers nothing; and what only looks so.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS 1000000L

struct lookup {
	int port, status;
	bool answers; /* to the first question */
	bool outside; /* it is asked after the requests */
};

/* GET /a each 10 ms on thread 100; from 4 s on, 8 requests of GET /report/:id on 102. */
static sqlite3 *with(struct lookup l)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;

	begin_host(&x);
	buf_printf(&x, &e,
		   "@recorder\n9 100 fd pid=100 fd=30 mode=0140000 ino=90 family=2 role=connected"
		   " socktype=2 sport=33000 dport=%d saddr=127.0.0.1 daddr=127.77.0.1\n@cpu 0\n",
		   l.port);
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS)
		ask(&x, 1, 100, t, t + 10000, t + 100000);
	buf_printf(&x, &e, "@cpu 1\n");
	for (t = 4000 * MS; t < 8000 * MS; t += 500 * MS) {
		long end = t + 400 * MS;

		ask_and(&x, 2, 102, 102, t, t + 10000, end);
		buf_printf(&x, &e,
			   "%ld 102 answer conn=2 pos=0 len=20 status=%d protocol=1\n"
			   "@cpu 2\n%ld 103 syscall nr=sendto fd=30 ret=40 count=40 dur=200\n",
			   end, l.status, l.outside ? end + 50 * MS : t + 50 * MS);
		if (l.answers && t == 4000 * MS)
			buf_printf(&x, &e, "%ld 103 syscall nr=recvfrom fd=30 ret=60 dur=200\n",
				   t + 51 * MS);
		buf_printf(&x, &e, "@cpu 1\n");
	}
	return analysed(loaded_buf(&x), NULL);
}

#define N_OF(kind) "SELECT count(*) FROM finding WHERE kind='" kind "'"

static void a_name_that_fails_for_want_of_a_name_server(void **state)
{
	sqlite3 *db = with((struct lookup){ .port = 53, .status = 502 });

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem errors");
	is_number(db, FINDING_VALUE("verdict_errors_name", "n", "v.number"), 8);
	is_number(db, FINDING_VALUE("verdict_errors_name", "of", "v.number"), 8);
	is_text(db, FINDING_VALUE("verdict_errors_name", "code", "v.text"), "502");
	is_text(db, FINDING_VALUE("verdict_name_server", "address", "v.text"), "127.77.0.1:53");
	is_number(db, FINDING_VALUE("verdict_name_server", "n", "v.number"), 8);
	is_within(db, FINDING_VALUE("verdict_name_server", "start", "v.number"), 4049 * MS,
		  4051 * MS);
	db_close(db);
}

/* It answers; it is none; it is not asked within the requests; their errors are the clients'. */
static void what_only_looks_so(void **state)
{
	static const struct lookup all[] = {
		{ .port = 53, .status = 502, .answers = true },
		{ .port = 8125, .status = 502 },
		{ .port = 53, .status = 502, .outside = true },
		{ .port = 53, .status = 404 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sqlite3 *db = with(all[i]);

		is_number(db, N_OF("verdict_name_server"), 0);
		is_number(db, "SELECT count(*) FROM verdict WHERE kind='errors'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_name_that_fails_for_want_of_a_name_server),
		T(what_only_looks_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
