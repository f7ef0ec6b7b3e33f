// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errors of all requests of a rare name, and errors that end connections: they come before a change
 * of latency. Wrong requests, names that are answered well once, and errors of requests do not.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <string.h>

#define MS 1000000L

#define VERDICT		    "SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define VALUE(kind, what)   FINDING_VALUE(kind, what, "v.number")
#define TEXT_OF(kind, what) FINDING_VALUE(kind, what, "v.text")
#define NAMED		    "verdict_errors_name"

#define FIRST_ASKED                                                                                         \
	"SELECT count(v.number) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE f.kind='" NAMED \
	"' AND v.name='first'"

struct rare {
	int status;  /* of the answers of a rare name: one of 40 requests */
	int from;    /* ms: those that fail arrive then */
	int good;    /* the index of one that does not */
	int slower;  /* ms: all take longer since */
	int ended;   /* protocol: errors without a request, which end connections; 0: none */
	int idle;    /* connections with the last request, of the rare name, at 4 s */
	bool unseen; /* another connection has no request */
	bool again;  /* but for another one at 7 s, which fails */
	int each; /* times that the rare name is asked on each of eleven connections; 0: on one */
};

/* Its names are those of another protocol. */
static void as_protocol(struct buf *x, int protocol)
{
	char *at = x->data;

	while ((at = strstr(at, "protocol=1")))
		*(at += 9) = (char)('0' + protocol);
}

/* A request of the rare name that fails, on another connection. */
static void ask_once(struct buf *x, int conn, long t, long end, int status)
{
	static long at[OTHER_PORT];
	struct err e = { 0 };
	long pos = at[conn] += 10;

	buf_printf(x, &e, "%ld 0 segment conn=%d pos=%ld len=10 unread=0\n", t, conn, pos);
	buf_printf(x, &e, "%ld 100 syscall nr=read fd=%d dur=1 ret=10\n", t + 10000, conn);
	buf_printf(x, &e, "%ld 100 head conn=%d pos=%ld len=10 name=3 requests=1\n", t + 10000,
		   conn, pos);
	buf_printf(x, &e, "%ld 100 syscall nr=write fd=%d dur=1 ret=20\n", end, conn);
	error_of(x, end, conn, status, 1);
}

static sqlite3 *rare(struct rare f)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end;
	int i = 0, conn;

	begin_host(&x);
	if (f.each || f.idle)
		begin_more(&x);
	if (f.ended)
		as_protocol(&x, f.ended);
	buf_printf(&x, &e, "@cpu 0\n");
	if (f.idle)
		ask(&x, 4, 100, MS, MS + 10000, MS + 20000);
	for (conn = MORE_FIRST + f.idle; f.idle && conn < OTHER_PORT - f.unseen; conn++)
		ask_more(&x, conn, 100, 100, 2 * MS + conn * 30000, 2 * MS + conn * 30000 + 10000,
			 2 * MS + conn * 30000 + 20000);
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++) {
		bool is_rare = i % 40 == 5 && (!f.each || i / 40 < f.each * (MORE - 1)),
		     late = t >= f.slower * MS;
		int name = is_rare ? 3 : 1 + i % 2;

		end = t + (f.slower && late ? 3 * MS : 100000) + i % 7 * 1000;
		if (is_rare && f.each) {
			ask_once(&x, MORE_FIRST + i / 40 % (MORE - 1), t, end, f.status);
			continue;
		}
		ask(&x, name, 100, t, t + 10000, end);
		for (conn = MORE_FIRST; conn < MORE_FIRST + f.idle; conn++)
			if (t == 4020 * MS || (f.again && t == 7020 * MS))
				ask_once(&x, conn, end + MS, end + 2 * MS,
					 t > f.from * MS ? f.status : 0);
		if (is_rare && f.status && t >= f.from * MS && i / 40 != f.good)
			error_of(&x, end, 3, f.status, 1);
		if (!f.ended || i % 8 || t < f.from * MS)
			continue;
		buf_printf(&x, &e, "%ld 100 syscall nr=write fd=8 dur=1 ret=20\n", end + MS);
		error_of(&x, end + MS, 4, 1, f.ended);
	}
	return analysed(loaded_buf(&x), NULL);
}

/* GET /report/:id each 100 ms, which from 5 s on takes 350 ms, next to others that do not. */
static sqlite3 *waits_before(bool fails)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end;
	int i = 0;

	begin_host(&x);
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS)
		ask(&x, 1, 100, t, t + 10000, t + 100000);
	buf_printf(&x, &e, "@cpu 1\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 500) * MS;
	     t += 400 * MS / (t < 5000 * MS ? 4 : 1)) {
		end = t + (t < 5000 * MS ? 1 + i++ % 2 : 350) * MS;
		ask(&x, 2, 102, t, t + 10000, end);
		if (fails && t >= 5000 * MS)
			buf_printf(&x, &e,
				   "%ld 102 answer conn=2 pos=0 len=20 status=500 protocol=1\n",
				   end);
	}
	return analysed(loaded_buf(&x), NULL);
}

/* They began when the first of these requests arrived, not when it was answered. */
static void what_takes_long_began_before_its_end(void **state)
{
	sqlite3 *db = waits_before(true);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_within(db, VALUE(NAMED, "start"), 5320 * MS, 5371 * MS);
	is_within(db, VALUE(NAMED, "first"), 5019 * MS, 5021 * MS);
	db_close(db);
	db = waits_before(false);
	is_within(db, VALUE("verdict_names", "start"), 5019 * MS, 5021 * MS);
	db_close(db);
}

static void all_of_a_name_fail_since(void **state)
{
	struct rare f = { .status = 500, .from = 5000, .slower = 5300, .good = -1 };
	sqlite3 *db = rare(f);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_within(db, VALUE(NAMED, "n"), 11, 13);
	is_number(db, VALUE(NAMED, "share"), 100);
	is_number(db, VALUE(NAMED, "baseline"), 0);
	is_within(db, VALUE(NAMED, "slower_ratio"), 10, 40);
	is_within(db, VALUE(NAMED, "start"), 5000 * MS, 5500 * MS);
	is_number(db, FIRST_ASKED, 0);
	db_close(db);
	f.good = 20; /* one of them is answered well */
	db = rare(f);
	is_text(db, VERDICT, "problem slower");
	db_close(db);
	f = (struct rare){ .status = 404, .from = 5000, .slower = 5300, .good = -1 };
	db = rare(f);
	is_text(db, VERDICT, "problem slower");
	db_close(db);
}

static void all_of_a_name_fail_always(void **state)
{
	struct rare f = { .status = 501, .good = -1 };
	sqlite3 *db = rare(f);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_within(db, VALUE(NAMED, "n"), 24, 26);
	is_number(db, VALUE(NAMED, "share"), 100);
	is_text(db, TEXT_OF(NAMED, "code"), "501");
	db_close(db);
	f.good = 20;
	db = rare(f);
	is_text(db, VERDICT, "none ");
	db_close(db);
	f = (struct rare){ .status = 404, .good = -1 };
	db = rare(f);
	is_text(db, VERDICT, "none ");
	db_close(db);
	f = (struct rare){ .status = 501, .good = -1, .each = 2 };
	db = rare(f); /* others follow on the connection */
	is_text(db, VERDICT, "none ");
	db_close(db);
	f.each = 1; /* it is the last there */
	db = rare(f);
	is_text(db, VERDICT, "problem errors");
	db_close(db);
}

/* Requests that did not get their lock in time, next to a client that sent nothing since. */
static void who_may_hold_the_lock(void **state)
{
	static const struct rare others[] = {
		{ .status = 1205, .from = 5000, .good = -1, .idle = 2 },
		{ .status = 1205, .from = 5000, .good = -1, .idle = 1, .again = true },
		{ .status = 1205, .from = 5000, .good = -1, .idle = 1, .unseen = true },
		{ .status = 1205, .from = 9000, .good = -1, .idle = 1 }, /* less than 1 s */
		{ .status = 1213, .from = 5000, .good = -1, .idle = 1 },
		{ .status = 1062, .from = 5000, .good = -1, .idle = 1 },
	};
	sqlite3 *db = rare((struct rare){ .status = 1205, .from = 5000, .good = -1, .idle = 1 });
	size_t i;

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_text(db, TEXT_OF("idle_holder", "client"), "10.0.0.9:9");
	is_within(db, VALUE("idle_holder", "since"), 4021 * MS, 4025 * MS);
	is_number(db, FINDING_VALUE("idle_holder", "name", "v.id"), 3);
	is_within(db, VALUE("idle_holder", "n"), 11, 13);
	db_close(db);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		db = rare(others[i]);
		is_text(db, VERDICT, "problem errors");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='idle_holder'", 0);
		db_close(db);
	}
}

static void errors_that_end_connections(void **state)
{
	struct rare f = { .ended = 6, .from = 5500, .slower = 5000 };
	sqlite3 *db = rare(f);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_text(db, TEXT_OF("verdict_errors", "code"), "25P03");
	is_within(db, VALUE("verdict_errors", "start"), 5300 * MS, 5700 * MS);
	db_close(db);
	/* not of a protocol whose errors end no connection */
	f.ended = 4;
	db = rare(f);
	is_text(db, VERDICT, "problem slower");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(all_of_a_name_fail_since),  T(what_takes_long_began_before_its_end),
		T(all_of_a_name_fail_always), T(errors_that_end_connections),
		T(who_may_hold_the_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
