// SPDX-License-Identifier: GPL-2.0-or-later
/* Next to pauses: accept that fails for the limit of open files (verdict_open_files.c), and a
 * server that was replaced (verdict_replaced.c). */
#include "tests/lib/pausing.h"
#include "tests/lib/unit.h"

#define N_OF(kind)  "SELECT count(*) FROM finding WHERE kind='" kind "'"
#define LIMIT(name) FINDING_VALUE("verdict_open_limit", name, "v.number")

enum way { SHORT, SERVED, ONCE, OTHER_ERROR, BEFORE, NEVER };

static void fails(struct text *x, enum way way, long at)
{
	text_line(x, "%ld 100 syscall_args nr=accept4 arg0=3 dur=9 ret=%d", at,
		  way == OTHER_ERROR ? -103 : -24);
	if (way != OTHER_ERROR)
		text_line(x, "%ld 100 syscall_args nr=openat dur=9 ret=-24", at + 20);
	if (way == SERVED)
		text_line(x,
			  "%ld 100 syscall_args nr=accept4 arg0=3 dur=9 ret=40\n"
			  "%ld 100 syscall nr=read fd=40 dur=1 ret=10",
			  at + 100, at + 200);
}

/* A request is read, and the thread sleeps in epoll_wait: twice, as nginx does after EMFILE. */
static sqlite3 *pausing(enum way way, const char *change)
{
	struct text x = { 0 };
	long t;
	int i;

	head(&x);
	text_line(&x, "40 0 connection sock=1 ino=100008 conn=8 family=2 side=1");
	many(&x, 100, 300, MS);
	for (i = 0; way == BEFORE && i < 2; i++, x.t += 150 * MS) {
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 1000);
		fails(&x, way, x.t + 2000);
		text_line(&x, "%ld 100 switch next=0 state=1", x.t + 9000);
	}
	if (way == BEFORE) {
		request(&x, 100, 5, 20000);
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 1000);
		fails(&x, SERVED, x.t + 2000);
		text_line(&x, "%ld 100 switch next=0 state=1", x.t + 9000);
		x.t += MS;
	}
	many(&x, 100, 300, MS);
	t = x.t;
	wakes(&x);
	if (way != BEFORE && way != NEVER)
		fails(&x, way, x.t + 4000);
	text_line(&x, "%ld 0 segment conn=8 pos=10 len=10 unread=0", t + 5000);
	stays(&x, "epoll_wait", -1, 0);
	if (way == SHORT || way == SERVED || way == OTHER_ERROR)
		fails(&x, way, x.t - 500);
	if (way == ONCE)
		text_line(&x,
			  "%ld 100 syscall_args nr=accept4 arg0=3 dur=9 ret=40\n"
			  "%ld 100 syscall nr=read fd=40 dur=1 ret=10",
			  x.t - 400, x.t - 300);
	text_line(&x,
		  "%ld 100 syscall nr=read fd=8 dur=1 ret=10\n"
		  "%ld 100 syscall nr=write fd=8 dur=1 ret=5",
		  x.t - 100, x.t - 10);
	return judged_after(&x, change);
}

static void a_limit_of_open_files_is_why_nothing_is_accepted(void **state)
{
	sqlite3 *db = pausing(
		SHORT,
		"UPDATE process SET files_limit=9 WHERE pid=100;"
		" INSERT INTO fd(pid, fd, ts, kind, role, path) VALUES (100, 251, 0, 'file', '', '/x')");

	(void)state;
	is_text(db, FINDING_VALUE("verdict_open_limit", "call", "v.text"), "accept4");
	is_number(db, LIMIT("n"), 2);
	is_text(db, FINDING_VALUE("verdict_open_limit", "second", "v.text"), "openat");
	is_number(db, LIMIT("second_n"), 2);
	is_number(db,
		  "SELECT parent=(SELECT finding FROM verdict) FROM finding WHERE"
		  " kind='verdict_open_limit'",
		  1);
	/* that it slept in epoll_wait explains nothing then */
	is_number(db, N_OF("pause_cause"), 0);
	/* inherited, above the limit */
	is_number(db, FINDING_VALUE("verdict_open_files", "all", "v.number"), 4);
	is_number(db, FINDING_VALUE("verdict_open_files", "limit", "v.number"), 9);
	db_close(db);
}

/* All connections are accepted; one try after the last; another error; at another time. */
static void failed_calls_that_delay_nothing_are_no_cause(void **state)
{
	static const enum way ways[] = { SERVED, ONCE, OTHER_ERROR, BEFORE, NEVER };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		db = pausing(ways[i], "UPDATE process SET files_limit=4 WHERE pid=100");
		is_number(db, N_OF("verdict_open_limit"), 0);
		is_number(db, N_OF("pause_cause"), 1);
		db_close(db);
	}
}

/* Process 400 accepts a connection of this server, and closes its socket at `end`; 500 listens
 * since `next`. */
static sqlite3 *replaced(int port, int ino, long end, long next)
{
	char sql[1024];

	snprintf(
		sql, sizeof(sql),
		"INSERT INTO fd(pid, fd, ts, end, kind, role, port, ino, local, remote) VALUES"
		" (400, 3, 0, %ld, 'socket', 'listening', 9000, 7000, '', ''),"
		" (500, 3, %ld, NULL, 'socket', 'listening', 9000, %d, '', ''),"
		" (400, 9, 10, %ld, 'socket', 'accepted', 9000, 7002, '127.0.0.1:9000', '127.0.0.1:55'),"
		" (100, 12, 5, NULL, 'socket', 'connected', 55, 7003, '127.0.0.1:55', '127.0.0.1:%d');"
		" INSERT INTO signal_sent(ts, tid, target, pid, signal, code, sender_pid, sender) VALUES"
		" (%ld, 600, 400, 400, 15, 0, 600, 'bash')",
		end, next, ino, end, port, end - 5);
	return pausing(NEVER, sql);
}

static void a_server_that_was_replaced_is_named(void **state)
{
	sqlite3 *db = replaced(9000, 7001, 700 * MS, 800 * MS);

	(void)state;
	is_text(db, FINDING_VALUE("upstream_replaced", "address", "v.text"), "127.0.0.1:9000");
	is_number(db, FINDING_VALUE("upstream_replaced", "length", "v.number"), 100 * MS);
	is_number(db, FINDING_VALUE("upstream_replaced", "next", "v.id"), 500);
	is_number(db, FINDING_VALUE("upstream_replaced", "process", "v.id"), 400);
	is_text(db, FINDING_VALUE("upstream_replaced", "signal", "v.text"), "SIGTERM");
	is_text(db, FINDING_VALUE("upstream_replaced", "sender", "v.text"), "bash[600]");
	db_close(db);
}

/* The socket is kept; another server; old and new overlap; long after the pause. */
static void others_were_not_replaced(void **state)
{
	static const struct {
		int port, ino;
		long end, next;
	} of[] = { { 9000, 7000, 700 * MS, 800 * MS },
		   { 9001, 7001, 700 * MS, 800 * MS },
		   { 9000, 7001, 800 * MS, 700 * MS },
		   { 9000, 7001, 1300 * MS, 1400 * MS } };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		db = replaced(of[i].port, of[i].ino, of[i].end, of[i].next);
		is_number(db, N_OF("upstream_replaced"), 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_limit_of_open_files_is_why_nothing_is_accepted),
		T(failed_calls_that_delay_nothing_are_no_cause),
		T(a_server_that_was_replaced_is_named),
		T(others_were_not_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
