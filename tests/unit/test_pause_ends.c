// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_root.c, pause_idle.c, pause_rest.c: what the end of a wakeup chain
 * waits for. */
#include "tests/lib/pausing.h"

#define REST			"SELECT count(*) FROM finding WHERE kind='pause_rest'"
#define ROOT_VALUE(what, name_) FINDING_VALUE("pause_root", name_, what)

/*
 * Thread 101 sleeps in epoll until the thread end wakes it; then it wakes 100. Before, 200 reads
 * from fd, writes to -fd, or sleeps in a request (0).
 */
static const char *polls; /* 200 polls the connection, and this is its next call there */
static int epolls = -1;	  /* what its epoll_wait returns, 2.5 ms before it reads; -1: none */

/* Before, 200 answers a request on its fd 6 or 7, of names 1 and 2; the next one is name 3. */
struct answered {
	int fd;
	const char *names[2]; /* NULL: none before */
	bool another;	      /* the connection of the second one is another */
	const char *next;     /* NULL: not known */
};
static const struct answered *answers;
static const char *after; /* SQL before the analyses */
static const char *sleeps_in = "epoll_wait";
static int runs; /* thread of 100 that runs all the time; 0: none */

static void answers_before(struct text *x, long t)
{
	int i, fd = answers->fd;

	text_line(x, "@recorder");
	for (i = 0; i < 2 && answers->names[i]; i++)
		text_line(x, "26 0 request_name id=%d protocol=6 name=\"%s\"", i + 1,
			  answers->names[i]);
	if (answers->next)
		text_line(x, "26 0 request_name id=3 protocol=6 name=\"%s\"", answers->next);
	text_line(x, "40 0 connection sock=1 ino=%d conn=8 family=2 side=1\n@cpu 2", 200000 + fd);
	for (i = 0; i < 2 && answers->names[i]; i++, t += MS) {
		text_line(x, "%ld 0 segment conn=8 pos=%d len=29 unread=0", t, 29 * (i + 1));
		text_line(x, "%ld 0 switch next=200", t + 1000);
		text_line(x, "%ld 200 syscall nr=read fd=%d ret=29 count=99 dur=1", t + 2000, fd);
		text_line(x, "%ld 200 head conn=8 pos=%d len=29 name=%d requests=1", t + 2000,
			  29 * (i + 1), i + 1);
		text_line(x, "%ld 200 syscall nr=write fd=%d ret=9 count=9 dur=1", t + 3000, fd);
		text_line(x, "%ld 200 switch next=0 state=1", t + 4000);
	}
}

static void runs_beside(struct text *x, long t)
{
	text_line(x, "@recorder\n28 %d thread pid=100 state=83 comm=\"server\"", runs);
	text_line(x, "@cpu 3\n%ld 0 switch next=%d", t, runs);
	text_line(x, "%ld %d switch next=0 state=1\n@cpu 2", t + 300 * MS, runs);
}

static sqlite3 *chained(int fd, int end)
{
	struct text x = { 0 };
	char sql[100];
	long t;

	head(&x);
	text_line(
		&x,
		"@recorder\n25 200 fd pid=200 fd=9 mode=0140000 ino=77 family=2 role=3 socktype=1 sport=4000"
		" dport=6379 saddr=127.0.0.1 daddr=10.0.0.3\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	sleeps(&x, sleeps_in, -1, 101);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", t - MS);
	text_line(&x, "%ld 101 switch next=0 state=1", t - MS + 1000);
	text_line(&x, "%ld %d waking target=101\n%ld 0 switch next=101", t + 299 * MS, end,
		  t + 299 * MS + 1000);
	text_line(&x, "%ld 101 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld",
		  t + 299 * MS + 2000, 300 * MS);
	text_line(&x, "%ld 101 switch next=0 state=1\n@cpu 2", t + 301 * MS);
	if (runs)
		runs_beside(&x, t);
	if (answers)
		answers_before(&x, t - 9 * MS);
	text_line(&x, "%ld 0 switch next=200", t - MS);
	if (!fd)
		text_line(&x, "%ld 200 syscall nr=read fd=7 ret=29 count=99 dur=200", t - MS + 500);
	text_line(&x, "%ld 200 switch next=0 state=1", t - MS + 1000);
	text_line(&x, "%ld 0 waking target=200 context=1\n%ld 0 switch next=200", t + 298 * MS,
		  t + 298 * MS + 1000);
	if (polls) {
		text_line(&x, "%ld 200 syscall_args nr=poll flags=%d arg5=6 dur=%ld ret=1",
			  t + 298 * MS + 2000, SYSCALL_ONE_FD, 299 * MS + 1500);
		text_line(&x, "%ld 200 syscall nr=%s fd=6 ret=29 count=99 dur=100",
			  t + 298 * MS + 4000, polls);
	}
	if (epolls >= 0)
		text_line(&x, "%ld 200 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=%d",
			  t + 298 * MS + 2000, 299 * MS + 1500, epolls);
	text_line(&x,
		  polls		? "%ld 200 syscall_args nr=clock_gettime dur=1"
		  : epolls >= 0 ? "%ld 200 syscall nr=read fd=6 ret=29 count=99 dur=200"
		  : fd > 0	? "%ld 200 syscall nr=read ret=29 count=99 dur=%ld fd=%d"
		  : fd < 0	? "%ld 200 syscall nr=write ret=29 count=99 dur=%ld fd=%d"
				: "%ld 200 syscall_args nr=clock_nanosleep ret=0 dur=%ld",
		  t + 298 * MS + (epolls < 0 ? 2000 : 2500000), 299 * MS + 1500, abs(fd));
	if (answers && answers->next)
		text_line(&x, "%ld 200 head conn=8 pos=29 len=29 name=3 requests=1",
			  t + 298 * MS + 2000);
	if (!fd)
		text_line(&x, "%ld 200 syscall nr=write fd=7 ret=9 count=9 dur=200", t + 301 * MS);
	if (answers || epolls >= 0)
		text_line(&x, "%ld 200 syscall nr=write fd=6 ret=9 count=9 dur=200", t + 301 * MS);
	text_line(&x, "%ld 200 switch next=0 state=1\n@cpu 0", t + 302 * MS);
	snprintf(sql, sizeof(sql), "UPDATE fd SET ts=%ld WHERE pid=200 AND fd=6", t - 8 * MS - 31);
	return judged_after(&x, answers && answers->another ? sql : after);
}

/* A thread of a pool waits for another server: its address. */
static void a_pause_names_the_upstream_at_the_end_of_its_chain(void **state)
{
	sqlite3 *db = chained(9, 200);

	(void)state;
	is_number(db, ROOT_VALUE("v.id", "end"), 200);
	is_text(db, ROOT_VALUE("v.text", "upstream"), "10.0.0.3:6379");
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting for another server");
	db_close(db);
	/* it has no room to send there, and asks nothing yet */
	db = chained(-9, 200);
	is_text(db, ROOT_VALUE("v.text", "reader"), "10.0.0.3:6379");
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting to send");
	is_number(db, ROOT_VALUE("count(v.text)", "upstream"), 0);
	db_close(db);
}

/* Not the waker, which waited itself, but the thread that made it wait, and for whom. */
static void a_pause_names_the_end_of_its_wakeup_chain(void **state)
{
	sqlite3 *db = chained(6, 200);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"),
		"waiting in poll for another thread or process");
	is_number(db, CAUSE_VALUE("v.id", "waker"), 101);
	is_number(db, ROOT_VALUE("v.id", "end"), 200);
	is_text(db, ROOT_VALUE("v.text", "client"), "10.0.0.9:40006");
	is_number(db, ROOT_VALUE("count(v.text)", "reader"), 0);
	is_number(db, ROOT_VALUE("count(v.text)", "serving"), 0);
	is_within(db, ROOT_VALUE("v.number", "share"), 98, 100);
	db_close(db);
	/* it waits until the client has read */
	db = chained(-6, 200);
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting to send");
	is_text(db, ROOT_VALUE("v.text", "reader"), "10.0.0.9:40006");
	is_number(db, ROOT_VALUE("count(v.text)", "client"), 0);
	db_close(db);
	/* the same of poll, by what it does there next */
	polls = "write";
	db = chained(6, 200);
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting to send");
	is_text(db, ROOT_VALUE("v.text", "reader"), "10.0.0.9:40006");
	db_close(db);
	polls = "read";
	db = chained(6, 200);
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting in poll");
	is_text(db, ROOT_VALUE("v.text", "client"), "10.0.0.9:40006");
	db_close(db);
	polls = "shutdown";
	db = chained(6, 200);
	is_number(db, ROOT_VALUE("count(v.text)", "client"), 0);
	is_number(db, ROOT_VALUE("count(v.text)", "reader"), 0);
	db_close(db);
	polls = NULL;
	db = chained(0, 200);
	is_number(db, ROOT_VALUE("v.id", "end"), 200);
	is_text(db, ROOT_VALUE("v.text", "state"), "asleep until a timer");
	is_number(db, ROOT_VALUE("count(v.text)", "client"), 0);
	is_text(db, ROOT_VALUE("v.text", "serving"), "request from 10.0.0.9");
	db_close(db);
	/* of 999 nothing is recorded: the chain ends before it */
	db = chained(6, 999);
	is_number(db, ROOT_VALUE("v.id", "end"), 101);
	is_number(db, ROOT_VALUE("v.id", "by"), 999);
	db_close(db);
}

/* Its client has started a transaction, and sends nothing: since when, and after which request. */
static void a_pause_names_the_transaction_that_a_client_keeps(void **state)
{
	static const struct {
		struct answered before;
		const char *idle;
	} cases[] = {
		{ { 6, { "Query BEGIN", "Query UPDATE" }, false, NULL },
		  "It was in a transaction, without a request" },
		{ { 6, { "Query BEGIN", "Query COMMIT" }, false, NULL },
		  "It was without a request" },
		{ { 6, { "Query BEGIN", "Query UPDATE" }, true, NULL },
		  "It was without a request" },
		/* a thread of a pool: the request before was of another client */
		{ { 7, { "Query BEGIN", "Query UPDATE" }, false, NULL }, NULL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db;

		answers = &cases[i].before;
		db = chained(6, 200);
		answers = NULL;
		is_number(db, ROOT_VALUE("v.id", "end"), 200);
		is_text(db, ROOT_VALUE("v.text", "client"), "10.0.0.9:40006");
		is_number(db, ROOT_VALUE("count(v.text)", "idle"), cases[i].idle ? 1 : 0);
		if (cases[i].idle) {
			is_text(db, ROOT_VALUE("v.text", "idle"), cases[i].idle);
			is_text(db,
				"SELECT name FROM request_name WHERE id=(SELECT name FROM request WHERE"
				" rowid=(" ROOT_VALUE("v.id", "last") "))",
				cases[i].before.names[1]);
		}
		db_close(db);
	}
}

/* The session was open before the recording: what its next request ends was open as well. */
static void a_pause_names_a_client_without_a_request_since_before(void **state)
{
	static const struct {
		struct answered before;
		const char *idle;
	} cases[] = {
		{ { .fd = 6, .next = "Query COMMIT" },
		  "It was in a transaction, without a request since before the recording" },
		{ { .fd = 6, .next = "Query SELECT" },
		  "It was without a request since before the recording: a transaction may have been open" },
		{ { .fd = 6 }, "It was without a request since before the recording" },
		/* it was accepted in the recording */
		{ { .fd = 6, .next = "Query COMMIT", .another = true }, NULL },
		/* and with a request before: since then */
		{ { 6, { "Query UPDATE", "Query UPDATE" }, false, "Query COMMIT" },
		  "It was in a transaction, without a request" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *idle = cases[i].idle;
		bool next = idle && cases[i].before.next && !cases[i].before.names[0] &&
			    strstr(cases[i].before.next, "COMMIT");
		sqlite3 *db;

		answers = &cases[i].before;
		db = chained(6, 200);
		answers = NULL;
		is_text(db, ROOT_VALUE("v.text", "client"), "10.0.0.9:40006");
		is_number(db, ROOT_VALUE("count(v.text)", "idle"), idle ? 1 : 0);
		if (idle)
			is_text(db, ROOT_VALUE("v.text", "idle"), idle);
		is_number(db, ROOT_VALUE("count(nullif(v.id, 0))", "next"), next);
		is_number(db, ROOT_VALUE("count(nullif(v.id, 0))", "last"),
			  cases[i].before.names[0] ? 1 : 0);
		db_close(db);
	}
}

/* A process that waits for several things has one client only, which it reads from next. */
static void a_pause_names_the_only_client_of_an_epoll(void **state)
{
	sqlite3 *db;

	(void)state;
	epolls = 1;
	db = chained(6, 200);
	is_number(db, ROOT_VALUE("count(v.text)", "client"), 0); /* of four */
	is_number(db, REST, 1);
	db_close(db);
	after = "DELETE FROM fd WHERE pid=200 AND fd IN (5, 7, 8)";
	db = chained(6, 200);
	is_text(db, ROOT_VALUE("v.text", "client"), "10.0.0.9:40006");
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting in poll");
	is_number(db, REST, 0);
	db_close(db);
	/* no byte, but its timeout */
	epolls = 0;
	db = chained(6, 200);
	is_number(db, ROOT_VALUE("count(v.text)", "client"), 0);
	is_text(db, ROOT_VALUE("v.text", "state"), "asleep until a timer");
	is_number(db, REST, 0);
	db_close(db);
	after = NULL;
	epolls = -1;
}

#define PAUSE(what) "(SELECT " what " FROM pause ORDER BY dur DESC LIMIT 1)"
#define CONNECTION(port, from, to)                                                              \
	"INSERT INTO connection(ts, end, pid, role, local, remote) VALUES(" PAUSE(              \
		from) ", " PAUSE(to) ", 100, 'accepted', '127.0.0.1:" port "', '10.0.0.1:" port \
				     "');"
#define OTHER_PORT                                       \
	CONNECTION("81", "ts - 1000000", "ts + 1000000") \
	CONNECTION("81", "ts + dur - 1000000", "ts + dur + 1000000")

/* All threads sleep in poll, with a request that was read: it was not answered by their own
 * decision. */
static void a_server_at_rest_names_no_poller(void **state)
{
	static const struct {
		const char *change;
		bool rest, other_port;
		const char *call; /* in which 100 waits; NULL: epoll_wait */
		int runs;	  /* a thread of its process; 0: none */
	} cases[] = {
		{ NULL, .rest = true },
		{ OTHER_PORT, .rest = true, .other_port = true },
		/* another one in between; of the server's own port */
		{ OTHER_PORT CONNECTION("81", "ts + 10000000", "ts + 20000000"), .rest = true },
		{ CONNECTION("80", "ts - 1000000", "ts + 1000000")
			  CONNECTION("80", "ts + dur - 1000000", "ts + dur + 1000000"),
		  .rest = true },
		{ "INSERT INTO upstream_unanswered(ts, pid, tid, fd) VALUES(0, 100, 100, 9)",
		  .rest = false },
		/* a lock, if threads are what its tasks run on */
		{ "UPDATE process SET green='goroutine'", .rest = true, .call = "futex" },
		/* no chain leads on from threads that serve any request */
		{ "UPDATE process SET green='goroutine'; UPDATE thread SET green=1", .rest = true,
		  .call = "futex" },
		{ NULL, .call = "futex" },
		{ NULL, .runs = 102 },
	};
	size_t i;

	(void)state;
	epolls = 1;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db;

		after = cases[i].change;
		sleeps_in = cases[i].call ? cases[i].call : "epoll_wait";
		runs = cases[i].runs;
		db = chained(6, 200);
		is_number(db, REST, cases[i].rest);
		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_root'",
			  !cases[i].rest);
		if (cases[i].rest)
			is_number(db, FINDING_VALUE("pause_rest", "n", "v.number"), 2);
		is_number(db, FINDING_VALUE("pause_rest", "port", "count(v.text)"),
			  cases[i].other_port);
		db_close(db);
	}
	after = NULL;
	epolls = -1;
	sleeps_in = "epoll_wait";
	runs = 0;
}

/* What a replica reports is no request: since when it sent nothing, not which one was the last. */
static void a_pause_names_a_silent_standby(void **state)
{
	static const struct answered walsender = {
		6, { "Replication", "Replication" }, false, "Replication"
	};
	sqlite3 *db;

	(void)state;
	answers = &walsender;
	db = chained(6, 200);
	answers = NULL;
	is_text(db, ROOT_VALUE("v.text", "idle"), "It waits for its standby, which sent nothing");
	is_number(db, ROOT_VALUE("count(nullif(v.id, 0))", "last"), 0);
	is_number(db, ROOT_VALUE("count(v.number)", "since"), 1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_pause_names_the_upstream_at_the_end_of_its_chain),
		T(a_pause_names_the_end_of_its_wakeup_chain),
		T(a_pause_names_the_transaction_that_a_client_keeps),
		T(a_pause_names_a_client_without_a_request_since_before),
		T(a_pause_names_the_only_client_of_an_epoll),
		T(a_server_at_rest_names_no_poller),
		T(a_pause_names_a_silent_standby),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
