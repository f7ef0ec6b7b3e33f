// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_stuck.c: some requests wait since before the recording, others
 * do not.
 */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define SECOND 1000000000L

enum {
	ASKED = 1,
	LOCK = 2,
	ANSWERED = 4,
	ALONE = 8,
	LATER = 16,
	NO_OWNER = 32,
	PAUSED = 64,
	LISTED = 128,
	ONE = 256,
	TWO_FILES = 512,
	OTHERS = 1024,
	LEADER = 2048
};

/*
 * Thread 100 answers on fds 5 to 7. On fds 8 and 9 something was read 4 s before (ASKED); threads
 * 101 and 103 are in call since before, for a lock of 102 (LOCK); after 2 s it is released, and
 * 101 answers (ANSWERED). ONE: only fd 8 and 101. TWO_FILES: 103 waits for another one.
 * OTHERS: they have another name than 100, which answers. LEADER: 102 waits in poll.
 */
static sqlite3 *waits(const char *call, int what, int flags)
{
	int other = what & (ONE | ANSWERED) ? 0 : 103;
	struct text x = { 0 };
	long end;

	head_of(&x, 5);
	text_line(&x, "@recorder\n4 101 thread pid=100 state=83 comm=\"%s\"",
		  what & OTHERS ? "logger" : "server1");
	text_line(&x, "4 102 thread pid=100 state=83 comm=\"keeper\"");
	if (other)
		text_line(&x, "4 103 thread pid=100 state=83 comm=\"%s\"",
			  what & OTHERS ? "metrics" : "server2");
	if (what & LISTED)
		text_line(&x, "5 100 fd pid=100 fd=4096 mode=0100000 dev=5 ino=44 path=\"/f\"");
	if (what & TWO_FILES)
		text_line(&x, "5 100 fd pid=100 fd=4097 mode=0100000 dev=5 ino=45 path=\"/g\"");
	if (what & ASKED)
		text_line(&x, "32 100 asked ino=1008 fd=8 age=%ld answered=1", 4 * SECOND);
	if (what & ASKED && other)
		text_line(&x, "32 100 asked ino=1009 fd=9 age=%ld answered=1", 4 * SECOND);
	if (what & LOCK)
		text_line(&x, "33 101 futex_wait address=0x1000 own=101 value=2 holder=%d",
			  what & NO_OWNER ? 0 : 102);
	if (what & LOCK && other)
		text_line(&x, "33 103 futex_wait address=0x1000 own=103 value=2 holder=%d",
			  what & NO_OWNER ? 0 : 102);
	text_line(&x, "@cpu 0");
	if (!(what & ALONE))
		many(&x, 2000, 200000, MS);
	if (what & PAUSED)
		request(&x, 5, 600 * MS);
	end = x.t = x.t > 3 * SECOND ? x.t : 3 * SECOND;
	if (what & ANSWERED) {
		text_line(&x, "@cpu 1\n%ld 102 waking target=101", 2 * SECOND);
		text_line(&x, "%ld 0 switch next=101", 2 * SECOND + 1000);
		text_line(&x, "%ld 101 syscall_args nr=%s arg0=0x1000 flags=1", 2 * SECOND + 2000,
			  call);
		text_line(&x, "%ld 101 syscall nr=write fd=8 ret=9 count=9 dur=200",
			  2 * SECOND + 5000);
		text_line(&x, "%ld 101 switch next=0 state=1", 2 * SECOND + 6000);
	}
	text_line(&x, "@recorder");
	if (what & LATER) /* the state is recorded again: it arrived in the recording */
		text_line(&x, "%ld 100 asked ino=1008 fd=8 age=%ld answered=1", end, SECOND);
	if (!(what & ANSWERED))
		text_line(&x, "%ld 101 syscall_args nr=%s arg0=0x1000 flags=%d", end + 10, call,
			  flags);
	if (other)
		text_line(&x, "%ld 103 syscall_args nr=%s arg0=%d flags=%d", end + 10, call,
			  what & TWO_FILES ? 0x1001 : 0x1000, flags);
	text_line(&x, "%ld 102 syscall_args nr=%s flags=3", end + 10,
		  what & LEADER ? "epoll_wait" : "clock_nanosleep");
	if (what & LISTED)
		text_line(&x, "%ld 0 file_lock ino=44 dev=5 pid=100 to=9 holder=900 flags=7",
			  end + 20);
	if (what & TWO_FILES)
		text_line(&x, "%ld 0 file_lock ino=45 dev=5 pid=100 to=9 holder=901 flags=7",
			  end + 20);
	return judged(&x, NULL);
}

#define STUCK_VALUE(what, name_) FINDING_VALUE("stuck_thread", name_, what)

static void a_lock_that_was_taken_before_the_recording(void **state)
{
	sqlite3 *db = waits("futex", ASKED | LOCK, 3);

	(void)state;
	is_verdict(db, "problem", "stuck");
	is_number(db, "SELECT n FROM verdict", 2);
	is_number(db, "SELECT paused FROM verdict", 0);
	is_number(db, "SELECT max(age) FROM request_before WHERE end IS NULL AND answered",
		  4 * SECOND - 1);
	is_number(db, STUCK_VALUE("v.id", "thread"), 101);
	is_number(db, STUCK_VALUE("v.id", "holder"), 102);
	is_text(db, STUCK_VALUE("v.text", "did"), "asleep until a timer");
	is_text(db, STUCK_VALUE("v.text", "before"), "before the recording");
	db_close(db);
	/* a pause for another one, which waits for less time */
	db = waits("futex", PAUSED, 3);
	is_verdict(db, "problem", "pauses");
	db_close(db);
	db = waits("futex", ASKED | LOCK | PAUSED, 3);
	is_verdict(db, "problem", "stuck");
	is_number(db, "SELECT count(*) FROM verdict WHERE ratio NOT NULL", 0);
	is_within(db, FINDING_VALUE("verdict_stuck", "longest", "v.number"), 600 * MS, 601 * MS);
	db_close(db);
	/* nothing else is answered */
	db = waits("futex", ASKED | LOCK | ALONE, 3);
	is_verdict(db, "problem", "stuck");
	db_close(db);
}

static void a_lock_that_is_released_in_the_recording(void **state)
{
	sqlite3 *db = waits("futex", ASKED | LOCK | ANSWERED, 3);

	(void)state;
	is_verdict(db, "problem", "stuck");
	is_within(db, "SELECT end FROM verdict", 1.99 * SECOND, 2.01 * SECOND);
	is_number(db, "SELECT tid FROM request_before", 101);
	is_number(db, STUCK_VALUE("v.id", "holder"), 102);
	db_close(db);
	/* a file lock: who released it is all that is known */
	db = waits("flock", ASKED | ANSWERED, 3);
	is_verdict(db, "problem", "stuck");
	is_number(db, STUCK_VALUE("v.id", "waker"), 102);
	db_close(db);
}

/* A process that is not recorded has the lock when the recording ends. */
static void the_holder_of_a_file_lock(void **state)
{
	sqlite3 *db = waits("flock", ASKED | LISTED, 3);

	(void)state;
	is_verdict(db, "problem", "stuck");
	is_number(db, STUCK_VALUE("v.id", "holder"), 900);
	is_number(db, STUCK_VALUE("count(*)", "waker"), 0);
	is_number(db, STUCK_VALUE("v.number", "others"), 1);
	is_number(db, "SELECT coalesce(since, -5) FROM file_lock_holder", -5);
	/* since when is not known: no list before has it */
	is_number(db, STUCK_VALUE("count(v.text)", "before"), 0);
	db_close(db);
	db = waits("flock", ASKED | LISTED | TWO_FILES, 3);
	is_text(db,
		"SELECT group_concat(text) FROM (SELECT v.text AS text FROM finding f JOIN finding_value v ON"
		" v.finding=f.id WHERE f.kind='stuck_thread' AND v.name='path' ORDER BY 1)",
		"/f,/g");
	is_number(db, STUCK_VALUE("count(v.number)", "others"), 0);
	db_close(db);
}

/* A long poll, which the thread in epoll has, and a thread that waits for a lock for itself. */
static void a_thread_that_may_serve_a_request(void **state)
{
	static const char *const calls[] = { "futex", "flock" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		sqlite3 *db = waits(calls[i], ASKED | LOCK | ONE | LISTED, 3);

		is_verdict(db, "none", "");
		is_number(db, FINDING_VALUE("stuck_maybe", "thread", "v.id"), 101);
		db_close(db);
		/* two long polls, and two threads that have other work */
		db = waits(calls[i], ASKED | LOCK | OTHERS | LISTED, 3);
		is_verdict(db, "none", "");
		is_number(db, FINDING_VALUE("stuck_maybe", "thread", "v.id"), 101);
		db_close(db);
		/* no other thread answers anything */
		db = waits(calls[i], ASKED | LOCK | OTHERS | LISTED | ALONE, 3);
		is_verdict(db, "problem", "stuck");
		db_close(db);
	}
}

/* Thread 100 may have the requests: 101 and 103 may wait to take the place of 102, which polls. */
static void followers_of_a_leader_are_not_stuck(void **state)
{
	sqlite3 *db = waits("futex", ASKED | LOCK | LEADER, 3);

	(void)state;
	is_verdict(db, "none", "");
	db_close(db);
	/* it does something else with the lock; who has it is not known */
	db = waits("futex", ASKED | LOCK, 3);
	is_verdict(db, "problem", "stuck");
	db_close(db);
	db = waits("flock", ASKED | LISTED, 3);
	is_verdict(db, "problem", "stuck");
	db_close(db);
	db = waits("flock", ASKED, 3);
	is_verdict(db, "none", "");
	db_close(db);
}

static void other_waits_since_before_are_no_problem(void **state)
{
	static const struct {
		const char *call;
		int what;
	} cases[] = {
		{ "epoll_wait", ASKED },       /* a long poll, BLPOP, more of an upload */
		{ "clock_nanosleep", ASKED },  /* until it is time to answer */
		{ "futex", ASKED },	       /* a condition variable: the answer is news */
		{ "futex", LOCK },	       /* no request */
		{ "futex", LATER | LOCK },     /* the lock was taken before */
		{ "futex", ASKED | ANSWERED }, /* news came */
		{ "read", ASKED },
		{ "futex", ASKED | LOCK | NO_OWNER }, /* a condition variable whose word is 2 */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = waits(cases[i].call, cases[i].what, 3);

		is_verdict(db, "none", "");
		db_close(db);
	}
}

/* Process 400 answers on port 81; for one request it waits for the server, by thread 101. */
static void front(struct text *x, long from, long till)
{
	long t;

	text_line(x, "@recorder\n4 400 thread pid=400 state=83 comm=\"front\"");
	text_line(x,
		  "20 400 fd pid=400 fd=5 mode=0140000 ino=405 family=2 role=2 socktype=1 sport=81"
		  " dport=4405 saddr=127.0.0.1 daddr=10.0.0.9");
	text_line(x,
		  "20 400 fd pid=400 fd=9 mode=0140000 ino=409 family=2 role=connected socktype=1"
		  " sport=40008 dport=80 saddr=10.0.0.9 daddr=127.0.0.1\n@cpu 2");
	for (t = MS; t < 3000 * MS; t = t == from ? till + 2 * MS : t + 2 * MS) {
		text_line(x, "%ld 0 waking target=400 context=1\n%ld 0 switch next=400", t,
			  t + 1000);
		text_line(x, "%ld 400 syscall nr=read fd=5 ret=29 count=99 dur=200", t + 3000);
		if (t == from) {
			text_line(x, "%ld 400 syscall nr=sendto fd=9 ret=20 count=20 dur=200",
				  t + 5000);
			text_line(x, "%ld 400 switch next=0 state=1", t + 6000);
			text_line(x, "%ld 101 waking target=400\n%ld 0 switch next=400", till,
				  till + 1000);
			text_line(x, "%ld 400 syscall nr=recvfrom fd=9 ret=44 count=99 dur=%ld",
				  till + 2000, till - t - 3500);
		}
		text_line(x, "%ld 400 syscall nr=write fd=5 ret=9 count=9 dur=200",
			  (t == from ? till : t) + 8000);
		text_line(x, "%ld 400 switch next=0 state=1", (t == from ? till : t) + 9000);
	}
}

/* Thread 101 reads on fd 8, waits in call n times, from start on, and answers; 100 on others. A
 * start below 0 is before the last of those. */
static sqlite3 *waits_after(struct text x, const char *call, long start, int n, long wait,
			    int others)
{
	long t;
	int i;

	text_line(&x, "@recorder\n4 101 thread pid=100 state=83 comm=\"worker\"\n@cpu 0");
	text_line(&x, "5 100 fd pid=100 fd=4096 mode=0100000 dev=5 ino=44 path=\"/f\"");
	many(&x, others, 200000, MS);
	t = start < 0 ? x.t + start : start;
	text_line(&x, "@cpu 1");
	for (i = 0; i < n + 1; i++, t += wait + 50 * MS) {
		long till = t + (i < n ? wait : MS);

		text_line(&x, "%ld 0 waking target=101 context=1\n%ld 0 switch next=101", t,
			  t + 1000);
		text_line(&x, "%ld 101 syscall nr=read fd=8 ret=29 count=99 dur=200", t + 3000);
		text_line(&x, "%ld 101 switch next=0 state=1", t + 9000);
		text_line(&x, "%ld 0 waking target=101\n%ld 0 switch next=101", till, till + 1000);
		text_line(&x, "%ld 101 syscall_args nr=%s arg0=0x1000 arg1=2 dur=%ld", till + 2000,
			  call, till - t - 6000);
		text_line(&x, "%ld 101 syscall nr=write fd=8 ret=9 count=9 dur=200", till + 4000);
		text_line(&x, "%ld 101 switch next=0 state=1", till + 5000);
	}
	x.t = x.t > t ? x.t : t;
	return judged(&x, NULL);
}

static sqlite3 *waits_in(const char *call, long start, int n, long wait, int others)
{
	struct text x = { 0 };

	head_of(&x, 5);
	return waits_after(x, call, start, n, wait, others);
}

static sqlite3 *waits_inside(int n, long wait, int others)
{
	return waits_in("flock", 200 * MS, n, wait, others);
}

static void some_requests_wait_for_a_file_lock(void **state)
{
	sqlite3 *db = waits_inside(2, 1100 * MS, 2000);

	(void)state;
	is_verdict(db, "problem", "stuck");
	is_number(db, "SELECT n FROM verdict", 2);
	is_number(db, FINDING_VALUE("verdict_file_waits", "of", "v.number"), 2003);
	is_within(db, "SELECT start FROM verdict", 199 * MS, 201 * MS);
	is_text(db, STUCK_VALUE("v.text", "path"), "/f");
	is_within(db, STUCK_VALUE("v.number", "length"), 1099 * MS, 1100 * MS);
	is_number(db, STUCK_VALUE("count(v.number)", "others"), 0); /* one thread */
	db_close(db);
	/* one alone; short ones; most of them */
	db = waits_inside(1, 1100 * MS, 2000);
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='stuck'", 0);
	db_close(db);
	db = waits_inside(3, 300 * MS, 2000); /* too few of all */
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='stuck'", 0);
	db_close(db);
	db = waits_inside(3, 50 * MS, 2000);
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='stuck'", 0);
	db_close(db);
	db = waits_inside(8, 300 * MS, 5);
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='stuck'", 0);
	db_close(db);
}

#define ASKED_WAITS                                                                    \
	"SELECT count(*) FROM finding WHERE kind='stuck_thread' AND parent IN (SELECT" \
	" id FROM finding WHERE kind='verdict_pauses')"

/* A pause of the server that asks is said with the lock; not one at another time. */
static void a_pause_has_the_lock_that_its_upstream_waits_for(void **state)
{
	static const struct {
		long from, till;
		int said;
	} all[] = { { 211 * MS, 1300 * MS + 6000, 1 }, { 2501 * MS, 2900 * MS, 0 } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct text x = { 0 };
		sqlite3 *db;

		head_of(&x, 5);
		front(&x, all[i].from, all[i].till);
		db = waits_after(x, "flock", 200 * MS, 2, 1100 * MS, 2000);
		is_number(db, "SELECT count(*) FROM verdict WHERE kind='pauses'", 1);
		is_number(db, "SELECT count(*) FROM verdict WHERE kind='stuck'", 1);
		is_number(db, ASKED_WAITS, all[i].said);
		db_close(db);
	}
}

#define LOCK_WAITS                                                                       \
	"SELECT count(*) FROM thread_state WHERE tid=101 AND state=state_id('lock') AND" \
	" dur > 1000000000"

static void other_waits_inside_are_no_file_locks(void **state)
{
	sqlite3 *db = waits_in("semop", 200 * MS, 2, 1100 * MS, 2000);

	(void)state;
	is_number(db, LOCK_WAITS, 2); /* a semaphore, which may be for news */
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='stuck'", 0);
	db_close(db);
	/* for most of them nothing else is answered: those are pauses */
	db = waits_in("flock", -800 * MS, 2, 1900 * MS, 2000);
	is_number(db, LOCK_WAITS, 2);
	is_verdict(db, "problem", "pauses");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_file_waits'", 0);
	db_close(db);
}

/* The limit of another analysis of the same tables. */
static void waits_are_as_long_as_the_limit_says(void **state)
{
	sqlite3 *db = waits_inside(2, 1100 * MS, 2000);

	(void)state;
	is_verdict(db, "problem", "stuck");
	assert_int_equal(sqlite3_exec(db,
				      "INSERT INTO recording(key, value) VALUES('limit_pause_ns',"
				      " '2000000000')",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	analysed(db, "verdict");
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='stuck'", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_lock_that_was_taken_before_the_recording),
		T(a_lock_that_is_released_in_the_recording),
		T(the_holder_of_a_file_lock),
		T(a_thread_that_may_serve_a_request),
		T(some_requests_wait_for_a_file_lock),
		T(a_pause_has_the_lock_that_its_upstream_waits_for),
		T(other_waits_inside_are_no_file_locks),
		T(waits_are_as_long_as_the_limit_says),
		T(followers_of_a_leader_are_not_stuck),
		T(other_waits_since_before_are_no_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
