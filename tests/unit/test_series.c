// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/replay/requests/track_series.c, track_waits.c, track_epoll.c: series by hand. Windows are
 * 1 s; times in the recordings are ns, written as 1_500_000_000.
 */
#include "analyze/analyses/analysis.h"
#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <unistd.h>

#define START                                                                                   \
	"@recorder\n"                                                                           \
	"0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,sched,block\"\n"   \
	"2 100 thread pid=100 state=83 comm=\"server\"\n3 101 thread pid=100 state=83\n"        \
	"4 100 fd pid=100 fd=5 mode=0140000 ino=77 dev=8 family=2 role=2 sport=80 dport=999 "   \
	"saddr=127.0.0.1 daddr=10.0.0.7\n"                                                      \
	"5 100 fd pid=100 fd=6 mode=0010000 ino=78 dev=9\n6 100 fd pid=100 fd=4 mode=0 ino=3\n" \
	"10 0 info text=\"begin=10\"\n6_000_000_010 0 info text=\"stopped=6000000010\"\n@cpu 0\n"

static s64 sum(sqlite3 *db, const char *column, const char *kind, s64 ts)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT total(s.%s) FROM series s JOIN series_kind k ON k.id=s.kind "
		 "WHERE k.name='%s' AND (%lld < 0 OR s.ts=%lld)",
		 column, kind, (long long)ts, (long long)ts);
	return asked(db, sql);
}

#define SECOND 1000000000ll

/* One wait of 2.75 s from 0.5 s on: 0.5, 1, 1, 0.25 s; counted where it ends. */
static void waits_are_cut_at_the_edges_of_windows(void **state)
{
	sqlite3 *db = loaded(START "3_250_000_010 100 syscall nr=read fd=5 dur=2750000000 ret=9\n");

	(void)state;
	assert_int_equal(sum(db, "time", "socket_recv", 0), 500000000);
	assert_int_equal(sum(db, "time", "socket_recv", SECOND), SECOND);
	assert_int_equal(sum(db, "time", "socket_recv", 2 * SECOND), SECOND);
	assert_int_equal(sum(db, "time", "socket_recv", 3 * SECOND), 250000000);
	assert_int_equal(sum(db, "n", "socket_recv", 2 * SECOND), 0);
	assert_int_equal(sum(db, "n", "socket_recv", 3 * SECOND), 1);
	is_number(db, "SELECT count(*) FROM series WHERE kind=12", 4);
	is_text(db, "SELECT name || ' ' || pool FROM resource",
		"accepted 127.0.0.1:80 - 10.0.0.7:999 accepted 127.0.0.1:80");
	db_close(db);
}

/* In flight when the recording begins (no entry) and when it ends (not returned). */
static void waits_in_flight_count_up_to_the_ends(void **state)
{
	sqlite3 *db =
		loaded(START "1_500_000_010 100 syscall nr=read fd=6 flags=1 ret=1\n"
			     "1_600_000_010 100 syscall nr=read fd=6 flags=1 ret=1\n"
			     "6_000_000_011 101 syscall nr=read fd=6 dur=1500000001 flags=2\n");

	(void)state;
	/* the second call without entry cannot have started before the recording */
	is_number(db, "SELECT sum(time) FROM series WHERE kind=10 AND tid=100", 1500000000);
	is_number(db, "SELECT sum(n) FROM series WHERE kind=10 AND tid=100", 2);
	is_number(db, "SELECT sum(time) FROM series WHERE kind=10 AND tid=101", 1500000000);
	is_number(db, "SELECT sum(n) FROM series WHERE kind=10 AND tid=101", 0);
	db_close(db);
}

static void calls_that_never_waited_count_separately(void **state)
{
	sqlite3 *db = loaded(
		START "1000 100 syscall nr=read fd=5 dur=500 ret=-11\n"
		      "2000 100 syscall nr=read fd=5 dur=300 ret=7\n"
		      "3000 100 syscall nr=connect fd=5 dur=300 ret=-115\n"
		      "4000 100 syscall_args nr=epoll_wait arg0=4 arg3=0 dur=100 ret=0\n"
		      "5000 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=200 ret=1\n"
		      "6000 100 syscall_args nr=poll arg2=0 dur=100 ret=0\n"
		      "7000 100 syscall_args nr=poll arg2=50 dur=400 ret=0\n"
		      "8000 100 syscall_args nr=futex arg0=0x5000 arg1=0x80 dur=100 ret=-11\n"
		      "9000 100 syscall_args nr=futex arg0=0x5000 arg1=0x189 dur=600 ret=-110\n"
		      "10000 100 syscall_args nr=futex arg0=0x5000 arg1=0x81 dur=50 ret=0\n"
		      "11000 100 syscall_args nr=futex arg0=0x5000 arg1=0x81 dur=50 ret=3\n");
	static const struct {
		const char *kind;
		s64 time, n, refused, timeouts;
	} want[] = {
		{ "socket_recv", 300, 1, 1, 0 }, { "socket_connect", 0, 0, 1, 0 },
		{ "epoll_wait", 200, 1, 1, 0 },	 { "poll_wait", 400, 1, 1, 1 },
		{ "futex_wait", 600, 1, 1, 1 },	 { "futex_wake", 0, 1, 0, 0 },
		{ "epoll_clock", 200, 0, 0, 0 }, { "socket_send", 0, 0, 0, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(sum(db, "time", want[i].kind, -1), want[i].time);
		assert_int_equal(sum(db, "n", want[i].kind, -1), want[i].n);
		assert_int_equal(sum(db, "refused", want[i].kind, -1), want[i].refused);
		assert_int_equal(sum(db, "timeouts", want[i].kind, -1), want[i].timeouts);
	}
	db_close(db);
}

/* Thread 100 sleeps from .. to, for `state` (1: interruptible, 2: not), on CPU 0. */
#define SLEEP(from, to, state)                                                         \
#from " 100 switch next=0 state=" #state "\n" #to " 0 waking target=100\n" #to \
	      " 0 switch next=100\n"
#define ON_CPU "900 0 waking target=100\n900 0 switch next=100\n"

static void check_counts(sqlite3 *db, const char *kind, s64 time, s64 n, s64 refused, s64 timeouts)
{
	assert_int_equal(sum(db, "time", kind, -1), time);
	assert_int_equal(sum(db, "n", kind, -1), n);
	assert_int_equal(sum(db, "refused", kind, -1), refused);
	assert_int_equal(sum(db, "timeouts", kind, -1), timeouts);
}

/* SO_RCVTIMEO, SO_SNDTIMEO: the same errors as of sockets that never wait; only sleep differs. */
static void timeouts_of_sockets_are_waits(void **state)
{
	sqlite3 *db = loaded(
		START ON_CPU SLEEP(1100, 5000, 1) "5100 100 syscall nr=recvfrom fd=5 dur=4100 ret=-11\n" SLEEP(6100, 9000, 1) "9100 100 syscall nr=write fd=5 dur=3100 ret=-11\n" SLEEP(
			10100, 12000,
			1) "12100 100 syscall nr=accept fd=5 dur=2100 ret=-11\n" SLEEP(13100, 14000,
										       1) "14100 100 syscall nr=connect fd=5 dur=1100 ret=-115\n" SLEEP(15100,
																			15500,
																			1) "15600 100 syscall nr=connect fd=5 dur=600 ret=-114\n");

	(void)state;
	check_counts(db, "socket_recv", 4100, 1, 0, 1);
	check_counts(db, "socket_send", 3100, 1, 0, 1);
	check_counts(db, "socket_accept", 2100, 1, 0, 1);
	check_counts(db, "socket_connect", 1100 + 600, 2, 0, 2);
	is_number(db, "SELECT timeouts FROM kernel_metric WHERE metric='socket_recv'", 1);
	db_close(db);
}

/*
 * Preempted for long, asleep for the socket's lock, asleep before the call (a page fault): a
 * thread that gets EAGAIN did not wait for data.
 */
static void what_would_block_has_not_waited(void **state)
{
	sqlite3 *db = loaded(
		START ON_CPU
		"1100 100 switch next=0 flags=1\n50_000_000 0 switch next=100\n"
		"50_000_100 100 syscall nr=recvfrom fd=5 dur=49999100 ret=-11\n" SLEEP(50_001_000, 70_000_000, 2) "70_000_100 100 syscall nr=recvfrom fd=5 dur=19999200 ret=-11\n" SLEEP(
			70_001_000, 90_000_000,
			1) "90_000_100 100 syscall nr=recvfrom fd=5 dur=50 ret=-11\n"
			   "90_000_200 100 syscall_args nr=ppoll dur=50 ret=0\n" SLEEP(
				   90_000_300, 90_000_400,
				   1) "90_000_500 100 syscall_args nr=ppoll dur=250 ret=0\n");

	(void)state;
	check_counts(db, "socket_recv", 0, 0, 3, 0);
	check_counts(db, "poll_wait", 250, 1, 1, 1);
	db_close(db);
}

/* Sleep was not recorded: calls of 10 ms count as waits. */
static void without_switches_long_calls_have_waited(void **state)
{
	static const char start[] =
		"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls\"\n"
		"2 100 thread pid=100 state=83\n"
		"4 100 fd pid=100 fd=5 mode=0140000 ino=77 dev=8 family=2 role=2\n"
		"10 0 info text=\"begin=10\"\n6_000_000_010 0 info text=\"stopped=6000000010\"\n@cpu 0\n"
		"20_000_000 100 syscall nr=recvfrom fd=5 dur=9999999 ret=-11\n"
		"40_000_000 100 syscall nr=recvfrom fd=5 dur=10000000 ret=-11\n";
	sqlite3 *db = loaded(start);

	(void)state;
	check_counts(db, "socket_recv", 10000000, 1, 1, 1);
	db_close(db);
}

/* EINTR, ERESTARTSYS: the wait up to the signal counts, and is no timeout. */
static void waits_that_a_signal_ends_count(void **state)
{
	sqlite3 *db = loaded(
		START ON_CPU SLEEP(1100, 5000, 1) "5100 100 syscall nr=recvfrom fd=5 dur=4100 ret=-512\n" SLEEP(
			6100, 9000,
			1) "9100 100 syscall nr=recvfrom fd=5 dur=3100 ret=-4\n" SLEEP(10100, 11000,
										       1) "11100 100 syscall_args nr=poll arg2=50 dur=1100 ret=-516\n");

	(void)state;
	check_counts(db, "socket_recv", 4100 + 3100, 2, 0, 0);
	check_counts(db, "poll_wait", 1100, 1, 0, 0);
	db_close(db);
}

/*
 * Polled alone: a connection of its own (6), one of a client (5); then a set of several, and one of
 * a recording that does not tell (arg5 is anything).
 */
static void polling_one_upstream_is_an_upstream_wait(void **state)
{
	sqlite3 *db = loaded(
		START
		"4 100 fd pid=100 fd=7 mode=0140000 ino=79 dev=8 family=2 role=3 dport=99 "
		"daddr=10.0.0.9\n" ON_CPU SLEEP(
			1000, 3000,
			1) "3100 100 syscall_args nr=poll arg0=0xffff0001 arg1=1 arg2=-1 dur=2200 "
			   "ret=1 flags=8 arg5=7\n" SLEEP(
				   4000, 4300,
				   1) "4400 100 syscall_args nr=ppoll arg0=0xffff0001 arg1=1 dur=500 ret=1 "
				      "flags=8 arg5=5\n" SLEEP(
					      5000, 5040,
					      1) "5100 100 syscall_args nr=poll arg0=0xffff0001 arg1=2 arg2=-1 dur=200 "
						 "ret=1 arg5=7\n");

	(void)state;
	assert_int_equal(sum(db, "time", "sleep_client", -1), 2000);
	assert_int_equal(sum(db, "time", "sleep_poll", -1), 340);
	is_number(db, "SELECT object FROM thread_state WHERE state=15", 7);
	is_number(db,
		  "SELECT sum(s.time) FROM series s JOIN resource r ON r.id=s.resource"
		  " WHERE s.kind=19 AND r.pool='connected 10.0.0.9:99'",
		  2200);
	is_number(db, "SELECT sum(time) FROM series WHERE kind=19", 2900);
	is_number(db, "SELECT fd FROM syscall WHERE dur=2200", 7);
	is_null(db, "SELECT fd FROM syscall WHERE dur=200");
	analysed(db, "slack");
	is_number(db, "SELECT value FROM metric WHERE name='waits' AND subject='server[100] poll'",
		  2);
	is_number(db,
		  "SELECT value FROM metric WHERE name='mean wait' AND subject='server[100] poll'",
		  350);
	db_close(db);
}

static void directions_of_sockets_and_pipes_count_separately(void **state)
{
	sqlite3 *db = loaded(START "1000 100 syscall nr=recvfrom fd=5 dur=1 ret=7\n"
				   "2000 100 syscall nr=write fd=5 dur=2 ret=7\n"
				   "3000 100 syscall nr=accept fd=5 dur=4 ret=9\n"
				   "4000 100 syscall nr=connect fd=5 dur=8 ret=0\n"
				   "5000 100 syscall nr=read fd=6 dur=16 ret=7\n"
				   "6000 100 syscall nr=writev fd=6 dur=32 ret=7\n"
				   "7000 100 syscall nr=read fd=99 dur=64 ret=7\n");

	(void)state;
	assert_int_equal(sum(db, "time", "socket_recv", -1), 1);
	assert_int_equal(sum(db, "time", "socket_send", -1), 2);
	assert_int_equal(sum(db, "time", "socket_accept", -1), 4);
	assert_int_equal(sum(db, "time", "socket_connect", -1), 8);
	assert_int_equal(sum(db, "time", "pipe_read", -1), 16);
	assert_int_equal(sum(db, "time", "pipe_write", -1), 32);
	is_number(db, "SELECT total(time) FROM series WHERE kind BETWEEN 10 AND 19", 63);
	db_close(db);
}

/* 101 waits 1..3 s, 100 waits 2..4 s: each its own time, the instance 3 s. */
static void the_clock_of_an_instance_counts_overlaps_once(void **state)
{
	sqlite3 *db = loaded(
		START
		"3_000_000_010 101 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000000000 ret=1\n"
		"4_000_000_010 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000000000 ret=1\n"
		/* inside what is covered, then a gap, then one that covers all */
		"4_000_000_011 101 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=500000000 ret=1\n"
		"5_000_000_010 101 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=500000000 ret=1\n"
		"5_500_000_010 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=5500000000 ret=1\n");

	(void)state;
	is_number(db, "SELECT sum(time) FROM series WHERE kind=18 AND tid=101", 3 * SECOND);
	is_number(db, "SELECT sum(time) FROM series WHERE kind=18 AND tid=100", 7500000000);
	assert_int_equal(sum(db, "time", "epoll_clock", 0), SECOND);
	assert_int_equal(sum(db, "time", "epoll_clock", 4 * SECOND), SECOND);
	assert_int_equal(sum(db, "time", "epoll_clock", 5 * SECOND), 500000000);
	assert_int_equal(sum(db, "time", "epoll_clock", -1), 5500000000);
	db_close(db);
}

/* More waits of one thread than are kept, all inside one long wait of another. */
static void a_long_wait_over_many_short_ones_covers_everything(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	assert_int_equal(buf_printf(&text, &e, "%s", START), 0);
	for (i = 1; i <= 1000; i++)
		buf_printf(&text, &e,
			   "%lld 101 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000000 ret=1\n",
			   10 + i * 5000000ll);
	db = loaded(text.data);
	assert_int_equal(sum(db, "time", "epoll_clock", -1), 2 * SECOND);
	db_close(db);
	buf_printf(
		&text, &e,
		"5_500_000_010 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=5000000000 ret=1\n");
	db = loaded_buf(&text);
	assert_int_equal(sum(db, "time", "epoll_clock", SECOND), SECOND);
	assert_int_equal(sum(db, "time", "epoll_clock", 2 * SECOND), SECOND);
	assert_int_equal(sum(db, "time", "epoll_clock", 4 * SECOND), SECOND);
	assert_int_equal(sum(db, "time", "epoll_clock", 5 * SECOND), 500000000);
	/* half of the first window: in proportion, 0.2 s before and 0.5 s of which 0.3 were free */
	assert_in_range(sum(db, "time", "epoll_clock", 0), 690000000, 710000000);
	db_close(db);
}

static void files_are_charged_while_they_are_registered(void **state)
{
	sqlite3 *db = loaded(
		START
		"1_500_000_010 100 syscall_args nr=epoll_ctl arg0=4 arg1=1 arg2=5\n"
		"1_600_000_010 100 syscall_args nr=epoll_ctl arg0=4 arg1=2 arg2=6\n"
		"4_000_000_010 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000000000 ret=1\n"
		"4_500_000_010 100 syscall_args nr=epoll_ctl arg0=4 arg1=2 arg2=5\n"
		"4_600_000_010 100 syscall_args nr=epoll_ctl arg0=4 arg1=1 arg2=8 ret=-9\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM epoll_file", 2);
	is_number(db, "SELECT ts FROM epoll_file WHERE fd=5", 1500000000);
	is_number(db, "SELECT end FROM epoll_file WHERE fd=5", 4500000000);
	is_number(db, "SELECT ts FROM epoll_file WHERE fd=6", 0); /* was there before */
	is_number(db, "SELECT round(1000 * sum(share)) FROM epoll_file_wait WHERE fd=5", 2000);
	is_number(db, "SELECT count(*) FROM epoll_file_wait WHERE fd=6", 0);
	db_close(db);
}

static void sectors_belong_to_the_submitting_thread(void **state)
{
	sqlite3 *db = loaded(
		START "@recorder\n7 0 disk dev=0x800010 name=\"sda\"\n@cpu 0\n"
		      "900_000_000 101 block_start request=1 sector=8 bytes=4096 dev=0x800010\n"
		      "1_100_000_010 0 block_complete request=1 sector=8 bytes=4096 dev=0x800010\n"
		      "1_200_000_000 101 block_start request=2 sector=8 bytes=512 dev=0x800010\n");

	(void)state;
	is_number(db, "SELECT n FROM series WHERE kind=21 AND tid=101", 8);
	is_number(db, "SELECT ts FROM series WHERE kind=21", SECOND);
	is_number(db, "SELECT count(*) FROM series WHERE kind=21", 1);
	is_text(db, "SELECT name FROM resource WHERE kind='disk'", "disk sda");
	db_close(db);
}

/* A number that two threads had, one after the other, each running for its whole second of life. */
static void lives_of_one_number_add_up(void **state)
{
	sqlite3 *db = loaded(
		START
		"1_000_000_000 100 fork child=200 child_pid=200 pid=100 comm=\"first\"\n"
		"1_000_000_000 0 switch next=200\n1_500_000_000 200 syscall nr=read fd=5 dur=10 ret=1\n"
		"2_000_000_000 200 exit pid=200\n2_000_000_000 200 switch next=0 state=128\n"
		"3_000_000_000 100 fork child=200 child_pid=200 pid=100 comm=\"second\"\n"
		"3_000_000_000 0 switch next=200\n"
		"4_500_000_000 200 exit pid=200\n4_500_000_000 200 switch next=0 state=128\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM thread WHERE tid=200", 2);
	analysed(db, "metrics");
	assert_in_range(asked(db, "SELECT value FROM metric WHERE name='runtime' AND"
				  " subject_kind='thread' AND subject_id=200"),
			99, 100);
	db_close(db);
}

/* What a thread's series of states add up to is what table thread says. */
static void states_add_up_in_windows(void **state)
{
	sqlite3 *db = loaded(START "1_000_000_000 0 waking target=100 cpu=0\n"
				   "1_100_000_000 0 switch next=100\n"
				   "2_500_000_000 100 switch next=0 state=2 flags=2\n"
				   "3_700_000_000 0 waking target=100 cpu=0\n"
				   "3_800_000_000 0 switch next=100\n"
				   "4_000_000_000 100 switch next=101 flags=1\n"
				   "4_200_000_000 101 switch next=100 state=2\n");

	(void)state;
	is_number(db, "SELECT sum(time) FROM series WHERE tid=100 AND kind=1",
		  asked(db, "SELECT run FROM thread WHERE tid=100"));
	is_number(db, "SELECT sum(time) FROM series WHERE tid=100 AND kind=2",
		  asked(db, "SELECT woken + preempted FROM thread WHERE tid=100"));
	is_number(db, "SELECT sum(time) FROM series WHERE tid=100 AND kind=3", 1200000000);
	is_number(db, "SELECT sum(time) FROM series WHERE tid=100 AND kind=4", 1200000000);
	/* 101 is blocked, but not in I/O wait */
	is_number(db, "SELECT total(time) FROM series WHERE tid=101 AND kind=4", 0);
	is_number(db,
		  "SELECT sum(time) FROM series WHERE tid=100 AND kind=1 "
		  "AND ts=2000000000",
		  500000000 - 10);
	is_number(db,
		  "SELECT max(t) FROM (SELECT sum(time) AS t FROM series "
		  "WHERE kind IN (1,2,3,5,6,7,8,9,22) GROUP BY tid, ts)",
		  SECOND);
	is_number(db,
		  "SELECT sum(time) FROM series WHERE tid=100 AND "
		  "kind IN (1,2,3,5,6,7,8,9,22)",
		  asked(db, "SELECT wall FROM thread WHERE tid=100"));
	db_close(db);
}

/* A few records that claim a day, of many threads: windows are long, and what forks claims is
 * refused. */
static void rows_are_in_proportion_to_records(void **state)
{
	const struct idle {
		int threads, forks;
	} few = { 3, 0 }, many = { 400, 0 }, forked = { 3, 400 };
	const struct idle *cases[] = { &few, &many, &forked };
	const s64 steps[] = { SECOND, 100 * SECOND, 0 }; /* 0: refused */
	const char *path;
	struct text x;
	struct err e;
	sqlite3 *db;
	size_t i;
	int k;

	(void)state;
	for (i = 0; i < 3; i++) {
		x = (struct text){ 0 };
		text_line(&x, "@recorder\n0 0 info text=\"targets=all\"");
		text_line(&x, "1 0 info text=\"groups=core,syscalls,sched\"");
		for (k = 0; k < cases[i]->threads; k++)
			text_line(&x, "2 %d thread pid=100 state=83", 100 + k);
		text_line(&x, "11 0 info text=\"begin=11\"\n@cpu 0");
		for (k = 0; k < cases[i]->forks; k++)
			text_line(&x, "%d 100 fork child=%d child_pid=100 pid=100", 1000 + k,
				  1000 + k);
		text_line(&x, "86400_000_000_000 0 switch next=100");
		e = (struct err){ 0 };
		db = NULL;
		path = packed((const char *)x.b.data);
		assert_int_equal(load_any(&db, path, &e), steps[i] ? 0 : ERR_DAMAGED);
		unlink(path);
		if (steps[i])
			is_number(db,
				  "SELECT CAST(value AS INT) FROM recording WHERE key='step_ns'",
				  steps[i]);
		db_close(db);
		buf_free(&x.b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(waits_are_cut_at_the_edges_of_windows),
		T(waits_in_flight_count_up_to_the_ends),
		T(calls_that_never_waited_count_separately),
		T(timeouts_of_sockets_are_waits),
		T(what_would_block_has_not_waited),
		T(without_switches_long_calls_have_waited),
		T(waits_that_a_signal_ends_count),
		T(polling_one_upstream_is_an_upstream_wait),
		T(directions_of_sockets_and_pipes_count_separately),
		T(the_clock_of_an_instance_counts_overlaps_once),
		T(a_long_wait_over_many_short_ones_covers_everything),
		T(files_are_charged_while_they_are_registered),
		T(sectors_belong_to_the_submitting_thread),
		T(lives_of_one_number_add_up),
		T(states_add_up_in_windows),
		T(rows_are_in_proportion_to_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
