// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Failures that few finished requests must not hide: answers that cannot be written, refused
 * logins, clients that give up, connects that fail; and what only looks so.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS 1000000L

#define VERDICT		    "SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define VALUE(kind, what)   FINDING_VALUE(kind, what, "v.number")
#define TEXT_OF(kind, what) FINDING_VALUE(kind, what, "v.text")

/* Sends to clients that are gone: of answers, or of what follows an answer. */
static sqlite3 *unwritten(int percent, bool answered, int protocol)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;
	int i = 0;

	begin_host(&x);
	buf_printf(&x, &e, "@recorder\n4 0 request_name id=9 protocol=%d name=\"X\"\n@cpu 0\n",
		   protocol);
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++) {
		ask(&x, 1 + i % 2, 100, t, t + 10000, t + 100000);
		if (i * 7 % 100 >= percent)
			continue;
		buf_printf(&x, &e,
			   "%ld 100 fd pid=100 fd=20 mode=0140000 ino=%d family=2 role=2 socktype=1"
			   " sport=80 dport=9 daddr=10.0.0.9\n"
			   "%ld 100 syscall nr=read fd=20 dur=1 ret=10\n"
			   "%ld 100 head conn=99 pos=10 len=10 name=9 requests=1\n",
			   t + 200000, 2000 + i, t + 300000, t + 300000);
		if (answered)
			buf_printf(&x, &e, "%ld 100 syscall nr=write fd=20 dur=1 ret=10\n",
				   t + 350000);
		buf_printf(&x, &e,
			   "%ld 100 syscall nr=write fd=20 dur=1 ret=-32\n"
			   "%ld 100 syscall nr=write fd=20 dur=1 ret=-32\n"
			   "%ld 100 syscall nr=close fd=20 dur=1 ret=0\n",
			   t + 400000, t + 410000, t + 500000);
	}
	return analysed(loaded_buf(&x), "verdict");
}

static void answers_that_cannot_be_written_are_errors(void **state)
{
	sqlite3 *db = unwritten(5, false, 4);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_text(db, TEXT_OF("verdict_unwritten", "code"), "EPIPE");
	is_within(db, VALUE("verdict_unwritten", "n"), 45, 55);
	is_within(db, "SELECT errors FROM verdict", 45, 55);
	db_close(db);
	/* the rest of an answer in HTTP/1 */
	db = unwritten(5, true, 1);
	is_text(db, VERDICT, "problem errors");
	db_close(db);
	/* notices after an answer; few clients that go */
	db = unwritten(5, true, 4);
	is_text(db, VERDICT, "none ");
	db_close(db);
	db = unwritten(1, false, 4);
	is_text(db, VERDICT, "none ");
	db_close(db);
}

/*
 * Each 100 ms an answer in two parts to a client that closes its connection before the second, next
 * to as many complete ones, from a time on: ns to the first part, and to the second, which fails;
 * of the others, to the second.
 */
static void put_aborted(struct buf *x, long first, long second, long complete, long from)
{
	struct err e = { 0 };
	long t;
	int i = 0;

	begin_host(x);
	buf_printf(x, &e,
		   "@recorder\n4 0 request_name id=9 protocol=1 name=\"GET /big\"\n@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 300) * MS; t += 50 * MS, i++) {
		bool bad = i % 2 && t >= from;
		long begins = bad ? first : 200000, ends = bad ? second : complete;

		buf_printf(x, &e,
			   "%ld 100 fd pid=100 fd=20 mode=0140000 ino=%d family=2 role=2 socktype=1"
			   " sport=80 dport=9 daddr=10.0.0.9\n"
			   "%ld 100 syscall nr=read fd=20 dur=1 ret=10\n"
			   "%ld 100 head conn=99 pos=10 len=10 name=9 requests=1\n"
			   "%ld 100 syscall nr=write fd=20 dur=1 ret=10\n"
			   "%ld 100 syscall nr=write fd=20 dur=1 ret=%d\n"
			   "%ld 100 syscall nr=close fd=20 dur=1 ret=0\n",
			   t, 2000 + i, t, t, t + begins, t + ends, bad ? -32 : 10,
			   t + ends + 1000);
	}
}

static sqlite3 *aborted(long first, long second, long complete, long from)
{
	struct buf x = { 0 };

	put_aborted(&x, first, second, complete, from);
	return analysed(loaded_buf(&x), "verdict");
}

/* The same from 5 s on; of 90 answers of /report from then on, `bad` report an error. */
static sqlite3 *aborted_next_to(int bad)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	int i;

	put_aborted(&x, 200000, 300000, 900000, 5000 * MS);
	buf_printf(&x, &e, "@cpu 1\n90 0 waking target=102\n90 0 switch next=102\n");
	for (i = 0; i < 190; i++) {
		long t = (20 + 50 * i) * MS;

		ask(&x, 2, 102, t, t + 10000, t + 100000);
		if (i >= 100 && (i - 100) * 7 % 90 < bad)
			buf_printf(&x, &e,
				   "%ld 102 answer conn=2 pos=0 len=20 status=500 protocol=1\n",
				   t + 100000);
	}
	return analysed(loaded_buf(&x), "verdict");
}

/*
 * Each 100 ms a request of /big: the first part leaves at once. Of ten, five are complete after
 * 50 ms and two after 900 ms; the clients of three close their connection after 300 ms.
 */
static sqlite3 *gave_up(bool slow)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	int i, n = SECONDS * 10 - 20;

	begin_host(&x);
	buf_printf(&x, &e,
		   "@recorder\n4 0 request_name id=9 protocol=1 name=\"GET /big\"\n@cpu 0\n");
	for (i = 0; i < n; i++)
		buf_printf(&x, &e,
			   "%ld 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1"
			   " sport=80 dport=9 daddr=10.0.0.9\n",
			   20 * MS, 20 + i % 10, 2000 + i % 10);
	for (i = 0; i < n / 10; i++) {
		long t = (20 + 1000 * i) * MS;
		int k;

		for (k = 0; k < 10; k++)
			buf_printf(&x, &e,
				   "%ld 100 syscall nr=read fd=%d dur=1 ret=10\n"
				   "%ld 100 head conn=%d pos=%d len=10 name=9 requests=1\n"
				   "%ld 100 syscall nr=write fd=%d dur=1 ret=10\n",
				   t + k * MS, 20 + k, t + k * MS, 90 + k, 10 * i,
				   t + k * MS + 200000, 20 + k);
		for (k = 0; k < 5; k++)
			buf_printf(&x, &e, "%ld 100 syscall nr=write fd=%d dur=1 ret=10\n",
				   t + (50 + k) * MS, 20 + k);
		for (k = 5; k < 8; k++)
			buf_printf(&x, &e, "%ld 100 syscall nr=write fd=%d dur=1 ret=-32\n",
				   t + ((slow ? 300 : 60) + k) * MS, 20 + k);
		for (k = 8; k < 10; k++)
			buf_printf(&x, &e, "%ld 100 syscall nr=write fd=%d dur=1 ret=10\n",
				   t + ((slow ? 900 : 50) + k) * MS, 20 + k);
	}
	return analysed(loaded_buf(&x), "verdict");
}

static void errors_next_to_clients_that_leave_are_said(void **state)
{
	sqlite3 *db = aborted_next_to(40);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_number(db, VALUE("verdict_errors_name", "n"), 40);
	is_text(db, TEXT_OF("verdict_errors_name", "code"), "500");
	db_close(db);
	db = aborted_next_to(0);
	is_text(db, VERDICT, "none ");
	db_close(db);
}

/* That a few answers take far longer is no measure for those that wait. */
static void clients_that_give_up_are_errors(void **state)
{
	sqlite3 *db = gave_up(true);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	db_close(db);
	db = gave_up(false);
	is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
	db_close(db);
}

static void clients_that_leave_without_a_wait_are_no_errors(void **state)
{
	sqlite3 *db = aborted(200000, 300000, 900000, 0);

	(void)state;
	is_text(db, VERDICT, "none ");
	is_within(db, "SELECT errors FROM verdict", 90, 100);
	is_number(db, "SELECT count(*) FROM request_error WHERE first_after=199999", 97);
	db_close(db);
	/* more of them since a time */
	db = aborted(200000, 300000, 900000, 5000 * MS);
	is_text(db, VERDICT, "none ");
	db_close(db);
	/* the first part came late, or the second one never */
	db = aborted(5 * MS, 5 * MS + 300000, 8 * MS, 0);
	is_text(db, VERDICT, "problem errors");
	db_close(db);
	db = aborted(200000, 5 * MS, 900000, 0);
	is_text(db, VERDICT, "problem errors");
	db_close(db);
}

/*
 * The last answers of 20 connections cannot be written, or report an error. All of the server's
 * connections are closed then, or others are used until the end.
 */
static sqlite3 *last_answers(bool all, bool written)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t, end = (SECONDS * 1000 - 400) * MS;
	int i;

	begin_host(&x);
	buf_printf(&x, &e, "@recorder\n4 0 request_name id=9 protocol=4 name=\"X\"\n");
	for (i = 0; i < 20; i++)
		buf_printf(
			&x, &e,
			"5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
			" dport=%d daddr=10.0.0.9\n",
			20 + i, 2000 + i, 20 + i);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (all ? end : end + 350 * MS); t += 10 * MS)
		ask(&x, 1 + t / MS / 10 % 2, 100, t, t + 10000, t + 100000);
	for (i = 0, t = end + 1 * MS; i < 20; i++, t += 15 * MS) {
		buf_printf(&x, &e,
			   "%ld 100 syscall nr=read fd=%d dur=1 ret=10\n"
			   "%ld 100 head conn=%d pos=10 len=10 name=9 requests=1\n",
			   t, 20 + i, t, 90 + i);
		if (written)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=%d pos=0 len=20 status=1 protocol=4\n",
				   t + 400000, 90 + i);
		buf_printf(&x, &e,
			   "%ld 100 syscall nr=write fd=%d dur=1 ret=%d\n"
			   "%ld 100 syscall nr=close fd=%d dur=1 ret=0\n",
			   t + 400000, 20 + i, written ? 20 : -32, t + 500000, 20 + i);
	}
	for (i = 1; i <= NAMES && all; i++)
		buf_printf(&x, &e, "%ld 100 syscall nr=close fd=%d dur=1 ret=0\n", t + i * 1000,
			   4 + i);
	return analysed(loaded_buf(&x), "verdict");
}

static void clients_that_end_are_no_errors(void **state)
{
	sqlite3 *db = last_answers(true, false);

	(void)state;
	is_text(db, VERDICT, "none ");
	is_number(db, "SELECT errors FROM verdict", 20);
	db_close(db);
	db = last_answers(false, false);
	is_text(db, VERDICT, "problem errors");
	db_close(db);
	/* they end because of errors */
	db = last_answers(true, true);
	is_text(db, VERDICT, "problem errors");
	db_close(db);
}

/* Connections each 10 ms, of which so many in 100 are refused; the others ask twice. */
static sqlite3 *logins(int refused)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;
	int i = 0, k;

	begin_host(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++) {
		bool bad = i * 7 % 100 < refused;

		buf_printf(&x, &e,
			   "%ld 100 fd pid=100 fd=20 mode=0140000 ino=%d family=2 role=2 socktype=1"
			   " sport=80 dport=%d daddr=10.0.0.9\n",
			   t, 2000 + i, 1000 + i);
		for (k = 0; k < (bad ? 1 : 3); k++)
			buf_printf(&x, &e,
				   "%ld 100 syscall nr=read fd=20 dur=1 ret=10\n"
				   "%ld 100 syscall nr=write fd=20 dur=1 ret=20\n",
				   t + (2 * k + 1) * 100000, t + (2 * k + 2) * 100000);
		if (bad)
			buf_printf(&x, &e,
				   "%ld 100 answer conn=99 pos=0 len=20 status=1045 protocol=7\n",
				   t + 200000);
		buf_printf(&x, &e, "%ld 100 syscall nr=close fd=20 dur=1 ret=0\n", t + 900000);
	}
	return analysed(loaded_buf(&x), "verdict");
}

static void refused_logins_are_errors(void **state)
{
	sqlite3 *db = logins(100);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_text(db, TEXT_OF("verdict_logins", "code"), "1045");
	is_within(db, VALUE("verdict_logins", "share"), 99, 100);
	db_close(db);
	/* some clients have a wrong password */
	db = logins(5);
	is_text(db, VERDICT, "none ");
	is_within(db, "SELECT count(*) FROM request_error", 45, 55);
	db_close(db);
}

/* ---- clients that give up ---- */

/* Of 40 requests so many per cent are closed by their clients after so long, without an answer. */
static sqlite3 *given_up(int percent, long after, const char *name, int protocol)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t = 100 * MS;
	int i;

	begin_host(&x);
	buf_printf(&x, &e,
		   "@recorder\n4 0 request_name id=9 protocol=%d name=\"%s\"\n"
		   "5 100 fd pid=100 fd=30 mode=0140000 ino=30 family=2 role=3 socktype=1 sport=5"
		   " dport=8089 daddr=10.0.0.7\n@cpu 0\n",
		   protocol, name);
	for (i = 0; i < 40; i++, t += 200 * MS) {
		bool bad = i * 7 % 100 < percent;

		buf_printf(&x, &e,
			   "%ld 100 fd pid=100 fd=20 mode=0140000 ino=%d family=2 role=2 socktype=1"
			   " sport=80 dport=%d daddr=10.0.0.9\n"
			   "%ld 100 syscall nr=read fd=20 dur=1 ret=10\n"
			   "%ld 100 head conn=99 pos=10 len=10 name=9 requests=1\n",
			   t, 2000 + i, 1000 + i, t + 100000, t + 100000);
		if (bad)
			buf_printf(&x, &e, "%ld 100 syscall nr=read fd=20 dur=1 ret=0\n",
				   t + after);
		else
			buf_printf(&x, &e, "%ld 100 syscall nr=write fd=20 dur=1 ret=20\n",
				   t + 200000);
		buf_printf(&x, &e, "%ld 100 syscall nr=close fd=20 dur=1 ret=0\n",
			   t + after + 10000);
	}
	return analysed(loaded_buf(&x), "verdict");
}

static void clients_that_give_up_are_not_hidden(void **state)
{
	sqlite3 *db = given_up(100, 150 * MS, "GET /x", 1);

	(void)state;
	is_text(db, VERDICT, "problem unanswered");
	is_number(db, VALUE("verdict_gone", "n"), 40);
	is_within(db, VALUE("verdict_gone", "wait"), 149e6, 151e6);
	db_close(db);
	/* some of them; none that waited; a command that awaits something; no need to answer */
	db = given_up(30, 150 * MS, "GET /x", 1);
	is_text(db, VERDICT, "unknown requests");
	db_close(db);
	db = given_up(100, 10 * MS, "GET /x", 1);
	is_text(db, VERDICT, "unknown requests");
	db_close(db);
	db = given_up(100, 150 * MS, "BLPOP", 4);
	is_text(db, VERDICT, "unknown requests");
	db_close(db);
	db = given_up(100, 150 * MS, "set", 5);
	is_text(db, VERDICT, "unknown requests");
	db_close(db);
}

/* ---- processes that cannot connect ---- */

/* A process tries five times; good: so many of them succeed; asks: another server answers it. */
static sqlite3 *connects(int good, bool asks)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	int i;

	buf_printf(&x, &e,
		   "@recorder\n0 0 info text=\"targets=all\"\n1 0 info"
		   " text=\"groups=core,syscalls,sched,net\"\n2 100 thread pid=100 state=83"
		   " comm=\"app\"\n5 100 fd pid=100 fd=30 mode=0140000 ino=30 family=2 role=3"
		   " socktype=1 sport=5 dport=8089 daddr=10.0.0.7\n8 0 clock monotonic=8"
		   " realtime=1700000000000000000 boottime=8\n10 0 info text=\"begin=10\"\n"
		   "%ld 0 info text=\"stopped=%ld\"\n@cpu 0\n90 0 waking target=100\n"
		   "90 0 switch next=100\n",
		   2000 * MS, 2000 * MS);
	for (i = 0; i < 5; i++) {
		long t = (100 + 100 * i) * MS;

		buf_printf(&x, &e,
			   "%ld 100 tcp_state sock=%d ino=%d family=2 from=7 to=2 sport=%d"
			   " dport=9 daddr=10.0.0.7\n"
			   "%ld 100 tcp_state sock=%d ino=%d family=2 from=2 to=%d sport=%d"
			   " dport=9 daddr=10.0.0.7 error=%d\n",
			   t, 50 + i, 50 + i, 6000 + i, t + 50000, 50 + i, 50 + i, i < good ? 1 : 7,
			   6000 + i, i < good ? 0 : -111);
	}
	if (asks)
		buf_printf(&x, &e,
			   "%ld 100 syscall nr=write fd=30 dur=1 ret=10\n"
			   "%ld 100 syscall nr=read fd=30 dur=1 ret=10\n",
			   1000 * MS, 1001 * MS);
	return analysed(loaded_buf(&x), "verdict");
}

static void processes_that_cannot_connect(void **state)
{
	sqlite3 *db = connects(0, false);

	(void)state;
	is_text(db, VERDICT, "problem connect");
	is_number(db, VALUE("verdict_unconnected", "n"), 5);
	is_text(db, TEXT_OF("connect_refused", "code"), "ECONNREFUSED");
	db_close(db);
	db = connects(1, false);
	is_text(db, VERDICT, "unknown requests");
	db_close(db);
	db = connects(0, true);
	is_text(db, VERDICT, "unknown requests");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(answers_that_cannot_be_written_are_errors),
		T(clients_that_leave_without_a_wait_are_no_errors),
		T(clients_that_give_up_are_errors),
		T(errors_next_to_clients_that_leave_are_said),
		T(clients_that_end_are_no_errors),
		T(refused_logins_are_errors),
		T(clients_that_give_up_are_not_hidden),
		T(processes_that_cannot_connect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
