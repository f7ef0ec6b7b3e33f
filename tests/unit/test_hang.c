// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_hang.c: servers that answer nothing, and what only looks like
 * one. */
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"

#define HEAD                                                                                      \
	"@recorder\n0 0 info text=\"targets=all\"\n"                                              \
	"1 0 info text=\"groups=core,syscalls,sched,requests\"\n"                                 \
	"2 100 thread pid=100 state=83 comm=\"server\" runtime=9000\n"                            \
	"2 101 thread pid=100 state=83 comm=\"other\" runtime=10\n"                               \
	"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80 dport=9\n" \
	"3 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=2 socktype=1 sport=80 dport=8\n"
#define BEGIN                                             \
	"4 0 request_name id=1 protocol=4 name=\"GET\"\n" \
	"10 0 info text=\"begin=10\"\n"                   \
	"3_000_000_010 0 info text=\"stopped=3000000010\"\n"
#define CONNECTION "1000 0 connection sock=7 ino=77 conn=1 family=2 sport=80 dport=9 side=1\n"
/* Since before the recording. */
#define INSIDE(call)                                           \
	"3_000_000_020 100 syscall_args nr=" call " flags=3\n" \
	"3_000_000_020 101 syscall_args nr=futex arg0=0x1000 flags=3\n"

static sqlite3 *judged(const char *text)
{
	static const char *const run[] = { "pauses", "verdict" };
	sqlite3 *db = loaded(text);
	size_t i;

	for (i = 0; i < 2; i++)
		analysed(db, run[i]);
	return db;
}

static void verdict_is(sqlite3 *db, const char *want)
{
	is_text(db, "SELECT status || ' ' || kind || ' ' || n FROM verdict WHERE rank=1", want);
}

static void unread_since_before_the_recording(void **state)
{
	sqlite3 *db = judged(
		HEAD "3 100 unread ino=77 fd=5 bytes=36\n3 100 unread ino=78 fd=6 bytes=9\n" BEGIN
			INSIDE("clock_nanosleep"));

	(void)state;
	verdict_is(db, "problem hang 2");
	is_number(db, "SELECT start FROM verdict", 0);
	is_number(db, "SELECT count(*) FROM unanswered WHERE read IS NULL AND NOT answered", 2);
	/* the thread with most CPU time before comes first */
	is_text(db,
		"SELECT group_concat(v.id || ' ' || w.text) FROM finding f JOIN finding_value v ON"
		" v.finding=f.id AND v.name='thread' JOIN finding_value w ON w.finding=f.id AND"
		" w.name='call' WHERE f.kind='hang_thread' AND f.parent=(SELECT finding FROM verdict)",
		"100 clock_nanosleep,101 futex");
	is_number(db, "SELECT timer FROM thread WHERE tid=100", 3000000000);
	is_number(db, "SELECT futex FROM thread WHERE tid=101", 3000000000);
	db_close(db);
}

static void unread_since_it_arrived(void **state)
{
	sqlite3 *db = judged(HEAD BEGIN "@cpu 0\n" CONNECTION
					"500_000_010 0 segment conn=1 pos=0 len=30\n"
					"600_000_010 0 segment conn=1 pos=30 len=30 unread=30\n");

	(void)state;
	verdict_is(db, "problem hang 1");
	is_number(db, "SELECT start FROM verdict", 500000000);
	db_close(db);
}

/* Processes that were handed its connections answer on others: their requests are not known. */
static void others_may_answer(void **state)
{
	static const char sent[] = "INSERT INTO connection (ts, pid, role, sent, received) VALUES"
				   " (%s, 100, 'accepted', %d, 10)";
	int bytes, before; /* what was sent may be from before the recording */

	(void)state;
	for (before = 0; before < 3; before++) {
		sqlite3 *db = loaded(HEAD "3 201 thread pid=201 parent=100 state=82 comm=\"worker\""
					  " runtime=99000\n" BEGIN "@cpu 0\n" CONNECTION
					  "500_000_010 0 segment conn=1 pos=0 len=30\n"
					  "600_000_010 0 segment conn=1 pos=30 len=30 unread=30\n"
					  "600_000_020 0 switch next=201\n"
					  "2_900_000_020 201 switch next=0 state=0\n");
		char sql[128];

		bytes = before == 1;
		snprintf(sql, sizeof(sql), sent, before == 2 ? "NULL" : "1", before > 0);
		changed(db, "UPDATE process SET parent=100 WHERE pid=201");
		changed(db, sql);
		analysed(db, "pauses");
		analysed(db, "verdict");
		verdict_is(db, "problem hang 1");
		is_number(db, "SELECT count(number) FROM finding_value WHERE name='duration'",
			  !bytes);
		if (bytes)
			is_number(db, FINDING_VALUE("verdict_hang", "others", "v.number"), 1);
		is_number(db,
			  "SELECT count(*) FROM finding f JOIN finding_value v ON v.finding=f.id"
			  " WHERE f.kind='hang_thread' AND v.name='thread' AND v.id=201",
			  bytes);
		db_close(db);
	}
}

/* All that arrives is read, and nothing answered: it takes logs. */
static void a_receiver_is_no_hang(void **state)
{
	sqlite3 *db = judged(HEAD BEGIN "@cpu 0\n" CONNECTION
					"500_000_010 0 segment conn=1 pos=0 len=30\n"
					"500_100_010 100 syscall nr=read fd=5 dur=50 ret=30\n"
					"600_000_010 0 segment conn=1 pos=30 len=30\n"
					"600_100_010 100 syscall nr=read fd=5 dur=50 ret=30\n"
					"700_100_010 100 syscall nr=read fd=6 dur=50 ret=30\n");

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "unknown requests");
	db_close(db);
}

/* Bytes that go away without a receive: another way of reading is not recorded. */
static void what_is_read_in_another_way_is_no_hang(void **state)
{
	sqlite3 *db = judged(HEAD BEGIN "@cpu 0\n" CONNECTION
					"500_000_010 0 segment conn=1 pos=0 len=30\n"
					"600_000_010 0 segment conn=1 pos=30 len=30\n");

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "unknown requests");
	db_close(db);
	db = judged(HEAD "3 100 fd pid=100 fd=7 path=\"anon_inode:[io_uring]\"\n" BEGIN
			 "@cpu 0\n" CONNECTION "500_000_010 0 segment conn=1 pos=0 len=30\n");
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "unknown requests");
	db_close(db);
}

#define READ_AND(more)                                                      \
	"@cpu 0\n" CONNECTION "500_000_010 0 segment conn=1 pos=0 len=30\n" \
	"500_050_010 0 waking target=100\n500_060_010 0 switch next=100\n"  \
	"500_100_010 100 syscall nr=read fd=5 dur=50 ret=30\n"              \
	"500_100_010 100 head conn=1 pos=0 len=30 name=1 requests=1\n" more \
	"500_200_010 100 switch next=0 state=1\n@recorder\n"
#define READ READ_AND("")

/* A request was read, and thread 100 waits in this call. */
#define READ_THEN(call) \
	HEAD BEGIN READ "3_000_000_020 100 syscall_args nr=" call " dur=2_499_850_000 flags=2\n"
#define OTHER_THREAD(call) "3_000_000_020 101 syscall_args nr=" call " flags=3\n"

/* While the process waits for input, its answer may be due later. */
static void a_long_poll_is_no_problem(void **state)
{
	sqlite3 *db = judged(READ_THEN("epoll_wait"));

	(void)state;
	verdict_is(db, "unknown hang 1");
	db_close(db);
	db = judged(READ_THEN("futex arg0=0x1000"));
	verdict_is(db, "problem hang 1");
	is_number(db, "SELECT start FROM verdict", 500000000);
	db_close(db);
}

/* redis parks a connection that awaits an element, whatever its thread does then. */
static void a_command_that_awaits_is_no_hang(void **state)
{
	sqlite3 *db = judged(HEAD "4 0 request_name id=1 protocol=4 name=\"BLPOP\"\n"
				  "10 0 info text=\"begin=10\"\n"
				  "3_000_000_010 0 info text=\"stopped=3000000010\"\n" READ
				  "3_000_000_020 100 syscall_args nr=futex arg0=0x1000"
				  " dur=2_499_850_000 flags=2\n");

	(void)state;
	verdict_is(db, "unknown requests 0");
	/* for its replicas it waits as for other servers */
	is_text(db, "SELECT awaits(4, 'BLPOP') || awaits(4, 'WAIT')", "10");
	db_close(db);
}

/* The thread hands the request over, and waits for work; another one waits for input. */
#define HANDED_OVER                                                         \
	"@cpu 0\n" CONNECTION "500_000_010 0 segment conn=1 pos=0 len=30\n" \
	"500_050_010 0 waking target=100\n500_060_010 0 switch next=100\n"  \
	"500_100_010 100 syscall nr=read fd=5 dur=50 ret=30\n"              \
	"500_100_010 100 head conn=1 pos=0 len=30 name=1 requests=1\n"      \
	"500_150_010 100 waking target=101 cpu=0\n"                         \
	"500_200_010 100 switch next=101 state=1\n"                         \
	"500_300_010 101 switch next=0 state=1\n@recorder\n"

static void an_idle_pool_is_no_problem(void **state)
{
	sqlite3 *db = judged(
		HEAD BEGIN HANDED_OVER
		"3_000_000_020 100 syscall_args nr=futex arg0=0x1000 dur=2_499_850_000 flags=2\n"
		"3_000_000_020 101 syscall_args nr=epoll_wait dur=2_499_750_000 flags=2\n");

	(void)state;
	is_above(db, "SELECT poll FROM thread WHERE tid=101", 2499000000);
	verdict_is(db, "unknown hang 1");
	db_close(db);
	/* none waits for input */
	db = judged(READ_THEN("futex arg0=0x1000") OTHER_THREAD("futex arg0=0x2000"));
	verdict_is(db, "problem hang 1");
	db_close(db);
}

/* Two threads take turns to wait for input, and park for most of the time. */
#define TURNS                                                                                 \
	"@cpu 0\n" CONNECTION "500_000_010 0 segment conn=1 pos=0 len=30\n"                   \
	"500_050_010 0 waking target=100\n500_060_010 0 switch next=100\n"                    \
	"500_100_010 100 syscall nr=read fd=5 dur=50 ret=30\n"                                \
	"500_100_010 100 head conn=1 pos=0 len=30 name=1 requests=1\n"                        \
	"500_200_010 100 switch next=0 state=1\n"                                             \
	"1_500_000_010 0 waking target=100\n1_500_001_010 0 switch next=100\n"                \
	"1_500_002_010 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=999_850_000 ret=1\n" \
	"1_500_003_010 100 switch next=0 state=1\n"                                           \
	"2_000_000_010 0 waking target=101\n2_000_001_010 0 switch next=101\n"                \
	"2_000_002_010 101 syscall_args nr=futex arg0=0x2000 dur=1_900_000_000\n"             \
	"2_000_003_010 101 switch next=0 state=1\n@recorder\n"                                \
	"3_000_000_020 100 syscall_args nr=futex arg0=0x1000 dur=1_499_997_500 flags=2\n"     \
	"3_000_000_020 101 syscall_args nr=epoll_wait dur=999_997_500 flags=2\n"

#define SAYS(kind)                                                                                \
	"SELECT count(*) FROM finding WHERE parent=(SELECT finding FROM verdict) AND kind='" kind \
	"'"

/* Threads that run goroutines have no requests of their own; others do. */
static void parked_threads_are_no_cause(void **state)
{
	sqlite3 *db = changed(loaded(HEAD BEGIN TURNS), "UPDATE process SET green='goroutine'");

	(void)state;
	analysed(db, "pauses");
	analysed(db, "verdict");
	is_within(db, "SELECT total(dur) FROM thread_state WHERE state=state_id('poll')", 1.9e9,
		  2.1e9);
	verdict_is(db, "unknown hang 1");
	is_number(db, SAYS("hang_idle"), 1);
	is_number(db, SAYS("hang_thread"), 0);
	db_close(db);
	db = judged(HEAD BEGIN TURNS);
	verdict_is(db, "problem hang 1");
	is_number(db, SAYS("hang_idle"), 0);
	db_close(db);
	/* none of them waits for input */
	db = changed(loaded(READ_THEN("futex arg0=0x1000") OTHER_THREAD("futex arg0=0x2000")),
		     "UPDATE process SET green='goroutine'");
	analysed(db, "pauses");
	analysed(db, "verdict");
	verdict_is(db, "problem hang 1");
	db_close(db);
}

/* The thread that read the request waits for a lock, and handed nothing over. */
#define READ_LOCKED READ_AND("500_150_010 100 futex_wait address=0x1000 value=2 own=100\n")
#define ON_FUTEX    "3_000_000_020 100 syscall_args nr=futex arg0=0x1000 dur=2_499_850_000 flags=2\n"

static void a_stuck_thread_of_a_connection_is_a_problem(void **state)
{
	sqlite3 *db = judged(HEAD BEGIN READ_LOCKED ON_FUTEX OTHER_THREAD("accept4"));

	(void)state;
	verdict_is(db, "problem hang 1");
	is_number(db, "SELECT start FROM verdict", 500000000);
	db_close(db);
	db = judged(HEAD BEGIN READ_LOCKED ON_FUTEX OTHER_THREAD("epoll_wait"));
	is_number(db, "SELECT poll FROM thread WHERE tid=101", 3000000000);
	verdict_is(db, "problem hang 1");
	db_close(db);
	/* on a condition variable: a long poll */
	db = judged(HEAD BEGIN READ ON_FUTEX OTHER_THREAD("epoll_wait"));
	verdict_is(db, "unknown hang 1");
	db_close(db);
}

/* Of the request 9 bytes are to come; thread 100 waits for input or not. */
#define ANNOUNCED(more, call)                                                                               \
	HEAD BEGIN                                                                                          \
		"@cpu 0\n" CONNECTION "500_000_010 0 segment conn=1 pos=0 len=30\n"                         \
		"500_050_010 0 waking target=100\n500_060_010 0 switch next=100\n"                          \
		"500_100_010 100 syscall nr=read fd=5 dur=50 ret=30\n"                                      \
		"500_100_010 100 head conn=1 pos=0 len=30 name=1 requests=1 rest=9\n" more                  \
		"500_200_010 100 switch next=0 state=1\n@recorder\n3_000_000_020 100 syscall_args nr=" call \
		" dur=2_499_850_000 flags=2\n"
#define IDLE "futex arg0=0x1000"
#define READ_MORE                                     \
	"500_140_010 0 segment conn=1 pos=30 len=4\n" \
	"500_150_010 100 syscall nr=read fd=5 dur=50 ret=4\n"
#define ARRIVED "500_160_010 0 segment conn=1 pos=30 len=9 unread=9\n"

static void hang_is(const char *text, const char *want, int missing, int threads)
{
	sqlite3 *db = judged(text);

	verdict_is(db, want);
	is_number(db, SAYS("hang_missing"), missing);
	is_number(db, SAYS("hang_thread"), threads);
	db_close(db);
}

/* The client announced bytes and did not send them; what the threads wait for is no cause. */
static void a_body_that_does_not_come_is_of_the_client(void **state)
{
	sqlite3 *db = judged(ANNOUNCED("", IDLE));

	(void)state;
	is_text(db, "SELECT announced || ' ' || rest FROM unanswered", "9 9");
	db_close(db);
	hang_is(ANNOUNCED("", IDLE), "problem hang 1", 1, 0);
	hang_is(ANNOUNCED("", "epoll_wait"), "problem hang 1", 1, 0);
	/* an upload goes on */
	db = judged(ANNOUNCED(READ_MORE "500_150_010 100 head conn=1 pos=30 len=4 rest=5\n",
			      "epoll_wait"));
	is_text(db, "SELECT announced || ' ' || rest FROM unanswered", "9 5");
	verdict_is(db, "unknown hang 1");
	is_number(db, SAYS("hang_missing"), 1);
	db_close(db);
	/* all has come; or the server does not read it; or the last receive has no head */
	hang_is(ANNOUNCED(READ_MORE "500_150_010 100 head conn=1 pos=30 len=9\n", IDLE),
		"problem hang 1", 0, 2);
	hang_is(ANNOUNCED(ARRIVED, IDLE), "problem hang 1", 0, 2);
	hang_is(ANNOUNCED(READ_MORE, IDLE), "problem hang 1", 0, 2);
}

/* TLS need not have answers. */
static void encrypted_requests_need_no_answer(void **state)
{
	sqlite3 *db = judged(
		HEAD
		"4 0 request_name id=1 protocol=8 name=\"TLS\"\n10 0 info text=\"begin=10\"\n"
		"3_000_000_010 0 info text=\"stopped=3000000010\"\n" READ
		"3_000_000_020 100 syscall_args nr=futex arg0=0x1000 dur=2_499_850_000 flags=2\n");

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "unknown requests");
	is_text(db, "SELECT group_concat(readable(value)) FROM json_each('[0, 1, 7, 8, 99]')",
		"1,1,1,0,0");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(unread_since_before_the_recording),
		T(unread_since_it_arrived),
		T(others_may_answer),
		T(a_receiver_is_no_hang),
		T(what_is_read_in_another_way_is_no_hang),
		T(a_long_poll_is_no_problem),
		T(a_command_that_awaits_is_no_hang),
		T(an_idle_pool_is_no_problem),
		T(parked_threads_are_no_cause),
		T(a_stuck_thread_of_a_connection_is_a_problem),
		T(a_body_that_does_not_come_is_of_the_client),
		T(encrypted_requests_need_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
