// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_arrivals.c: which datagram, or part of a stream, a receive gets. */
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

/* Process 100: fd 5 is a UDP socket on port 53, fd 6 an accepted Unix socket. */
#define HOST                                                                                          \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,requests\"\n" \
	"2 100 thread pid=100 state=83 comm=\"server\"\n"                                             \
	"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=4 socktype=2 sport=53\n"             \
	"3 100 fd pid=100 fd=6 mode=0140000 ino=78 family=1 role=2 socktype=1\n"                      \
	"10 0 info text=\"begin=10\"\n90_000 0 info text=\"stopped=90000\"\n@cpu 0\n"                 \
	"100 0 connection sock=7 ino=77 conn=1 family=2 sport=53 side=1\n"                            \
	"101 0 connection sock=8 ino=78 conn=2 family=1 side=1\n"
#define READY(ts, conn, n, waiting) #ts " 0 ready conn=" #conn " len=" #n " queued=" #waiting "\n"
#define RECV(ts, fd, n)		    #ts " 100 syscall nr=recvfrom fd=" #fd " dur=50 ret=" #n "\n"
#define SEND(ts, fd, n)		    #ts " 100 syscall nr=sendto fd=" #fd " dur=50 ret=" #n "\n"

#define ARRIVAL(row) "SELECT ts - queued + 10 FROM request WHERE arrival_is=1 AND rowid=" #row
#define ESTIMATES    "SELECT count(*) FROM request WHERE arrival_is=0"

static void datagrams_are_read_in_order(void **state)
{
	sqlite3 *db = loaded(HOST READY(1000, 1, 30, 1) READY(2000, 1, 40, 2) READY(2500, 1, 40, 3)
				     RECV(5000, 5, 30) SEND(6000, 5, 9) RECV(7000, 5, 40)
					     SEND(8000, 5, 9) RECV(9000, 5, 40) SEND(10000, 5, 9));

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 2000);
	is_number(db, ARRIVAL(3), 2500);
	is_number(db, "SELECT queued + dur FROM request WHERE rowid=2", 6000);
	db_close(db);
}

/* Two were read before the recording's first arrival; one more is dropped unread. */
static void what_waits_says_what_was_read(void **state)
{
	sqlite3 *db =
		loaded(HOST READY(1000, 1, 30, 2) RECV(2000, 5, 40) SEND(2500, 5, 9)
			       RECV(3000, 5, 30) SEND(3500, 5, 9) READY(4000, 1, 30, 1)
				       READY(5000, 1, 30, 1) RECV(6000, 5, 30) SEND(6500, 5, 9));

	(void)state;
	is_number(db, ESTIMATES, 1);
	is_number(db, ARRIVAL(2), 1000);
	is_number(db, ARRIVAL(3), 5000);
	db_close(db);
}

/* A receive that took the first is recorded after the second arrived, with none waiting but that.
 */
static void a_receive_that_runs_keeps_its_datagram(void **state)
{
	sqlite3 *db = loaded(HOST READY(1000, 1, 30, 1) READY(1990, 1, 30, 1) RECV(2000, 5, 30)
				     SEND(2500, 5, 9) RECV(3000, 5, 30) SEND(3500, 5, 9));

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 1990);
	db_close(db);
}

/* Two parts in one receive, then one part in two; the rest of a part has its arrival. */
static void bytes_of_a_stream_are_read_in_order(void **state)
{
	sqlite3 *db = loaded(HOST READY(1000, 2, 100, 1) READY(1100, 2, 50, 2) RECV(2000, 6, 150)
				     SEND(2500, 6, 9) READY(3000, 2, 80, 1) RECV(3100, 6, 30)
					     SEND(3200, 6, 9) RECV(3300, 6, 50) SEND(3400, 6, 9));

	(void)state;
	is_number(db, ARRIVAL(1), 1000);
	is_number(db, ARRIVAL(2), 3000);
	is_number(db, ARRIVAL(3), 3000);
	db_close(db);
}

/* The reader was faster than the event: its length is not known, its arrival an estimate. */
static void a_part_that_was_read_before_its_event_is_no_later_one(void **state)
{
	sqlite3 *db = loaded(HOST RECV(1990, 6, 100) READY(2000, 2, 0, 0) SEND(2500, 6, 9)
				     READY(3000, 2, 80, 1) RECV(3100, 6, 80) SEND(3200, 6, 9));

	(void)state;
	is_number(db, ESTIMATES, 1);
	is_number(db, ARRIVAL(2), 3000);
	db_close(db);
}

/* More than are kept, and numbers that no kernel has. */
static void many_that_wait_are_bounded(void **state)
{
	static char text[200000];
	sqlite3 *db;
	int n = snprintf(text, sizeof(text), "%s", HOST), i;

	(void)state;
	for (i = 1; i <= 100; i++)
		n += snprintf(text + n, sizeof(text) - n, "%d 0 ready conn=1 len=30 queued=%d\n",
			      1000 + i, i);
	for (i = 1; i <= 100; i++)
		n += snprintf(text + n, sizeof(text) - n,
			      "%d 100 syscall nr=recvfrom fd=5 dur=5 ret=30\n"
			      "%d 100 syscall nr=sendto fd=5 dur=5 ret=9\n",
			      2000 + 100 * i, 2050 + 100 * i);
	snprintf(text + n, sizeof(text) - n,
		 "20000 0 ready conn=1 len=1 queued=4294967295\n20001 0 ready conn=1 len=1"
		 " queued=4294967295\n20002 0 ready conn=1 len=1 queued=0\n" RECV(21000, 5, 30)
			 SEND(22000, 5, 9));
	db = loaded(text);
	is_number(db, ARRIVAL(100), 1100);
	is_number(db, ARRIVAL(37), 1037);
	is_number(db, ESTIMATES, 36 + 1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(datagrams_are_read_in_order),
		T(what_waits_says_what_was_read),
		T(a_receive_that_runs_keeps_its_datagram),
		T(bytes_of_a_stream_are_read_in_order),
		T(a_part_that_was_read_before_its_event_is_no_later_one),
		T(many_that_wait_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
