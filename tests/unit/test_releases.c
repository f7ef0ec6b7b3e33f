// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/waits/releases.c: a process for each connection, and which waits are for a lock.
 */
#include "tests/lib/backends.h"

/* What ends the wait of 300 in its UPDATE. */
struct ending {
	int waker;
	bool in_commit;	   /* 400 has read its COMMIT before, else it reads it afterwards */
	const char *facts; /* more of the snapshot; NULL: nothing */
	bool asked;	   /* 300 has asked another server, which answers */
	const char *code;  /* 300 answers with this error */
	bool replica;	   /* the protocol of 400's connection is not read */
};

/* 300 waits 300 ms in epoll_wait. */
static sqlite3 *paused(const struct ending *how)
{
	struct text x = { 0 };
	sqlite3 *db;
	long t, end;

	position[1] = position[2] = 0;
	nameless = how->replica ? 400 : 0;
	start(&x, how->facts);
	requests(&x, 600);
	t = x.t;
	end = t + 300 * MS;
	text_line(&x, "@cpu 0");
	arrives(&x, 300, t - 2000);
	reads(&x, 300, UPDATES, t);
	if (how->asked)
		text_line(&x, "%ld 300 syscall nr=sendto fd=9 dur=1 ret=20", t + 3000);
	text_line(&x, "%ld 300 switch next=0 state=1\n@cpu 1", t + 10000);
	arrives(&x, 400, end - 30000);
	if (how->in_commit)
		reads(&x, 400, COMMITS, end - 20000);
	text_line(&x, "%ld %d waking target=300 cpu=0", end, how->waker);
	if (how->in_commit)
		answers(&x, 400, end + 20000);
	text_line(&x, "@cpu 0\n%ld 0 switch next=300", end + 1000);
	text_line(&x, "%ld 300 syscall_args nr=epoll_wait arg0=4 arg3=-1 ret=1 dur=%ld", end + 2000,
		  end - t - 7000);
	if (how->asked)
		text_line(&x, "%ld 300 syscall nr=recvfrom fd=9 dur=1 ret=20", end + 3000);
	if (how->code)
		text_line(&x,
			  "%ld 300 answer conn=1 pos=6000 len=20 status=1 protocol=6 code=\"%s\"",
			  end + 5000, how->code);
	answers(&x, 300, end + 5000);
	x.t = end + MS;
	if (!how->in_commit) {
		text_line(&x, "@cpu 1");
		reads(&x, 400, COMMITS, x.t);
		answers(&x, 400, x.t + 20000);
		x.t += MS;
	}
	requests(&x, 600);
	db = answered(&x);
	analysed(db, "verdict");
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
	is_number(db, CAUSE_VALUE("v.id", "waker"), how->waker);
	return db;
}

#define RELEASED                                                                            \
	"SELECT n.name || r.pid FROM finding f JOIN finding_value v ON v.finding=f.id JOIN" \
	" request r ON r.rowid=v.id JOIN request_name n ON n.id=r.name WHERE"               \
	" f.kind='pause_cause' AND v.name='released'"

static void a_lock_of_another_connection_is_named(void **state)
{
	sqlite3 *db = paused(&(struct ending){ .waker = 400, .in_commit = true });

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a lock of another connection");
	is_text(db, RELEASED, "Query COMMIT400");
	is_number(db, CAUSE_VALUE("count(v.text)", "failed"), 0);
	db_close(db);
	/* a deadlock: the other one failed as well, or a timer ended it */
	db = paused(&(struct ending){ .waker = 500, .in_commit = true, .code = "40P01" });
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a lock of another connection");
	is_text(db, CAUSE_VALUE("v.text", "failed"), "40P01 (deadlock_detected)");
	db_close(db);
}

/* What looks the same without the names of requests. */
static void other_wakeups_are_no_release_of_a_lock(void **state)
{
	static const struct ending cases[] = {
		/* a worker of a parallel query, the writer of the log: they have no client */
		{ .waker = 500, .in_commit = true },
		/* a notification of a process that works on no request */
		{ .waker = 400 },
		/* an event loop, which may wake for any of its connections */
		{ .waker = 400,
		  .in_commit = true,
		  .facts = "9 400 fd pid=400 fd=6 mode=0140000 ino=80 family=2 role=2 socktype=1"
			   " sport=5432 dport=80 saddr=127.0.0.1 daddr=10.0.0.3" },
		/* an answer of another server */
		{ .waker = 400,
		  .in_commit = true,
		  .facts = "9 300 fd pid=300 fd=9 mode=0140000 ino=80 family=2 role=3 socktype=1"
			   " sport=80 dport=5433 saddr=127.0.0.1 daddr=10.0.0.3",
		  .asked = true },
		/* the sender to a standby, which got its reply: a commit waits for that */
		{ .waker = 400, .in_commit = true, .replica = true },
		/* pg_cancel_backend(), pg_terminate_backend() */
		{ .waker = 400, .in_commit = true, .code = "57014" },
		{ .waker = 400, .in_commit = true, .code = "57P01" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = paused(&cases[i]);

		is_text(db, CAUSE_VALUE("v.text", "state"),
			i == 3 ? "waiting for an upstream"
			       : "waiting in poll for another thread or process");
		is_number(db, CAUSE_VALUE("total(v.id)", "released"), 0);
		db_close(db);
	}
}

/* How 300 fails, or who wakes it. */
struct slow_end {
	int waker;	  /* 0: a timer */
	const char *code; /* NULL: no error */
	bool open;	  /* 400 has read one long request, and not answered it */
	bool usual;	  /* 300 fails in the first half as well */
};

/* In the second half, 300 waits 4 ms in each UPDATE. */
static sqlite3 *slower(const struct slow_end *how)
{
	struct text x = { 0 };
	int i;

	position[1] = position[2] = 0;
	nameless = 0;
	start(&x, NULL);
	for (i = 0; i < 400; i++, x.t += 5 * MS) {
		long t = x.t, end = t + (i < 200 ? 60000 : 4 * MS);

		text_line(&x, "@cpu 0");
		arrives(&x, 300, t - 2000);
		reads(&x, 300, UPDATES, t);
		text_line(&x, "%ld 300 switch next=0 state=1\n@cpu 1", t + 10000);
		if (i <= 200 || !how->open) {
			arrives(&x, 400, end - 30000);
			reads(&x, 400, COMMITS, end - 20000);
		}
		text_line(&x, "%ld %d waking target=300 cpu=0%s", end, how->waker,
			  how->waker ? "" : " context=2");
		if (i < 200 || !how->open)
			answers(&x, 400, end + 20000);
		text_line(&x, "@cpu 0\n%ld 0 switch next=300", end + 1000);
		text_line(&x, "%ld 300 syscall_args nr=epoll_wait arg0=4 arg3=-1 ret=1 dur=%ld",
			  end + 2000, end - t - 7000);
		if (how->code && (i >= 200 || how->usual))
			text_line(
				&x,
				"%ld 300 answer conn=1 pos=%d len=20 status=1 protocol=6 code=\"%s\"",
				end + 5000, 20 * i, how->code);
		answers(&x, 300, end + 5000);
	}
	text_line(&x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x.t, x.t);
	return analysed(loaded_buf(&x.b), "causes");
}

#define FAILED                                                                      \
	"SELECT v.text FROM finding f JOIN finding_value v ON v.finding=f.id WHERE" \
	" f.kind='cause_failed' AND v.name="

/* Of what wakes it, and of the error that it answers with. */
static void slow_requests_that_wait_for_a_lock_say_so(void **state)
{
	static const struct {
		struct slow_end how;
		const char *kind;
	} cases[] = {
		{ { 400, NULL, false, false }, "lock" },
		{ { 500, NULL, false, false }, "poll" },
		{ { 0, "40P01", false, false }, "lock" },
		{ { 0, "57014", false, false }, "poll" }, /* cancelled */
		{ { 0, "57014", false, true }, "poll" },
		{ { 0, NULL, false, false }, "poll" },
		{ { 400, NULL, true, false }, "lock" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool fails = cases[i].how.code && !cases[i].how.usual;
		sqlite3 *db = slower(&cases[i].how);

		is_text(db, "SELECT kind FROM cause WHERE rank=1", cases[i].kind);
		is_number(db, "SELECT count(*) FROM finding WHERE kind='cause_failed'", fails);
		if (fails)
			is_text(db, FAILED "'code'", cases[i].how.code);
		if (i == 2)
			is_text(db, FAILED "'meaning'", "deadlock_detected");
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_lock_of_another_connection_is_named),
		T(other_wakeups_are_no_release_of_a_lock),
		T(slow_requests_that_wait_for_a_lock_say_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
