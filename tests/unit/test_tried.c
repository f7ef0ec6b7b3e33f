// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_tried.c: requests that fail since they do not get the lock of a
 * file. And verdict_change.c: when the recording starts, requests that take long have not ended.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

#define MS  1000000L
#define TRY "syscall_args nr=fcntl arg0=30 arg1=6 arg3=1 arg4=0 arg5=1 flags=16 ret=-11 dur=20"
#define OTHER_TRY \
	"syscall_args nr=fcntl arg0=31 arg1=6 arg3=1 arg4=0 arg5=1 flags=16 ret=-11 dur=20"
#define LOCK "5 0 file_lock ino=44 dev=5 pid=900 to=9 flags=1\n"
#define LAST "@recorder\n10000000000 0 file_lock ino=44 dev=5 pid=900 to=9 flags=5\n"

#define ALL_FAIL 1 /* from the start */
#define THIRD_TRIES                                                                            \
	2	    /* a third of those that fail makes the call three times, the rest another \
		     */
#define HANDED_ON 4 /* another thread answers most of those that fail, and makes no call */

/* A request each 10 ms; from the middle on they fail. This call in those that fail, and in others.
 */
static sqlite3 *failing(const char *bad, const char *good, int how)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end;
	int i = 0, n;

	srand(5);
	buf_printf(&x, &e,
		   "@recorder\n4 100 fd pid=100 fd=30 mode=0100000 dev=5 ino=44 path=\"/db\"\n"
		   "4 100 fd pid=100 fd=31 mode=0100000 dev=5 ino=45 path=\"/other\"\n" LOCK);
	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++) {
		bool fails = t >= (how & ALL_FAIL ? 0 : 5000) * MS,
		     handed = fails && how & HANDED_ON && i % 10;
		const char *call = fails ? bad : good;

		end = t + 100000 + rand() % 9000;
		ask_and(&x, 1 + i % 2, 100, handed ? 101 : 100, t, t + 10000, end);
		if (fails)
			buf_printf(&x, &e,
				   "%ld %d answer conn=%d pos=0 len=20 status=500 protocol=1\n",
				   end, handed ? 101 : 100, 1 + i % 2);
		if (fails && how & THIRD_TRIES && i % 3)
			call = OTHER_TRY;
		for (n = 0; call && !handed && n < (how & THIRD_TRIES && i % 3 == 0 ? 3 : 1); n++)
			buf_printf(&x, &e, "%ld 100 %s\n", t + 50000 + n * 100, call);
	}
	buf_printf(&x, &e, LAST);
	return analysed(loaded_buf(&x), NULL);
}

#define VALUE(what) FINDING_VALUE("failing_lock", what, "v.number")

static void tries_in_failed_requests(void **state)
{
	sqlite3 *db = failing(TRY, NULL, 0);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem errors");
	is_text(db, FINDING_VALUE("failing_lock", "path", "v.text"), "/db");
	is_number(db, FINDING_VALUE("failing_lock", "holder", "v.id"), 900);
	is_above(db, VALUE("tries"), 480);
	is_number(db, VALUE("bad"), 100);
	is_number(db, VALUE("good"), 0);
	db_close(db);
	/* others try as well, and do not fail */
	db = failing(TRY, TRY, 0);
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem errors");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='failing_lock'", 0);
	db_close(db);
	db = failing(NULL, TRY, 0);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='failing_lock'", 0);
	db_close(db);
}

static void tries_in_some_of_the_failed_requests(void **state)
{
	static const int cases[] = { THIRD_TRIES, HANDED_ON };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		db = failing(TRY, NULL, cases[i]);
		is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1",
			"problem errors");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='failing_lock'", 0);
		db_close(db);
	}
	/* nothing is said of others where there are none */
	db = failing(TRY, NULL, ALL_FAIL);
	is_number(db, VALUE("bad"), 100);
	is_number(db, FINDING_VALUE("failing_lock", "good", "count(v.number)"), 0);
	db_close(db);
}

#define LONG 16 /* connections, with a thread each */

/* A request that takes 0.1 ms each 50 ms; and another each 100 ms, that takes 1.5 s from a time on.
 */
static sqlite3 *long_from(long from)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end;
	int i, k;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "@recorder\n");
	for (k = 0; k < LONG; k++)
		buf_printf(&x, &e,
			   "4 %d thread pid=100 state=83 comm=\"server\"\n"
			   "4 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1"
			   " sport=80 dport=%d daddr=10.0.1.%d\n"
			   "100 0 connection sock=%d ino=%d conn=%d family=2 side=1\n",
			   200 + k, 50 + k, 150 + k, 50 + k, k, 20 + k, 150 + k, 20 + k);
	for (t = 20 * MS, i = 0; t < (SECONDS * 1000 - 1700) * MS; t += 50 * MS, i++) {
		buf_printf(&x, &e, "@cpu 0\n");
		ask(&x, 1, 100, t, t + 10000, t + 100000 + rand() % 90000);
		if (i % 2)
			continue;
		k = i / 2 % LONG;
		end = t + (t < from * MS ? 200000 : 1500 * MS) + rand() % 90000;
		buf_printf(&x, &e, "@cpu %d\n", k + 1);
		buf_printf(&x, &e, "%ld 0 segment conn=%d pos=%d len=10 unread=0\n", t, 20 + k,
			   i / 2 / LONG * 10);
		buf_printf(&x, &e, "%ld %d syscall nr=read fd=%d dur=1 ret=10\n", t + 10000,
			   200 + k, 50 + k);
		buf_printf(&x, &e, "%ld %d head conn=%d pos=%d len=10 name=2 requests=1\n",
			   t + 10000, 200 + k, 20 + k, i / 2 / LONG * 10);
		buf_printf(&x, &e, "%ld %d syscall nr=write fd=%d dur=1 ret=20\n", end, 200 + k,
			   50 + k);
	}
	return analysed(loaded_buf(&x), NULL);
}

static void a_start_before_long_ones_end_is_no_baseline(void **state)
{
	sqlite3 *db = long_from(0);

	(void)state;
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='slower'", 0);
	db_close(db);
	/* they take longer from then on */
	db = long_from(3000);
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_within(db, "SELECT start FROM verdict", 2.9e9, 4.6e9); /* the first of them has ended */
	db_close(db);
}

/* A download from the start until the last second; others take 12 times as long from 5 s on. */
static void a_long_request_hides_no_change(void **state)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t, took;

	(void)state;
	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "@cpu 1\n");
	ask(&x, 3, 103, 10 * MS, 10 * MS + 10000, (SECONDS - 1) * 1000 * MS);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS) {
		took = 400000 + rand() % 90000;
		ask(&x, 1, 100, t, t + 10000, t + took * (t < 5000 * MS ? 1 : 12));
	}
	db = analysed(loaded_buf(&x), NULL);
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_within(db, "SELECT start FROM verdict WHERE rank=1", 4.8e9, 5.2e9);
	is_within(db, "SELECT ratio FROM verdict WHERE rank=1", 11, 13);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tries_in_failed_requests),
		cmocka_unit_test(tries_in_some_of_the_failed_requests),
		cmocka_unit_test(a_start_before_long_ones_end_is_no_baseline),
		cmocka_unit_test(a_long_request_hides_no_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
