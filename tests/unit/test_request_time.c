// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_requests.c: where the time of requests and exchanges goes. */
#include "tests/lib/unit.h"

#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/server_start.h"

static s64 waited(sqlite3 *db, const char *state)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT total(dur) FROM request_wait WHERE request=1 AND state="
		 "(SELECT id FROM state WHERE name='%s')",
		 state);
	return asked(db, sql);
}

/* Received at 2000, asleep for a lock 3000..6000, on a CPU again at 6100, sent at 7000. */
static void requests_are_split_by_reason(void **state)
{
	sqlite3 *db =
		loaded(START "@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n"
			     "2000 100 syscall nr=read fd=5 dur=100 ret=10\n"
			     "3000 100 switch next=0 state=1\n@cpu 1\n6000 0 waking target=100\n"
			     "@cpu 0\n6100 0 switch next=100\n"
			     "6200 100 syscall_args nr=futex dur=3300 arg0=0x1000\n"
			     "7000 100 syscall nr=write fd=5 dur=100 ret=10\n");

	(void)state;
	is_number(db, "SELECT dur FROM request", 5000);
	is_number(db, "SELECT split FROM request", 1);
	assert_int_equal(waited(db, "futex"), 3000);
	assert_int_equal(waited(db, "woken"), 100);
	is_number(db, "SELECT total(dur) FROM request_wait", 3100);
	db_close(db);
}

/*
 * 100 receives at 2000, 101 sends at 9000. 101 was on another request: it read a file from 1000
 * (disk) to 5000, was on a CPU from 5500, preempted 6000..7000.
 */
static void the_senders_state_is_what_a_request_waited_for(void **state)
{
	sqlite3 *db = loaded(
		START
		"@cpu 1\n1100 0 waking target=101\n1100 0 switch next=101\n"
		"1150 101 syscall nr=read fd=5 dur=1 ret=1\n1160 101 syscall nr=write fd=5 dur=1 ret=1\n"
		"1200 101 switch next=0 state=2 flags=2\n"
		"@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n"
		"2000 100 syscall nr=read fd=5 dur=100 ret=10\n"
		"@cpu 1\n5000 0 waking target=101 context=2\n5500 0 switch next=101\n"
		"5600 101 syscall_args nr=pread64 arg0=9 dur=4500 ret=10\n"
		"6000 101 switch next=0 flags=1\n7000 0 switch next=101\n"
		"9000 101 syscall nr=write fd=5 dur=100 ret=10\n");

	(void)state;
	is_number(db, "SELECT tid FROM request WHERE rowid=2", 101);
	is_number(db, "SELECT total(dur) FROM request_wait WHERE request=2 AND state=7", 3000);
	is_number(db, "SELECT total(dur) FROM request_wait WHERE request=2 AND state=1", 500);
	is_number(db, "SELECT total(dur) FROM request_wait WHERE request=2 AND state=2", 1000);
	is_number(db, "SELECT total(dur) FROM request_wait WHERE request=2", 4500);
	db_close(db);
}

/* The sender slept until 5000, as its first wake-up shows; it has neither received nor sent. */
static void the_past_of_a_new_sender_is_known(void **state)
{
	sqlite3 *db =
		loaded(START "@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n"
			     "2000 100 syscall nr=read fd=5 dur=100 ret=10\n"
			     "@cpu 1\n5000 0 waking target=101 context=2\n5500 0 switch next=101\n"
			     "9000 101 syscall nr=write fd=5 dur=100 ret=10\n");

	(void)state;
	is_number(db, "SELECT dur FROM request", 7000);
	assert_int_equal(waited(db, "unknown"), 0);
	assert_int_equal(waited(db, "woken"), 500);
	is_number(db, "SELECT total(dur) FROM request_wait", 3500);
	db_close(db);
}

/* An event loop asks 10.0.0.9 at 2500 and polls 3000..6000; the answer comes at 6200. */
static void answers_waited_for_in_poll_are_the_others_time(void **state)
{
	sqlite3 *db = loaded(
		START
		"@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n"
		"2000 100 syscall nr=read fd=5 dur=100 ret=10\n"
		"2500 100 syscall nr=write fd=6 dur=100 ret=20\n"
		"3000 100 switch next=0 state=1\n6000 0 waking target=100 context=1\n"
		"6100 0 switch next=100\n6150 100 syscall_args nr=epoll_wait arg0=4 dur=3300 ret=1\n"
		"6200 100 syscall nr=read fd=6 dur=20 ret=30\n"
		"6250 100 syscall nr=read fd=6 dur=20 ret=30\n"
		"7000 100 syscall nr=write fd=5 dur=100 ret=10\n");

	(void)state;
	assert_int_equal(waited(db, "poll"), 0);
	assert_int_equal(waited(db, "client"), 3000);
	is_number(db, "SELECT count(*) FROM upstream", 1);
	is_number(db, "SELECT dur FROM upstream", 3700);
	is_number(db, "SELECT send_bytes FROM upstream", 20);
	db_close(db);
}

/*
 * 300 questions on socket 6, one per 0.5 ms, in `writes` sends each. Each is answered `late` ns
 * after it, while later ones are under way.
 */
static sqlite3 *asking(int writes, long late)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long i, k = late / 500000, w;

	buf_printf(&b, &e, "%s@cpu 0\n", START);
	for (i = 0; i < 300 + k; i++) {
		if (i >= k)
			buf_printf(&b, &e, "%ld 100 syscall nr=read fd=6 dur=20 ret=30\n",
				   10000000 + i * 500000 - 1000);
		for (w = 0; i < 300 && w < writes; w++)
			buf_printf(&b, &e, "%ld 100 syscall nr=write fd=6 dur=20 ret=30\n",
				   10000000 + i * 500000 + w);
	}
	return analysed(loaded_buf(&b), "net");
}

/* Answers of 12 ms, though the last send is 0.5 ms ago; one question at a time is not said. */
static void several_questions_have_a_mean(void **state)
{
	static const char mean[] = FINDING_VALUE("upstream_outstanding", "mean", "v.number");
	sqlite3 *db = asking(1, 12000000);

	(void)state;
	is_within(db, mean, 11.9e6, 12.1e6);
	is_within(db, "SELECT avg(dur) FROM upstream", 0, 0.6e6);
	is_number(db, "SELECT most FROM upstream_use", 24);
	db_close(db);
	db = asking(1, 500000);
	is_number(db, "SELECT count(*) FROM upstream_use", 0);
	db_close(db);
	db = asking(2, 500000);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='upstream_outstanding'", 0);
	db_close(db);
}

/* Asleep in a call on a connected socket: the state of its own. */
static void a_clients_receive_differs_from_a_servers(void **state)
{
	sqlite3 *db = loaded(
		START "@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n"
		      "3000 100 switch next=0 state=1\n6000 0 waking target=100 context=1\n"
		      "6000 0 switch next=100\n6150 100 syscall nr=read fd=6 dur=3300 ret=1\n"
		      "7000 100 switch next=0 state=1\n8000 0 waking target=100 context=1\n"
		      "8000 0 switch next=100\n8150 100 syscall nr=read fd=5 dur=1300 ret=1\n");

	(void)state;
	is_number(db, "SELECT client FROM thread WHERE tid=100", 3000);
	is_number(db, "SELECT socket FROM thread WHERE tid=100", 1000);
	is_number(db, "SELECT object FROM thread_state WHERE state=15", 6);
	db_close(db);
}

/* A request before, so that the thread is known to serve; then it sleeps in epoll until it is
 * woken.
 */
#define SERVED                                                                                   \
	"906 100 fd pid=100 fd=8 mode=0140000 ino=79 family=2 role=2 sport=80 saddr=127.0.0.1\n" \
	"@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n"                             \
	"2000 100 syscall nr=read fd=5 dur=100 ret=10\n"                                         \
	"2500 100 syscall nr=write fd=5 dur=100 ret=20\n"                                        \
	"3000 100 switch next=0 state=1\n10000 0 waking target=100 context=1\n"                  \
	"13000 0 switch next=100\n"

static s64 before(sqlite3 *db, int request, int state)
{
	char sql[100];

	snprintf(sql, sizeof(sql),
		 "SELECT total(dur) FROM request_queue WHERE request=%d AND state=%d", request,
		 state);
	return asked(db, sql);
}

/*
 * Two requests that one epoll_wait reported, the first at the wakeup, the second half way to its
 * return; a third that came before the next epoll_wait: half way from its last return. All
 * the time belongs to no request.
 */
static void requests_wait_from_the_wakeup_on(void **state)
{
	sqlite3 *db =
		loaded(START SERVED "13100 100 syscall_args nr=epoll_wait arg0=4 dur=10200 ret=2\n"
				    "13200 100 syscall nr=read fd=5 dur=50 ret=10\n"
				    "13300 100 syscall nr=write fd=5 dur=50 ret=10\n"
				    "13400 100 syscall nr=read fd=8 dur=50 ret=10\n"
				    "13450 100 syscall nr=write fd=8 dur=40 ret=10\n"
				    "13900 100 syscall_args nr=epoll_wait arg0=4 dur=100 ret=1\n"
				    "14000 100 syscall nr=read fd=8 dur=50 ret=10\n"
				    "14100 100 syscall nr=write fd=8 dur=50 ret=10\n"
				    "14200 100 syscall nr=read fd=8 dur=50 ret=10\n"
				    "14300 100 syscall nr=write fd=8 dur=50 ret=10\n");

	(void)state;
	is_number(db, "SELECT queued FROM request WHERE ts=12200", 3200);
	is_number(db, "SELECT dur FROM request WHERE ts=12200", 100);
	is_number(db, "SELECT queued FROM request WHERE ts=12400", 1550 + 300);
	/* epoll has no descriptor here whose last return could be known */
	is_number(db, "SELECT queued FROM request WHERE ts=13000", 100);
	/* received again without epoll_wait: not reported */
	is_number(db, "SELECT queued FROM request WHERE ts=13200", 0);
	is_number(db, "SELECT sum(n) FROM latency WHERE kind='served'", 5);
	db_close(db);
}

static void requests_wait_in_the_run_queue(void **state)
{
	static const char rest[] = "13100 100 syscall_args nr=epoll_wait arg0=4 dur=10200 ret=2\n"
				   "13200 100 syscall nr=read fd=5 dur=50 ret=10\n"
				   "13300 100 syscall nr=write fd=5 dur=50 ret=10\n"
				   "13400 100 syscall nr=read fd=8 dur=50 ret=10\n"
				   "13450 100 syscall nr=write fd=8 dur=50 ret=10\n";
	char text[3000];
	sqlite3 *db;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", START SERVED, rest);
	db = loaded(text);
	is_number(db, "SELECT count(*) FROM request", 3);
	is_number(db, "SELECT total(dur) FROM request_wait WHERE request<>1", 0);
	/* requests are numbered as they end: 5, 5, 8 */
	assert_int_equal(before(db, 2, 1), 3000);
	assert_int_equal(before(db, 3, 1), 1500);
	is_number(db, "SELECT total(dur) FROM request_queue", 4500);
	db_close(db);
}

static void an_epoll_wait_without_sleep_continues_the_last_one(void **state)
{
	sqlite3 *db =
		loaded(START "907 100 fd pid=100 fd=4 mode=0 ino=9\n" SERVED
			     "13100 100 syscall_args nr=epoll_wait arg0=4 dur=10200 ret=1\n"
			     "13200 100 syscall nr=read fd=5 dur=50 ret=10\n"
			     "13300 100 syscall nr=write fd=5 dur=50 ret=10\n"
			     "13900 100 syscall_args nr=epoll_wait arg0=4 dur=100 ret=2\n"
			     "14000 100 syscall nr=read fd=8 dur=50 ret=10\n"
			     "14010 100 syscall nr=write fd=8 dur=10 ret=10\n"
			     "14100 100 syscall nr=read fd=5 dur=50 ret=10\n"
			     "14110 100 syscall nr=write fd=5 dur=10 ret=10\n"
			     /* another thread asks the same epoll, and then ours again */
			     "@cpu 1\n15000 0 waking target=101\n15000 0 switch next=101\n"
			     "15100 101 syscall_args nr=epoll_wait arg0=4 dur=50 ret=0\n"
			     "@cpu 0\n15200 100 syscall_args nr=epoll_wait arg0=4 dur=50 ret=1\n"
			     "15300 100 syscall nr=read fd=5 dur=50 ret=10\n"
			     "15400 100 syscall nr=write fd=5 dur=10 ret=10\n");

	(void)state;
	/* 13100 + 800 / 3 and two thirds; received at 14000 and 14100 */
	is_number(db, "SELECT queued FROM request WHERE ts=13000", 634);
	is_number(db, "SELECT queued FROM request WHERE ts=13100", 467);
	is_number(db, "SELECT queued FROM request WHERE ts=14300", 100);
	db_close(db);
}

static void receives_that_block_begin_at_their_wakeup(void **state)
{
	sqlite3 *db = loaded(START SERVED "13100 100 syscall nr=read fd=5 dur=10200 ret=10\n"
					  "13300 100 syscall nr=write fd=5 dur=50 ret=10\n");

	(void)state;
	is_number(db, "SELECT queued FROM request WHERE ts=12100", 3100);
	assert_int_equal(before(db, 2, 1), 3000);
	is_number(db, "SELECT total(dur) FROM request_queue", 3000);
	db_close(db);
}

/* Events were lost while the second request lasted. */
static void requests_touched_by_loss_are_marked(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n2000 100 syscall nr=read fd=5 dur=100 ret=10\n"
				   "2500 100 syscall nr=write fd=5 dur=100 ret=20\n"
				   "3000 100 syscall nr=read fd=5 dur=100 ret=10\n@block\n@lost 3\n"
				   "4000 100 syscall nr=write fd=5 dur=100 ret=20\n");

	(void)state;
	is_text(db, "SELECT group_concat(lossy) FROM request", "0,1");
	db_close(db);
}

/* Sectors 8..16, then 16..: the second goes on where the first ended; the third does not. */
static void sequential_requests_are_marked(void **state)
{
	sqlite3 *db =
		loaded(START "902 0 info text=\"groups=core,syscalls,block\"\n"
			     "@cpu 0\n2000 100 block_start request=1 sector=8 bytes=4096 dev=5\n"
			     "2100 100 block_start request=2 sector=16 bytes=4096 dev=5\n"
			     "2200 100 block_start request=3 sector=99 bytes=4096 dev=5\n"
			     "2900 0 block_complete request=1 sector=8 bytes=4096 dev=5\n"
			     "3000 0 block_complete request=2 sector=16 bytes=4096 dev=5\n"
			     "3100 0 block_complete request=3 sector=99 bytes=4096 dev=5\n");

	(void)state;
	is_text(db, "SELECT group_concat(sequential) FROM block_io", "0,1,0");
	is_text(db, "SELECT group_concat(depth) FROM block_io", "0,1,2");
	db_close(db);
}

/*
 * A write of 300 ns, 100 of them queued; then two ask for a flush, which the kernel makes once.
 * What a flush takes is no part of what requests take, which is what they queue and are in the
 * device.
 */
static void flushes_count_separately(void **state)
{
	sqlite3 *db = loaded(
		START
		"902 0 info text=\"groups=core,syscalls,block\"\n"
		"@cpu 0\n2000 100 block_start request=1 sector=8 bytes=4096 dev=5 op=1\n"
		"2100 100 block_issue request=1 sector=8 bytes=4096 dev=5 op=1\n"
		"2300 0 block_complete request=1 sector=8 bytes=4096 dev=5\n"
		"3000 100 block_start request=2 dev=5 op=0x40801\n"
		"3000 101 block_start request=3 dev=5 op=0x40801\n"
		"3100 0 block_issue request=4 dev=5 op=0x40002\n"
		"5000 0 block_complete request=4 dev=5 op=0x40002\n"
		"5000 0 block_complete request=2 dev=5\n5000 0 block_complete request=3 dev=5\n");

	(void)state;
	analysed(db, "disk");
#define OF_DISK(name) "SELECT value FROM metric WHERE subject='0:5' AND name='" name "'"
	is_number(db, OF_DISK("requests"), 1);
	is_number(db, OF_DISK("latency"), 300);
	is_number(db, OF_DISK("queued"), 100);
	is_number(db, OF_DISK("service"), 200);
	is_number(db, OF_DISK("flushes"), 2);
	is_number(db, OF_DISK("flush"), 2000);
	is_number(db, "SELECT count(DISTINCT subject) FROM metric", 2);
	db_close(db);
}

/* 100 writes 4 kB; 101, of another process, discards 1 MB, which moves nothing. */
static void discards_move_nothing(void **state)
{
	sqlite3 *db = loaded(
		START "902 0 info text=\"groups=core,syscalls,block\"\n"
		      "903 300 thread pid=300 state=83 comm=\"rm\"\n"
		      "@cpu 0\n2000 100 block_start request=1 sector=8 bytes=4096 dev=5 op=1\n"
		      "2100 100 block_issue request=1 sector=8 bytes=4096 dev=5 op=1\n"
		      "2300 0 block_complete request=1 sector=8 bytes=4096 dev=5\n"
		      "3000 300 block_start request=2 sector=99 bytes=1048576 dev=5 op=3\n"
		      "3100 300 block_issue request=2 sector=99 bytes=1048576 dev=5 op=3\n"
		      "3300 0 block_complete request=2 sector=99 bytes=1048576 dev=5\n");

	(void)state;
	analysed(db, "disk");
#define OF_PROCESS(pid, name)                                                              \
	"SELECT round(value) FROM metric WHERE subject_kind='process' AND subject_id=" pid \
	" AND name='" name "'"
	is_number(db, OF_DISK("bytes"), 4096);
	is_number(db, OF_DISK("discarded"), 1048576);
	is_number(db, OF_PROCESS("100", "share"), 100);
	is_number(db, OF_PROCESS("300", "share"), 0);
	is_number(db, OF_PROCESS("300", "discarded"), 1048576);
	db_close(db);
}

/* Connects to 10.0.0.9: 700 ns of handshake, two segments again; one is refused; one is accepted.
 */
static void connections_are_timed(void **state)
{
#define ENDS "family=2 sport=4000 dport=99 saddr=10.0.0.1 daddr=10.0.0.9"
	sqlite3 *db = loaded(
		START
		"903 0 info text=\"groups=core,syscalls,sched,net\"\n@cpu 0\n"
		"2000 100 tcp_state sock=1 from=7 to=2 " ENDS "\n"
		"2700 0 tcp_state sock=1 from=2 to=1 " ENDS "\n"
		"3000 0 tcp_retransmit sock=1 " ENDS "\n3100 0 tcp_retransmit sock=1 " ENDS "\n"
		"4000 0 tcp_state sock=1 from=1 to=7 sent=10 received=20 srtt=55 " ENDS "\n"
		"5000 100 tcp_state sock=2 from=7 to=2 family=2 sport=4001 dport=98 "
		"saddr=10.0.0.1 daddr=10.0.0.9\n"
		"5500 0 tcp_state sock=2 from=2 to=7 family=2 sport=4001 dport=98 "
		"saddr=10.0.0.1 daddr=10.0.0.9\n"
		"6000 0 tcp_state sock=3 from=3 to=1 family=2 sport=80 dport=5000 "
		"saddr=127.0.0.1 daddr=127.0.0.1\n"
		"6800 0 tcp_state sock=3 from=1 to=8 retransmits=3 family=2 sport=80 dport=5000 "
		"saddr=127.0.0.1 daddr=127.0.0.1\n"
		"6900 100 fd pid=100 fd=9 mode=0140000 ino=90 family=2 role=2 sport=80 dport=5000 "
		"saddr=127.0.0.1 daddr=127.0.0.1\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM connection", 3);
	is_number(db, "SELECT handshake FROM connection WHERE retransmits=2", 700);
	is_text(db,
		"SELECT end || ' ' || srtt || ' ' || remote || ' ' || pid FROM connection WHERE retransmits=2",
		"3000 55000 10.0.0.9:99 100");
	is_number(db,
		  "SELECT failed FROM connection WHERE handshake IS NULL AND "
		  "role='connected'",
		  1);
	is_number(db, "SELECT accept_delay FROM connection WHERE role='accepted'", 900);
	/* answers to its SYN, without an event */
	is_number(db, "SELECT retransmits FROM connection WHERE role='accepted'", 3);
	db_close(db);
}

/*
 * SYN and FIN are no bytes. 10 and 20 were sent and received, unless it says otherwise: as client
 * that closes first, and gets the FIN (1) or not (2); as server that closes last (3), whose FIN is
 * answered by a reset (4); reset without FIN (5); closed at once by both (6); from before the
 * recording, of which the SYN is not known (7); never established (8).
 */
static void flags_of_tcp_are_no_bytes(void **state)
{
#define TCP(ts, sock, from, to, sent, received)                                 \
#ts " 0 tcp_state sock=" #sock " from=" #from " to=" #to " sent=" #sent \
	    " received=" #received " family=2 sport=80 dport=" #sock            \
	    " saddr=10.0.0.1 daddr=10.0.0.9\n"
	sqlite3 *db = loaded(
		START "903 0 info text=\"groups=core,syscalls,sched,net\"\n@cpu 0\n" TCP(
			2000, 1, 7, 2, 0, 0) TCP(2001, 1, 2, 1, 1, 0) TCP(2002, 1, 1, 4, 11, 15)
			TCP(2003, 1, 4, 5, 12, 15) TCP(2004, 1, 5, 7, 12, 21) TCP(
				3000, 2, 7, 2, 0, 0) TCP(3001, 2, 2, 1, 1, 0) TCP(3002, 2, 1, 4, 11,
										  20)
				TCP(3003, 2, 4, 5, 12, 20) TCP(3004, 2, 5, 7, 12, 20) TCP(
					4000, 3, 3,
					1, 0, 0) TCP(4001, 3, 1, 8, 10, 21)
					TCP(4002, 3, 8, 9, 10, 21) TCP(4003, 3, 9, 7, 11, 21) TCP(
						5000, 4, 3,
						1, 0, 0) TCP(5001, 4, 1, 8, 10,
							     21) TCP(5002, 4, 8, 9, 10, 21)
						TCP(5003, 4, 9, 7,
						    10, 21) TCP(6000, 5, 3, 1, 0,
								0) TCP(6001, 5, 1, 7, 10, 20)
							TCP(7000, 6, 3, 1,
							    0, 0) TCP(7001, 6, 1, 4, 10,
								      20) TCP(7002, 6, 4, 11, 10,
									      21) TCP(7003, 6, 11,
										      7, 11, 21)
								TCP(8000, 7, 1, 8, 11,
								    21) TCP(8001, 7, 8, 9, 11, 21)
									TCP(8002, 7, 9, 7,
									    12, 21) TCP(9000, 8, 7,
											2, 0, 0)
										TCP(9001, 8, 2, 7,
										    0, 0));

	(void)state;
	is_number(db, "SELECT count(*) FROM connection", 8);
	is_number(db, "SELECT count(*) FROM connection WHERE sent=10 AND received=20", 6);
	is_number(db, "SELECT sent FROM connection WHERE remote='10.0.0.9:7'", 11);
	is_number(db, "SELECT received FROM connection WHERE remote='10.0.0.9:7'", 20);
	is_number(db, "SELECT sent + received FROM connection WHERE remote='10.0.0.9:8'", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(requests_are_split_by_reason),
		T(the_senders_state_is_what_a_request_waited_for),
		T(the_past_of_a_new_sender_is_known),
		T(several_questions_have_a_mean),
		T(answers_waited_for_in_poll_are_the_others_time),
		T(a_clients_receive_differs_from_a_servers),
		T(requests_wait_from_the_wakeup_on),
		T(requests_wait_in_the_run_queue),
		T(an_epoll_wait_without_sleep_continues_the_last_one),
		T(receives_that_block_begin_at_their_wakeup),
		T(requests_touched_by_loss_are_marked),
		T(sequential_requests_are_marked),
		T(flushes_count_separately),
		T(discards_move_nothing),
		T(connections_are_timed),
		T(flags_of_tcp_are_no_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
