// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_requests.c: what a server sends without being asked. */
#include "tests/lib/unit.h"

#include "format/buf.h"
#include "tests/lib/loaded.h"

/*
 * A connection of PostgreSQL: an answer, a receive that finds nothing, then a notification (sent
 * when another client notifies), and the next request.
 */
static sqlite3 *notified(int protocol, bool finds_nothing)
{
	struct text x = { 0 };

	text_line(&x, "@recorder\n0 0 info text=\"targets=all\"\n"
		      "1 0 info text=\"groups=core,syscalls,sched,requests\"\n"
		      "2 100 thread pid=100 state=83 comm=\"postgres\"\n"
		      "4 100 fd pid=100 fd=5 mode=0140000 ino=71 family=2 role=2 socktype=1"
		      " sport=5432 dport=9 daddr=10.0.0.1");
	text_line(&x, "4 0 request_name id=1 protocol=%d name=\"Query SELECT\"", protocol);
	text_line(&x, "10 0 info text=\"begin=10\"\n9_000_000 0 info text=\"stopped=9000000\"");
	text_line(&x, "@cpu 0\n100 0 connection sock=1 ino=71 conn=1 family=2 side=1\n"
		      "1_000 100 syscall nr=recvfrom fd=5 dur=1 ret=10\n"
		      "1_000 100 head conn=1 pos=10 len=10 name=1 requests=1\n"
		      "2_000 100 syscall nr=sendto fd=5 dur=1 ret=20");
	if (finds_nothing)
		text_line(&x, "2_100 100 syscall nr=recvfrom fd=5 dur=1 ret=-11");
	text_line(&x, "5_000_000 100 syscall nr=sendto fd=5 dur=1 ret=40\n"
		      "6_000_000 100 syscall nr=recvfrom fd=5 dur=1 ret=10\n"
		      "6_000_000 100 head conn=1 pos=20 len=10 name=1 requests=1\n"
		      "6_001_000 100 syscall nr=sendto fd=5 dur=1 ret=20");
	return loaded_buf(&x.b);
}

static void a_notification_is_of_no_request(void **state)
{
	sqlite3 *db = notified(6, true);

	(void)state;
	is_number(db, "SELECT count(*) FROM request", 2);
	is_number(db, "SELECT max(dur) FROM request", 1000);
	is_number(db, "SELECT max(send_bytes) FROM request", 20);
	db_close(db);
	/* what only seems so: rows that follow later; a server that receives next to its answer */
	db = notified(6, false);
	is_number(db, "SELECT max(dur) FROM request", 5000000 - 1000);
	db_close(db);
	db = notified(1, true);
	is_number(db, "SELECT max(dur) FROM request", 5000000 - 1000);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_notification_is_of_no_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
