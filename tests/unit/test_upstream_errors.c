// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors of which an upstream is why: its accept queue is full, its answers, connections
 * that it resets or that the server breaks off, answers that come after a time limit. */
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

/* To two others, on fds 20 and 21; the second by a socket of this type. */
static void connected(struct buf *x, int type)
{
	struct err e = { 0 };

	buf_printf(x, &e,
		   "@recorder\n"
		   "81 100 fd pid=100 fd=20 mode=0140000 ino=61 family=2 role=3 socktype=1 sport=5"
		   " dport=7001 daddr=10.0.0.7\n"
		   "81 100 fd pid=100 fd=21 mode=0140000 ino=62 family=2 role=3 socktype=%d sport=6"
		   " dport=7002 daddr=10.0.0.7\n@cpu 0\n",
		   type);
}

enum how { FAILS, ALL_FAIL, RESET, CLOSED, BROKEN_OFF };

/*
 * Requests ask one of two upstreams in turn; from the middle on those that ask the first are
 * answered 500. Or each asks on a new connection to one, which then ends without an answer.
 */
static sqlite3 *asking_others(enum how how)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end;
	int i = 0;

	begin_host(&x);
	connected(&x, 1);
	for (t = 20 * MS; t < 9000 * MS; t += 10 * MS, i++) {
		bool late = t >= 5000 * MS,
		     bad = late && (how == ALL_FAIL ? i % 4 < 2 : i % 2 == 0);
		int fd = 20 + i % 2;

		end = t + 200000;
		ask(&x, 1 + i % NAMES, 100, t, t + 10000, end);
		if (bad)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=%d pos=0 len=20 status=502 protocol=1\n",
				   end, 1 + i % NAMES);
		if (bad && how > ALL_FAIL) {
			fd = 22;
			buf_printf(&x, &e,
				   "%ld 100 fd pid=100 fd=22 mode=0140000 ino=%d family=2 role=3"
				   " socktype=1 sport=%d dport=7003 daddr=10.0.0.7\n",
				   t + 20000, 5000 + i, 5000 + i);
		}
		buf_printf(&x, &e, "%ld 100 syscall nr=write fd=%d dur=1 ret=10\n", t + 30000, fd);
		if (fd < 22 || how == BROKEN_OFF)
			buf_printf(&x, &e, "%ld 100 syscall nr=read fd=%d dur=1 ret=50\n",
				   t + 100000, fd);
		if (fd == 22 && how == BROKEN_OFF)
			buf_printf(&x, &e, "%ld 100 syscall nr=write fd=22 dur=1 ret=31\n",
				   t + 110000);
		if (fd == 22 && how != BROKEN_OFF)
			buf_printf(&x, &e, "%ld 100 syscall nr=read fd=22 dur=1 ret=%d\n",
				   t + 120000, how == RESET ? -104 : 0);
		if (fd == 22)
			buf_printf(&x, &e, "%ld 100 syscall nr=close fd=22 dur=1 ret=0\n",
				   t + 130000);
	}
	return analysed(loaded_buf(&x), NULL);
}

static void one_of_several_upstreams_answers_with_errors(void **state)
{
	sqlite3 *db = asking_others(FAILS);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_within(db, VALUE("failing_upstream", "n"), 195, 200);
	is_within(db, VALUE("failing_upstream", "others"), 195, 205);
	is_text(db,
		"SELECT remote FROM fd WHERE rowid=(" FINDING_VALUE("failing_upstream", "upstream",
								    "v.id") ")",
		"10.0.0.7:7001");
	db_close(db);
	/* as many after each of them: it is none of theirs */
	db = asking_others(ALL_FAIL);
	is_text(db, VERDICT, "problem errors");
	is_number(db, N_OF("failing_upstream"), 0);
	db_close(db);
}

static void connections_that_end_before_an_answer(void **state)
{
	static const char *const kinds[] = { [RESET] = "failing_reset",
					     [CLOSED] = "failing_closed",
					     [BROKEN_OFF] = "failing_broken_off" };
	enum how how;

	(void)state;
	for (how = RESET; how <= BROKEN_OFF; how++) {
		sqlite3 *db = asking_others(how);

		is_text(db, VERDICT, "problem errors");
		is_text(db, "SELECT max(kind) FROM finding WHERE kind GLOB 'failing_*'",
			kinds[how]);
		db_close(db);
	}
}

/*
 * Each asks one upstream, which ends the connection after its answer; from the middle on the server
 * does, after its first read, and fails. Or it does from the start on, and some fail anyway; or it
 * closes the connection much later.
 */
enum closes { AT_ONCE, ALWAYS, LATER };

static sqlite3 *not_read_further(enum closes how)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;
	int i = 0;

	begin_host(&x);
	for (t = 20 * MS; t < 9000 * MS; t += 20 * MS, i++) {
		bool bad = t >= 5000 * MS && i % 2;
		int fd = 22 + i % 20;

		if (how == LATER && i >= 16)
			buf_printf(&x, &e, "%ld 100 syscall nr=close fd=%d dur=1 ret=0\n", t,
				   22 + (i - 16) % 20);
		buf_printf(&x, &e,
			   "%ld 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=3"
			   " socktype=1 sport=%d dport=7003 daddr=10.0.0.7\n"
			   "%ld 100 syscall nr=write fd=%d dur=1 ret=10\n"
			   "%ld 100 syscall nr=read fd=%d dur=1 ret=%d\n",
			   t + 20000, fd, 5000 + i, 5000 + i, t + 30000, fd, t + 40000, fd,
			   bad ? 4096 : 200);
		if (!bad && how != ALWAYS)
			buf_printf(&x, &e, "%ld 100 syscall nr=read fd=%d dur=1 ret=0\n", t + 50000,
				   fd);
		if (how != LATER)
			buf_printf(&x, &e, "%ld 100 syscall nr=close fd=%d dur=1 ret=0\n",
				   t + 60000, fd);
		ask(&x, 1 + bad, 100, t + 10000, t + 15000, t + 80000);
		if (bad)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=2 pos=0 len=20 status=502 protocol=1\n",
				   t + 80000);
	}
	return analysed(loaded_buf(&x), NULL);
}

static void answers_that_are_not_read_further(void **state)
{
	sqlite3 *db = not_read_further(AT_ONCE);
	enum closes how;

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_within(db, VALUE("failing_first_read", "n"), 98, 101);
	is_number(db, VALUE("failing_first_read", "bytes"), 4096);
	is_number(db, VALUE("failing_first_read", "before"), 200);
	db_close(db);
	for (how = ALWAYS; how <= LATER; how++) {
		db = not_read_further(how);
		is_text(db, VERDICT, "problem errors");
		is_number(db, N_OF("failing_first_read"), 0);
		db_close(db);
	}
}

enum waits {
	TOO_LATE,
	GIVEN_UP,
	DATAGRAM,
	REPORTED,
	NEVER_ANSWERS,
	ALSO_GOOD,
	GOOD_THEN,
	LOST_ONCE,
	FEW_ERRORS,
	ONE_ERROR
};

/* A question of thread 103, which is answered, or its connection closed, then; 0: it is not. */
static void question(struct buf *x, enum waits how, int i, long asked, long answer)
{
	struct err e = { 0 };

	buf_printf(x, &e, "@cpu 1\n");
	if (how == GIVEN_UP)
		buf_printf(x, &e,
			   "%ld 103 fd pid=100 fd=22 mode=0140000 ino=%d family=2 role=3"
			   " socktype=1 sport=%d dport=7001 daddr=10.0.0.7\n"
			   "%ld 103 syscall nr=write fd=22 dur=1 ret=10\n"
			   "%ld 103 syscall nr=read fd=22 dur=1 ret=50\n",
			   asked - 10000, 5000 + i, 5000 + i, asked - 9000, asked - 8000);
	buf_printf(x, &e, "%ld 103 syscall nr=write fd=%d dur=1 ret=10\n", asked,
		   how == GIVEN_UP   ? 22
		   : how == DATAGRAM ? 21
				     : 20);
	if (how == GIVEN_UP)
		buf_printf(x, &e, "%ld 103 syscall nr=close fd=22 dur=1 ret=0\n", answer);
	else if (answer)
		buf_printf(x, &e, "%ld 103 syscall nr=read fd=%d dur=1 ret=50\n", answer,
			   how == DATAGRAM ? 21 : 20);
	buf_printf(x, &e, "@cpu 0\n");
}

static enum waits asks_as(enum waits how, bool bad)
{
	if (how == LOST_ONCE)
		return DATAGRAM;
	return how == GIVEN_UP && !bad ? TOO_LATE : how;
}

static bool fails(enum waits how, bool late, int i)
{
	if (how == ONE_ERROR)
		return i == 300;
	if (how == FEW_ERRORS)
		return late && i % 10 == 0;
	return late && (how == DATAGRAM || how == LOST_ONCE || i % 4 != 3);
}

static long answer_of(enum waits how, bool bad, bool slow, bool late, long t, long end)
{
	if (how == NEVER_ANSWERS || (late && (how == DATAGRAM || how == LOST_ONCE)))
		return 0;
	if (how == GIVEN_UP && bad)
		return end - 20000;
	return slow && (bad || how < FEW_ERRORS) ? t + 15 * MS : t + 2 * MS;
}

/*
 * Requests ask another server, which answers after 2 ms. From the middle on it takes 15 ms, and
 * they fail after 10; or it answers nothing. GOOD_THEN: also those that do not fail then.
 * LOST_ONCE: one question by datagram has no answer, later nothing is asked. FEW_ERRORS, ONE_ERROR:
 * others are slower, and wait for nothing.
 */
static sqlite3 *waiting(enum waits how)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end;
	int i = 0;

	begin_host(&x);
	connected(&x, 2);
	for (t = 20 * MS; t < 9000 * MS; t += 20 * MS, i++) {
		bool late = t >= (how == GOOD_THEN ? 7400 : 5000) * MS;
		bool bad = fails(how, late, i);
		bool slow = bad || how == ALSO_GOOD ||
			    (late && (how == GOOD_THEN || how >= FEW_ERRORS));

		end = t + (slow ? 10 * MS : 3 * MS);
		ask(&x, 1, 100, t, t + 10000, end);
		if (bad)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=1 pos=0 len=20 status=503 protocol=1\n",
				   end);
		if (how == LOST_ONCE && t > 5000 * MS)
			continue;
		if (how == REPORTED ? bad : how != NEVER_ANSWERS || late)
			question(&x, asks_as(how, bad), i,
				 how == REPORTED && bad ? end - MS : t + 100000,
				 answer_of(how, bad, slow, late, t, end));
	}
	return analysed(loaded_buf(&x), NULL);
}

static void answers_that_come_too_late(void **state)
{
	static const char *const peers[] = { "10.0.0.7:7001", "10.0.0.7:7001", "10.0.0.7:7002" };
	enum waits how;

	(void)state;
	for (how = TOO_LATE; how <= DATAGRAM; how++) {
		sqlite3 *db = waiting(how);

		is_number(db, N_OF("verdict_awaited"), 1);
		is_within(db, VALUE("verdict_awaited", "n"), 140, 201);
		is_text(db,
			"SELECT remote FROM fd WHERE rowid=(" FINDING_VALUE("verdict_awaited",
									    "upstream", "v.id") ")",
			peers[how]);
		if (how == TOO_LATE)
			is_within(db, VALUE("verdict_awaited", "late"), 14.8 * MS, 15 * MS);
		if (how != DATAGRAM)
			is_within(db, VALUE("verdict_awaited", "open"), 9.7 * MS, 10 * MS);
		is_within(db, VALUE("verdict_awaited", "usual"), MS, 2 * MS);
		is_number(db, N_OF("verdict_timer"), 0);
		is_within(db, VALUE("verdict_errors_name", "start"), 4900 * MS, 5011 * MS);
		db_close(db);
	}
	/* asked because of the error; nothing answers there ever; good answers wait as long, always
	 * or then; long before; next to slower requests */
	for (how = REPORTED; how <= ONE_ERROR; how++) {
		sqlite3 *db = waiting(how);

		is_text(db, "SELECT status FROM verdict WHERE rank=1", "problem");
		is_number(db, N_OF("verdict_awaited"), 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_full_accept_queue_of_a_unix_socket),
		T(one_of_several_upstreams_answers_with_errors),
		T(connections_that_end_before_an_answer),
		T(answers_that_come_too_late),
		T(answers_that_are_not_read_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
