// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that fail all the time, or get no answer; why: system calls that failed, processes that
 * were killed; and what only looks so.
 */
#include "analyze/analyses/failing/own_errors.h"
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

#define MS 1000000L

#define VERDICT		    "SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define VALUE(kind, what)   FINDING_VALUE(kind, what, "v.number")
#define TEXT_OF(kind, what) FINDING_VALUE(kind, what, "v.text")
#define N_OF(kind)	    "SELECT count(*) FROM finding WHERE kind='" kind "'"

/* Which requests fail, and what happens within them. */
struct failing {
	int bad, status;  /* percent of the requests that report it */
	const char *call; /* system call within those that fail: fields; NULL: none */
	const char *all;  /* within all of them */
	int apart;	  /* the call is made by this thread; 0: by the one that serves */
	int from;	  /* ms: the first that fails may arrive then */
	int after;	  /* ns from the request to its call; 0: within it */
};

/* A request each 10 ms. */
static void requests(struct buf *x, struct failing f)
{
	struct err e = { 0 };
	long t;
	int i = 0;

	srand(5);
	begin_host(x);
	buf_printf(x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < (SECONDS * 1000 - 100) * MS; t += 10 * MS, i++) {
		long end = t + 100000 + rand() % 9000;
		bool bad = i * 7 % 100 < f.bad && t >= f.from * MS;

		ask(x, 1 + i % 2, 100, t, t + 10000, end);
		if (bad)
			buf_printf(x, &e,
				   "%ld 100 answer conn=%d pos=0 len=20 status=%d protocol=1\n",
				   end, 1 + i % 2, f.status);
		if (f.all)
			buf_printf(x, &e, "%ld 100 %s\n", t + 50000, f.all);
		if (f.call && bad)
			buf_printf(x, &e, "%ld %d %s\n", t + (f.after ? f.after : 50000),
				   f.apart ? f.apart : 100, f.call);
	}
}

static sqlite3 *failing(struct failing f)
{
	struct buf x = { 0 };

	requests(&x, f);
	return analysed(loaded_buf(&x), NULL);
}

static void constant_errors_are_a_problem(void **state)
{
	sqlite3 *db = failing((struct failing){ .bad = 30, .status = 503 });

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_within(db, VALUE("verdict_failing", "share"), 28, 32);
	is_text(db, TEXT_OF("verdict_failing", "code"), "503");
	is_within(db, "SELECT read FROM verdict", 980, 1000);
	is_number(db, N_OF("verdict_calls"), 0);
	db_close(db);
	/* requests that are wrong; fewer than the limit */
	db = failing((struct failing){ .bad = 30, .status = 404 });
	is_text(db, VERDICT, "none ");
	db_close(db);
	db = failing((struct failing){ .bad = 1, .status = 500 });
	is_text(db, VERDICT, "none ");
	db_close(db);
}

static void whose_errors(void **state)
{
	(void)state;
	assert_true(is_own_error(1, 500, ""));
	assert_true(is_own_error(2, 504, ""));
	assert_false(is_own_error(1, 501, ""));
	assert_false(is_own_error(1, 429, ""));
	assert_true(is_own_error(3, 14, ""));
	assert_false(is_own_error(3, 5, ""));
	assert_true(is_own_error(6, 1, "53100"));
	assert_true(is_own_error(6, 1, "40P01"));
	assert_false(is_own_error(6, 1, "40001"));
	assert_false(is_own_error(6, 1, "23505"));
	assert_true(is_own_error(4, 1, "MISCONF"));
	assert_true(is_own_error(4, 1, "BUSY"));
	assert_false(is_own_error(4, 1, "BUSYGROUP"));
	assert_false(is_own_error(4, 1, "ERR"));
	assert_true(is_own_error(7, 1205, ""));
	assert_false(is_own_error(7, 1062, ""));
}

#define EMFILE	"syscall_args nr=openat dur=1000 ret=-24"
#define EAGAIN	"syscall nr=recvfrom fd=9 dur=1000 ret=-11"
#define BACKLOG "syscall nr=connect fd=9 dur=1000 ret=-11"
#define ENOENT	"syscall_args nr=openat dur=1000 ret=-2"

static void failed_calls_within_failed_requests_are_why(void **state)
{
	sqlite3 *db = failing((struct failing){ .bad = 30, .status = 500, .call = EMFILE });

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_text(db, TEXT_OF("verdict_calls", "errno"), "EMFILE");
	is_text(db, TEXT_OF("verdict_calls", "call"), "openat");
	is_within(db, VALUE("verdict_calls", "n"), 280, 310);
	is_number(db, VALUE("verdict_calls", "bad"), 100);
	is_number(db, VALUE("verdict_calls", "good"), 0);
	is_text(db, "SELECT evidence FROM finding WHERE kind='verdict_calls'", "OBSERVED");
	db_close(db);
	/* in a thread that serves no request: likely */
	db = failing((struct failing){ .bad = 30, .status = 500, .call = EMFILE, .apart = 103 });
	is_text(db, "SELECT evidence FROM finding WHERE kind='verdict_calls'", "OVERLAP");
	db_close(db);
}

/* Between requests, or in other threads: only in the time of the errors, as often as they. */
static void failed_calls_in_the_time_of_errors_are_why(void **state)
{
	struct failing f = {
		.bad = 90, .status = 500, .call = EMFILE, .from = 5000, .after = 5000000
	};
	sqlite3 *db = failing(f);

	(void)state;
	is_text(db, VERDICT, "problem errors");
	is_text(db, TEXT_OF("verdict_calls", "errno"), "EMFILE");
	is_text(db, "SELECT evidence FROM finding WHERE kind='verdict_calls'", "OVERLAP");
	db_close(db);
	/* at other times, too */
	f.all = EMFILE;
	db = failing(f);
	is_text(db, VERDICT, "problem errors");
	is_number(db, N_OF("verdict_calls"), 0);
	db_close(db);
}

/* A file system is full: another process wrote most there. */
static void who_filled_the_file_system(void **state)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	long t;

	(void)state;
	begin_host(&x);
	buf_printf(&x, &e,
		   "@recorder\n80 0 mount dev=9 text=\"tmpfs spool /spool\"\n"
		   "80 700 thread pid=700 state=83 comm=\"tar\"\n"
		   "81 700 fd pid=700 fd=3 mode=0100644 dev=9 ino=5 path=\"/spool/all.tar\"\n"
		   "81 100 fd pid=100 fd=20 mode=0100600 dev=9 ino=6 path=\"/spool/body/1\"\n"
		   "81 100 fd pid=100 fd=21 mode=0100600 dev=9 ino=7 path=\"/spool/body/2\"\n"
		   "@cpu 0\n90 700 syscall nr=write fd=3 dur=1 ret=5000000\n"
		   "91 100 syscall nr=pwrite64 fd=20 dur=1 ret=4000\n");
	for (t = 20 * MS; t < 9000 * MS; t += 10 * MS) {
		ask(&x, 1, 100, t, t + 10000, t + 100000);
		if (t >= 5000 * MS)
			buf_printf(&x, &e,
				   "%ld 100 syscall nr=pwrite64 fd=%ld dur=1000 ret=-28\n"
				   "%ld 100 answer conn=1 pos=0 len=20 status=500 protocol=1\n",
				   t + 50000, 20 + t / MS / 10 % 2, t + 100000);
	}
	db = analysed(loaded_buf(&x), NULL);
	is_text(db, VERDICT, "problem errors");
	is_text(db, TEXT_OF("verdict_calls", "such"), "/spool/body/1");
	is_number(db, "SELECT count(text) FROM (" TEXT_OF("verdict_calls", "path") ")", 0);
	is_text(db, TEXT_OF("verdict_calls", "filesystem"), "tmpfs /spool");
	is_text(db, TEXT_OF("verdict_calls", "file"), "/spool/all.tar");
	is_number(db, VALUE("verdict_calls", "written"), 5000000);
	db_close(db);
}

static void other_failed_calls_are_not(void **state)
{
	/* in those that are answered well, too; ordinary answers */
	static const struct failing cases[] = {
		{ .bad = 30, .status = 500, .all = EMFILE },
		{ .bad = 30, .status = 500, .call = EAGAIN },
		{ .bad = 30, .status = 500, .all = BACKLOG },
		{ .bad = 30, .status = 500, .call = ENOENT },
		{ .bad = 0, .status = 500, .all = EMFILE },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = failing(cases[i]);

		is_text(db, VERDICT, cases[i].bad ? "problem errors" : "none ");
		is_number(db, N_OF("verdict_calls"), 0);
		db_close(db);
	}
}

/* ---- requests without an answer ---- */

enum how_closed { BY_SERVER, BY_PEER, BY_READ_OF_NOTHING, AFTER_TERM };

/* 20 of 1000 connections are closed after their request was read. */
static sqlite3 *closed(enum how_closed how, int n)
{
	struct failing f = { .bad = 0 };
	struct buf x = { 0 };
	struct err e = { 0 };
	long t = 25 * MS;
	int i;

	requests(&x, f);
	buf_printf(&x, &e, "@cpu 1\n");
	if (how == AFTER_TERM)
		buf_printf(&x, &e, "%ld 1 signal_sent target=100 pid=100 number=15\n", t);
	for (i = 0; i < n; i++, t += 40 * MS) {
		int ino = 500 + i, conn = 50 + i;

		buf_printf(&x, &e,
			   "%ld 100 fd pid=100 fd=30 mode=0140000 ino=%d family=2 role=2 socktype=1"
			   " sport=80 dport=%d daddr=10.0.0.9\n"
			   "+10 0 connection sock=%d ino=%d conn=%d family=2 side=1\n",
			   t, ino, 1000 + i, ino, ino, conn);
		buf_printf(&x, &e,
			   "+1000 100 syscall nr=read fd=30 dur=1 ret=10\n"
			   "+0 100 head conn=%d pos=10 len=10 name=1 requests=1\n",
			   conn);
		if (how == BY_READ_OF_NOTHING)
			buf_printf(&x, &e, "+1000 100 syscall nr=read fd=30 dur=1 ret=0\n");
		if (how == BY_PEER)
			buf_printf(&x, &e, "+1000 0 tcp_state sock=%d ino=%d from=1 to=8\n", ino,
				   ino);
		buf_printf(&x, &e, "+1000 100 syscall nr=close fd=30 dur=1\n");
	}
	return analysed(loaded_buf(&x), NULL);
}

static void closed_connections_leave_requests_unanswered(void **state)
{
	sqlite3 *db = closed(BY_SERVER, 20);

	(void)state;
	is_number(db, "SELECT count(*) FROM request_closed", 20);
	is_text(db, VERDICT, "problem unanswered");
	is_number(db, "SELECT unanswered FROM verdict", 20);
	is_number(db, VALUE("verdict_unanswered", "n"), 20);
	db_close(db);
	/* as few as the limit allows */
	db = closed(BY_SERVER, 4);
	is_number(db, "SELECT unanswered FROM verdict", 4);
	is_text(db, VERDICT, "none ");
	db_close(db);
}

static void who_goes_first_gets_no_answer(void **state)
{
	static const enum how_closed cases[] = { BY_PEER, BY_READ_OF_NOTHING, AFTER_TERM };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = closed(cases[i], 20);

		is_text(db, VERDICT, "none ");
		is_number(db, "SELECT unanswered FROM verdict", 0);
		db_close(db);
	}
}

/* ---- processes that end ---- */

/* Process 200 waits for an answer of another server, until a signal wakes it. */
static void ask_other(struct buf *x)
{
	struct err e = { 0 };

	buf_printf(x, &e,
		   "4_910_000_000 200 syscall nr=sendto fd=6 dur=1 ret=10\n"
		   "4_911_000_000 200 switch next=0 state=1\n"
		   "5_000_000_000 300 waking target=200\n"
		   "5_000_010_000 0 switch next=200\n"
		   "5_000_020_000 200 syscall nr=recvfrom fd=6 dur=89100000 ret=-512\n");
}

enum was { WAS_IDLE, WAS_BUSY, WAS_ASKING };

/* Process 200 reads a request and ends at 5 s, in the form of wait(2) of code. late: it closes its
 * connection then, and ends 1 s later. */
static sqlite3 *ended_of(int parent, int code, int number, int si_code, enum was was, bool late)
{
	struct failing f = { .bad = 0 };
	struct buf x = { 0 };
	struct err e = { 0 };

	requests(&x, f);
	buf_printf(&x, &e, "@recorder\n");
	buf_printf(&x, &e,
		   "2 200 thread pid=200 state=83 comm=\"server\"\n"
		   "4 200 fd pid=200 fd=5 mode=0140000 ino=99 family=2 role=2 socktype=1 sport=80"
		   " dport=7 daddr=10.0.0.9\n"
		   "4 200 fd pid=200 fd=6 mode=0140000 ino=98 family=2 role=3 socktype=1 sport=8"
		   " dport=9211 daddr=10.0.0.7\n@cpu 1\n"
		   "90 0 switch next=200\n100 0 connection sock=99 ino=99 conn=99 family=2 side=1\n"
		   "2_000_000_000 200 syscall nr=read fd=5 dur=1 ret=10\n"
		   "2_000_000_000 200 head conn=99 pos=10 len=10 name=1 requests=1\n"
		   "2_000_100_000 200 syscall nr=write fd=5 dur=1 ret=10\n");
	if (was != WAS_IDLE)
		buf_printf(&x, &e,
			   "4_900_000_000 200 syscall nr=read fd=5 dur=1 ret=10\n"
			   "4_900_000_000 200 head conn=99 pos=20 len=10 name=1 requests=1\n");
	if (was == WAS_ASKING)
		ask_other(&x);
	if (number)
		buf_printf(
			&x, &e,
			"5_000_030_000 300 signal_sent target=200 pid=200 number=%d code=%d sender=300"
			" comm=\"bash\"\n",
			number, si_code);
	if (late)
		buf_printf(&x, &e, "5_000_090_000 200 syscall nr=close fd=5 dur=1 ret=0\n");
	buf_printf(
		&x, &e,
		"%d_000_100_000 200 ended pid=200 parent=%d code=%d\n%d_000_100_000 200 exit pid=200"
		" code=%d\n%d_000_200_000 200 switch next=0 state=128\n",
		5 + late, parent, code, 5 + late, code, 5 + late);
	return analysed(loaded_buf(&x), NULL);
}

static sqlite3 *ended(int code, int number, int si_code, enum was was)
{
	return ended_of(1, code, number, si_code, was, false);
}

static void a_killed_process_is_named(void **state)
{
	sqlite3 *db = ended(9, 9, 0, WAS_BUSY);

	(void)state;
	is_text(db, VERDICT, "problem unanswered");
	is_text(db, TEXT_OF("verdict_killed", "signal"), "SIGKILL");
	is_text(db, TEXT_OF("verdict_killed", "sender"), "bash[300]");
	is_number(db, FINDING_VALUE("verdict_killed", "process", "v.id"), 200);
	is_number(db, VALUE("verdict_killed", "n"), 1);
	is_number(db, FINDING_VALUE("verdict_killed", "name", "v.id"), 1);
	is_null(db, TEXT_OF("verdict_killed", "upstream"));
	db_close(db);
	db = ended(9, 9, 0, WAS_ASKING);
	is_text(db, TEXT_OF("verdict_killed", "upstream"), "10.0.0.7:9211");
	is_within(db, VALUE("verdict_killed", "wait"), 89e6, 91e6);
	db_close(db);
	db = ended(11 | 128, 11, 1, WAS_BUSY);
	is_text(db, TEXT_OF("verdict_killed", "signal"), "SIGSEGV");
	is_text(db, TEXT_OF("verdict_killed", "fault"), "a fault of its own");
	db_close(db);
	db = ended(9, 9, 128, WAS_BUSY);
	is_like(db, TEXT_OF("verdict_killed", "fault"), "sent by the kernel%");
	db_close(db);
}

/* It handles SIGABRT by an exit, also one that takes long; the parent sends it, as to workers. */
static void a_worker_that_its_parent_ends_is_named(void **state)
{
	sqlite3 *db;
	int late;

	(void)state;
	for (late = 0; late < 2; late++) {
		db = ended_of(300, 1 << 8, 6, 0, WAS_BUSY, late);
		is_text(db, VERDICT, "problem unanswered");
		is_text(db, TEXT_OF("verdict_killed", "signal"), "SIGABRT");
		is_text(db, TEXT_OF("verdict_killed", "sender"), "its parent bash[300]");
		is_number(db, FINDING_VALUE("verdict_killed", "name", "v.id"), 1);
		db_close(db);
	}
	/* orderly, as to recycle it; without a request */
	db = ended_of(300, 0, 15, 0, WAS_IDLE, false);
	is_number(db, N_OF("verdict_killed"), 0);
	db_close(db);
	db = ended_of(300, 0, 15, 0, WAS_BUSY, false);
	is_number(db, N_OF("verdict_killed"), 0);
	db_close(db);
	db = ended_of(300, 1 << 8, 6, 0, WAS_IDLE, false);
	is_text(db, VERDICT, "none ");
	is_number(db, N_OF("verdict_killed"), 0);
	db_close(db);
	/* not by its parent: it may handle the signal for another reason */
	db = ended_of(1, 1 << 8, 6, 0, WAS_BUSY, false);
	is_number(db, N_OF("verdict_killed"), 0);
	db_close(db);
}

/* The only process, between two requests; and one that ends orderly. */
static void a_server_that_was_killed(void **state)
{
	static const struct {
		int code, number;
		const char *verdict;
	} cases[] = {
		{ 9, 9, "problem ended" },
		{ 15, 15, "none " },
		{ 0, 0, "none " },
	};
	size_t i;
	long t;
	int k;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf x = { 0 };
		struct err e = { 0 };
		sqlite3 *db;

		begin_host(&x);
		buf_printf(&x, &e, "@cpu 0\n");
		for (t = 20 * MS, k = 0; t < 6000 * MS; t += 10 * MS, k++)
			ask(&x, 1 + k % 2, 100, t, t + 10000, t + 100000 + k % 7 * 1000);
		if (cases[i].number)
			buf_printf(&x, &e,
				   "%ld 300 signal_sent target=100 pid=100 number=%d sender=300"
				   " comm=\"bash\"\n",
				   t, cases[i].number);
		for (k = 1; k < NAMES; k++)
			buf_printf(&x, &e, "%ld 10%d exit pid=100\n", t, k);
		buf_printf(&x, &e,
			   "%ld 100 ended pid=100 code=%d\n%ld 100 exit pid=100 code=%d\n"
			   "%ld 100 switch next=0 state=128\n",
			   t, cases[i].code, t, cases[i].code, t + 1000);
		buf_printf(&x, &e, "@cpu 1\n");
		for (k = 1; k <= NAMES; k++)
			buf_printf(&x, &e,
				   "%ld 0 switch next=10%d\n%ld 10%d switch next=0 state=128\n",
				   t - 1000 * k, k, t - 1000 * k + 500, k);
		db = analysed(loaded_buf(&x), NULL);
		is_text(db, VERDICT, cases[i].verdict);
		db_close(db);
	}
}

static void an_orderly_end_is_not(void **state)
{
	static const struct {
		int code, number;
		enum was was;
	} cases[] = {
		{ 0, 0, WAS_BUSY },   /* it exits, as a worker after its last request */
		{ 15, 15, WAS_BUSY }, /* it is asked to end */
		{ 256, 0, WAS_IDLE },
		{ 9, 9, WAS_IDLE }, /* no request of its connections waits */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = ended(cases[i].code, cases[i].number, 0, cases[i].was);

		is_text(db, VERDICT, "none ");
		is_number(db, N_OF("verdict_killed"), 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(constant_errors_are_a_problem),
		T(whose_errors),
		T(failed_calls_within_failed_requests_are_why),
		T(failed_calls_in_the_time_of_errors_are_why),
		T(who_filled_the_file_system),
		T(other_failed_calls_are_not),
		T(closed_connections_leave_requests_unanswered),
		T(who_goes_first_gets_no_answer),
		T(a_killed_process_is_named),
		T(a_worker_that_its_parent_ends_is_named),
		T(a_server_that_was_killed),
		T(an_orderly_end_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
