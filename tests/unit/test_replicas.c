// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_replicas.c: which replica a server that refuses writes misses.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS   1000000L
#define ACK  30 /* the connection of a replica: descriptor and inode */
#define SETS 5	/* names */
#define ACKS 6

#define VALUE(what, name_) FINDING_VALUE("failing_replica", name_, what)
#define SAID		   "SELECT count(*) FROM finding WHERE kind='failing_replica'"

static void begin(struct buf *x)
{
	struct err e = { 0 };

	begin_host(x);
	buf_printf(x, &e,
		   "@recorder\n4 0 request_name id=%d protocol=4 name=\"SET\"\n"
		   "4 0 request_name id=%d protocol=4 name=\"REPLCONF\"\n"
		   "4 300 thread pid=300 state=83 comm=\"replica\"\n"
		   "5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
		   " dport=900 saddr=10.0.0.8 daddr=10.0.0.9\n"
		   "5 300 fd pid=300 fd=7 mode=0140000 ino=77 family=2 role=3 socktype=1 sport=900"
		   " dport=80 saddr=10.0.0.9 daddr=10.0.0.8\n"
		   "@cpu 0\n101 0 connection sock=9 ino=%d conn=9 family=2 side=1\n",
		   SETS, ACKS, ACK, ACK, ACK);
}

static void request(struct buf *x, int fd, int conn, int name, long t)
{
	static long at[10];
	struct err e = { 0 };
	long pos = at[conn] += 10;

	buf_printf(x, &e,
		   "%ld 0 segment conn=%d pos=%ld len=10 unread=0\n"
		   "%ld 100 syscall nr=read fd=%d dur=1 ret=10\n"
		   "%ld 100 head conn=%d pos=%ld len=10 name=%d requests=1\n"
		   "%ld 100 syscall nr=write fd=%d dur=1 ret=20\n",
		   t, conn, pos, t + 10000, fd, t + 10000, conn, pos, name, t + 100000, fd);
}

/* Writes fail from 5 s to 8 s; a replica acknowledges each second, except in this time (ms). */
static sqlite3 *refused(const char *code, int from, int to)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;

	begin(&x);
	for (t = 20; t < SECONDS * 1000 - 100; t += 10) {
		request(&x, 5, 1, SETS, t * MS);
		if (t >= 5000 && t < 8000)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=1 pos=0 len=20 status=1 protocol=4"
				   " code=\"%s\"\n",
				   t * MS + 100000, code);
		if (t % 1000 == 500 && (t < from || t > to))
			request(&x, ACK, 9, ACKS, t * MS + 5 * MS);
	}
	buf_printf(&x, &e, "@cpu 1\n4000000000 0 switch next=300\n%ld 300 switch state=1 next=0\n",
		   8400 * MS);
	return analysed(loaded_buf(&x), NULL);
}

static void a_replica_that_sends_nothing_is_named(void **state)
{
	sqlite3 *db = refused("NOREPLICAS", 4000, 8400);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem errors");
	is_number(db, SAID, 1);
	is_text(db, VALUE("v.text", "address"), "10.0.0.9:900");
	is_within(db, VALUE("v.number", "length"), 4.9e9, 5.1e9);
	is_within(db, VALUE("v.number", "start"), 3.4e9, 3.6e9);
	is_number(db, VALUE("v.id", "process"), 300);
	is_text(db, VALUE("v.text", "did"), "computing");
	is_within(db, VALUE("v.number", "share"), 85, 90);
	db_close(db);
}

/* It goes on; it is silent for one period, or when no write is refused; another error. */
static void others_are_not(void **state)
{
	static const struct {
		const char *code;
		int from, to;
	} cases[] = {
		{ "NOREPLICAS", 0, 0 },
		{ "NOREPLICAS", 6000, 6900 },
		{ "NOREPLICAS", 1000, 4000 },
		{ "MISCONF", 4000, 8400 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = refused(cases[i].code, cases[i].from, cases[i].to);

		is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1",
			"problem errors");
		is_number(db, SAID, 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_replica_that_sends_nothing_is_named),
		T(others_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
