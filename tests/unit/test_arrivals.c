// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_segments.c: when bytes arrived, by position in the stream. */
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

/* Process 100 with connection 5, number 1, on port 80. */
#define HOST                                                                                          \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,requests\"\n" \
	"2 100 thread pid=100 state=83 comm=\"server\"\n"                                             \
	"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80 dport=9\n"     \
	"10 0 info text=\"begin=10\"\n90_000 0 info text=\"stopped=90000\"\n@cpu 0\n"                 \
	"100 0 connection sock=7 ino=77 conn=1 family=2 sport=80 dport=9 side=1\n"
#define READ(ts, n)  #ts " 100 syscall nr=read fd=5 dur=50 ret=" #n "\n"
#define WRITE(ts, n) #ts " 100 syscall nr=write fd=5 dur=50 ret=" #n "\n"

#define ARRIVAL(row) "SELECT ts - queued + 10 FROM request WHERE arrival_is=1 AND rowid=" #row

/* The reader was late: two requests wait, each has its own arrival. */
static void each_request_has_its_arrival(void **state)
{
	sqlite3 *db = loaded(
		HOST "1000 0 segment conn=1 pos=0 len=10 unread=0\n"
		     "2000 0 segment conn=1 pos=10 len=20 unread=10\n" //
		READ(5000, 10) WRITE(6000, 5) READ(7000, 20)
			WRITE(8000, 5) "8500 0 segment conn=1 pos=30 len=0 written=10 unacked=0\n");

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 2000);
	is_number(db, "SELECT queued + dur FROM request WHERE rowid=2", 6000);
	is_number(db, "SELECT acked FROM request WHERE rowid=2", 500);
	is_null(db, "SELECT acked FROM request WHERE rowid=1");
	db_close(db);
}

/* An ACK releases the end of the first answer, and the second one before it is all sent. */
static void an_answer_ends_when_its_last_byte_leaves(void **state)
{
	sqlite3 *db = loaded(
		HOST "1000 0 segment conn=1 pos=0 len=10 unread=0\n" //
		READ(2000, 10) WRITE(3000, 5) WRITE(
			4000,
			5) "44000 0 segment conn=1 pos=10 len=0 written=10 unacked=5 flags=16\n"
			   "44500 0 segment_next conn=1 flags=4\n"
			   "50000 0 segment conn=1 pos=10 len=20 unread=0 written=10 unacked=0\n" //
		READ(51000, 20) WRITE(
			52000,
			5) "53000 0 segment conn=1 pos=30 len=0 written=15 unacked=5 flags=16\n" //
		WRITE(54000, 5) "54500 0 segment_next conn=1 flags=4\n");

	(void)state;
	is_number(db, "SELECT held FROM request WHERE rowid=1", 40000);
	is_number(db, "SELECT queued + dur FROM request WHERE rowid=1", 43000);
	is_number(db, "SELECT acked FROM request WHERE rowid=1", 500);
	is_number(db, "SELECT held FROM request WHERE rowid=2", 0);
	is_number(db, "SELECT dur FROM request WHERE rowid=2", 3000);
	is_number(db, "SELECT max FROM request_stat", 43000);
	db_close(db);
}

/* Without cause: no segments are recorded, or those of another connection. */
static void without_segments_arrival_is_an_estimate(void **state)
{
	sqlite3 *db =
		loaded(HOST "1000 0 segment conn=2 pos=0 len=10\n" READ(5000, 10) WRITE(6000, 5));

	(void)state;
	is_number(db, "SELECT arrival_is FROM request", 0);
	is_number(db, "SELECT queued FROM request", 0);
	db_close(db);
}

/* A request in three segments, of which the second comes last, and the first twice. */
static void order_does_not_matter(void **state)
{
	sqlite3 *db = loaded(HOST "1000 0 segment conn=1 pos=0 len=10\n"
				  "1500 0 segment conn=1 pos=20 len=10 gap=10 unread=10\n"
				  "1600 0 segment conn=1 pos=0 len=10 gap=-10 unread=10\n"
				  "1900 0 segment conn=1 pos=10 len=10 gap=0 unread=10\n" //
			     READ(3000, 20) WRITE(3500, 5) READ(4000, 10) WRITE(4500, 5));

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 1500);
	db_close(db);
}

/* Received again with new bytes at its end: only those arrive. */
static void overlapping_segments_arrive_once(void **state)
{
	sqlite3 *db = loaded(HOST "1000 0 segment conn=1 pos=0 len=10\n"
				  "1600 0 segment conn=1 pos=5 len=15 gap=-5 unread=10\n" //
			     READ(3000, 7) WRITE(3500, 5) READ(4000, 3) WRITE(4500, 5)
				     READ(5000, 10) WRITE(5500, 5));

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 1000);
	is_number(db, ARRIVAL(3), 1600);
	db_close(db);
}

static void positions_wrap(void **state)
{
	sqlite3 *db = loaded(HOST "1000 0 segment conn=1 pos=4294967290 len=10 unread=0\n"
				  "1200 0 segment conn=1 pos=4 len=10 unread=10\n" //
			     READ(3000, 10) WRITE(3500, 5) READ(4000, 10) WRITE(4500, 5));

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 1200);
	db_close(db);
}

/* A segment comes while the receive runs: what it says is not where the receive began. */
static void a_segment_may_come_within_a_receive(void **state)
{
	sqlite3 *db = loaded(HOST "1000 0 segment conn=1 pos=0 len=10 unread=0\n" READ(
		2000, 10) WRITE(2500, 5) "3000 0 segment conn=1 pos=10 len=10 unread=0\n"
					 "3970 0 segment conn=1 pos=20 len=10 unread=0 flags=2\n" //
			     READ(4000, 10) WRITE(4500, 5) READ(5000, 10) WRITE(5500, 5));

	(void)state;
	is_number(db, ARRIVAL(2), 3000);
	is_number(db, ARRIVAL(3), 3970);
	db_close(db);
}

/* Bytes were read in a way that is not recorded: the next segment says where the reader is. */
static void bytes_may_be_read_unseen(void **state)
{
	sqlite3 *db =
		loaded(HOST "1000 0 segment conn=1 pos=0 len=10 unread=0\n" READ(2000, 10)
			       WRITE(2500, 5) "3000 0 segment conn=1 pos=10 len=1000 unread=0\n"
					      "4000 0 segment conn=1 pos=1010 len=10 unread=0\n" //
		       READ(5000, 10) WRITE(5500, 5));

	(void)state;
	is_number(db, ARRIVAL(2), 4000);
	db_close(db);
}

/* The socket was open before the recording, and bytes of it wait: their arrival is not known. */
static void bytes_from_before_have_no_arrival(void **state)
{
	sqlite3 *db = loaded(HOST "1000 0 segment conn=1 pos=1000 len=10 unread=40\n" READ(2000, 40)
				     WRITE(2500, 5) READ(3000, 10) WRITE(3500, 5));

	(void)state;
	is_number(db, "SELECT arrival_is FROM request WHERE rowid=1", 0);
	is_number(db, ARRIVAL(2), 1000);
	db_close(db);
}

/* The number names another socket now; a closed one is forgotten. */
static void numbers_may_be_used_again(void **state)
{
	sqlite3 *db = loaded(
		HOST "1000 0 segment conn=1 pos=0 len=10 unread=0\n"
		     "1500 0 connection sock=8 ino=77 conn=1 family=2\n"
		     "1600 0 segment conn=1 pos=500 len=10 unread=0\n" READ(2000, 10)
			     WRITE(2500, 5) "2600 0 tcp_state sock=8 from=1 to=7\n"
					    "2700 0 segment conn=1 pos=900 len=10 unread=0\n"
					    "2800 0 connection sock=9 ino=77 conn=1 family=2\n" //
		READ(3000, 10) WRITE(3500, 5));

	(void)state;
	is_number(db, ARRIVAL(1), 1600);
	is_number(db, ARRIVAL(2), 2700);
	db_close(db);
}

/*
 * The segment that opened the connection had its first bytes. Not so: bytes that have a segment
 * event, later receives, and connections that were opened before the recording.
 */
static void the_first_bytes_may_open_the_connection(void **state)
{
#define OPENED                                                           \
	"200 0 tcp_state sock=9 from=3 to=1 family=2 sport=80 dport=9\n" \
	"900 100 fd pid=100 fd=6 mode=0140000 ino=88 family=2 role=2 socktype=1 sport=80 dport=9\n"
#define ACCEPTED "4000 0 connection sock=9 ino=88 conn=3 family=2 side=1\n"
#define FIRST	 "4000 100 syscall nr=read fd=6 dur=50 ret=10\n4000 100 head conn=3 pos=0 len=10\n"
#define ANSWER	 "5000 100 syscall nr=write fd=6 dur=50 ret=5\n"
	sqlite3 *db = loaded(HOST OPENED ACCEPTED FIRST ANSWER
			     "6000 100 syscall nr=read fd=6 dur=50 ret=10\n"
			     "6500 100 syscall nr=write fd=6 dur=50 ret=5\n");

	(void)state;
	is_number(db, ARRIVAL(1), 200);
	is_number(db, "SELECT arrival_is FROM request WHERE rowid=2", 0);
	db_close(db);
	db = loaded(HOST OPENED
		    "3000 0 connection sock=9 conn=3 family=2 side=1\n"
		    "3000 0 segment conn=3 pos=0 len=10 unread=0\n" ACCEPTED FIRST ANSWER);
	is_number(db, ARRIVAL(1), 3000);
	db_close(db);
	db = loaded(HOST OPENED
		    "3000 0 connection sock=9 conn=3 family=2 side=1\n"
		    "3000 0 segment conn=3 pos=10 len=10 unread=10\n" ACCEPTED FIRST ANSWER);
	is_number(db, ARRIVAL(1), 200);
	db_close(db);
	db = loaded(
		HOST
		"900 100 fd pid=100 fd=6 mode=0140000 ino=88 family=2 role=2 socktype=1\n" ACCEPTED
			FIRST ANSWER);
	is_number(db, "SELECT arrival_is FROM request", 0);
	db_close(db);
}

/*
 * A connection is accepted and read before its inode is known: the event with it follows the call,
 * of a protocol that was read, or not.
 */
static void a_connection_may_be_known_after_its_first_read(void **state)
{
	static const char *const names[] = { "requests=0", "name=1 requests=1" };
	char text[2000];
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		sqlite3 *db;

		snprintf(text, sizeof(text),
			 HOST
			 "101 0 request_name id=1 protocol=1 name=\"GET\"\n"
			 "300 0 connection sock=9 conn=3 family=2 side=1\n"
			 "300 0 segment conn=3 pos=0 len=10 unread=0\n"
			 "900 100 fd pid=100 fd=6 mode=0140000 ino=88 family=2 role=2 socktype=1"
			 " sport=80 dport=9\n"
			 "4000 100 syscall nr=read fd=6 dur=50 ret=10\n" ACCEPTED
			 "4000 100 head conn=3 pos=0 len=10 %s\n" ANSWER,
			 names[i]);
		db = loaded(text);
		is_number(db, ARRIVAL(1), 300);
		db_close(db);
	}
}

/* Absurd positions and lengths, and more pieces than are kept. */
static void absurd_segments_do_no_harm(void **state)
{
	sqlite3 *db =
		loaded(HOST "1000 0 segment conn=1 pos=0 len=4294967295 unread=4294967295\n"
			    "1001 0 segment conn=1 pos=2147483648 len=2147483648 gap=-2147483648\n"
			    "1002 0 segment conn=0 pos=5 len=5\n"
			    "1003 0 segment conn=1 pos=2000000000 len=5 gap=1000000000\n"
			    "1004 0 segment conn=1 pos=4000000000 len=1000000000 gap=1000000000\n"
			    "@times 3000 1 0\n1005 0 segment conn=1 pos=7 len=1 gap=3\n"
			    "9000 0 segment conn=1 pos=0 len=10 unread=0\n" //
		       READ(9500, 10) WRITE(9600, 5));

	(void)state;
	is_number(db, "SELECT count(*) FROM request", 1);
	db_close(db);
}

/* With switches: the queue is split by what the thread did, a first request's past is not known. */
static void the_queue_has_states(void **state)
{
	sqlite3 *db = loaded(
		"@recorder\n0 0 info text=\"targets=all\"\n"
		"1 0 info text=\"groups=core,syscalls,sched,requests\"\n"
		"2 100 thread pid=100 state=83 comm=\"server\"\n"
		"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 sport=80\n"
		"10 0 info text=\"begin=10\"\n90_000 0 info text=\"stopped=90000\"\n@cpu 0\n"
		"100 0 connection sock=7 ino=77 conn=1 family=2 side=1\n"
		"900 0 waking target=100\n900 0 switch next=100\n"
		"1000 0 segment conn=1 pos=0 len=10 unread=0\n" READ(1100, 10)
			WRITE(1500, 5) "2000 0 segment conn=1 pos=10 len=10 unread=0\n"
				       "2500 100 switch next=0 flags=1\n3500 0 switch next=100\n" //
		READ(4000, 10) WRITE(4500, 5));

	(void)state;
	is_number(db, "SELECT queued FROM request WHERE rowid=1", 100);
	is_number(db, "SELECT queued FROM request WHERE rowid=2", 2000);
	is_number(db, "SELECT dur FROM request_queue WHERE request=2 AND state=2", 1000);
	is_number(db, "SELECT total(dur) FROM request_queue WHERE request=2", 1000);
	db_close(db);
}

/* Segments without a position follow the one recorded last of their connection. */
static void segments_follow_each_other(void **state)
{
	sqlite3 *db = loaded(HOST "1000 0 segment conn=1 pos=4294967290 len=10 unread=0\n"
				  "1100 0 segment conn=2 pos=500 len=10 unread=0\n"
				  "1200 0 segment_next conn=1 len=20 unread=10\n" //
			     READ(5000, 10) WRITE(6000, 5) READ(7000, 20)
				     WRITE(8000, 5) "8500 0 segment_next conn=1 flags=4\n");

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 1200);
	is_number(db, "SELECT acked FROM request WHERE rowid=2", 500);
	db_close(db);
}

/* The one before is not in the recording: the place of what is unread is known with the next one.
 */
static void positions_count_from_the_first_segment(void **state)
{
	sqlite3 *db = loaded(HOST "1000 0 segment_next conn=1 len=10 unread=0\n"  //
			     READ(3000, 10) WRITE(3500, 5)			  //
			     "4000 0 segment_next conn=1 len=10 unread=0\n"	  //
			     "4500 0 segment conn=1 pos=70020 len=30 unread=10\n" //
			     READ(5000, 10) WRITE(6000, 5) READ(7000, 30) WRITE(8000, 5));

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 4000);
	is_number(db, ARRIVAL(3), 4500);
	db_close(db);
}

/* A head has the position of its receive. */
static void a_head_has_the_position(void **state)
{
	sqlite3 *db = loaded(
		HOST "1000 0 segment_next conn=1 len=20 unread=0\n"				 //
		     "3000 100 head conn=1 pos=5 len=10 first=0\n" READ(3000, 10) WRITE(3500, 5) //
		"3600 100 head conn=1 pos=15 len=10\n" READ(3600, 10)
			WRITE(3700, 5) "4500 0 segment_next conn=1 len=30 unread=0\n" //
				       "7000 100 head conn=1 pos=25 len=30\n" READ(7000, 30)
					       WRITE(8000, 5));

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 1000);
	is_number(db, ARRIVAL(3), 4500);
	db_close(db);
}

/*
 * The case that must differ: the segment came while the receive ran, which read what had come
 * before. Positions in heads do not count from the same start.
 */
static void a_segment_within_a_receive_places_nothing(void **state)
{
	sqlite3 *db =
		loaded(HOST "2999 0 segment_next conn=1 len=20 unread=0\n" //
			    "3000 100 head conn=1 pos=5 len=10\n" READ(3000, 10) WRITE(3500, 5));

	(void)state;
	is_number(db, "SELECT arrival_is FROM request WHERE rowid=1", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_ends_when_its_last_byte_leaves),
		cmocka_unit_test(each_request_has_its_arrival),
		cmocka_unit_test(without_segments_arrival_is_an_estimate),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(overlapping_segments_arrive_once),
		cmocka_unit_test(positions_wrap),
		cmocka_unit_test(segments_follow_each_other),
		cmocka_unit_test(positions_count_from_the_first_segment),
		cmocka_unit_test(a_head_has_the_position),
		cmocka_unit_test(a_segment_within_a_receive_places_nothing),
		cmocka_unit_test(a_segment_may_come_within_a_receive),
		cmocka_unit_test(bytes_may_be_read_unseen),
		cmocka_unit_test(bytes_from_before_have_no_arrival),
		cmocka_unit_test(numbers_may_be_used_again),
		cmocka_unit_test(the_first_bytes_may_open_the_connection),
		cmocka_unit_test(a_connection_may_be_known_after_its_first_read),
		cmocka_unit_test(absurd_segments_do_no_harm),
		cmocka_unit_test(the_queue_has_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
