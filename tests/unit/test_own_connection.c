// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_requests.c: what a server asks itself is no request of a client. */
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

/* Process 100 listens on port 80; fd 5 is a connection from port 4000 of its own host. */
#define HOST                                                                                          \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,requests\"\n" \
	"2 100 thread pid=100 state=83 comm=\"server\"\n2 200 thread pid=200 state=83 comm=\"c\"\n"   \
	"3 100 fd pid=100 fd=5 mode=0140000 ino=75 family=2 role=2 socktype=1 sport=80"               \
	" dport=4000 saddr=127.0.0.1 daddr=127.0.0.1\n"
#define CONNECTED(pid, sport, dport)                                                     \
	"3 " #pid " fd pid=" #pid " fd=6 mode=0140000 ino=76 family=2 role=3 socktype=1" \
	" sport=" #sport " dport=" #dport " saddr=127.0.0.1 daddr=127.0.0.1\n"
#define CLIENT                                                                          \
	"3 100 fd pid=100 fd=7 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80" \
	" dport=4001 saddr=127.0.0.1 daddr=127.0.0.1\n"
#define BEGIN "10 0 info text=\"begin=10\"\n900_000 0 info text=\"stopped=900000\"\n@cpu 0\n"
#define ASKS(ts, fd)                                                 \
#ts "000 100 syscall nr=read fd=" #fd " dur=50 ret=30\n" #ts \
	    "500 100 syscall nr=write fd=" #fd " dur=50 ret=9\n"
#define LEFT(ts, fd) #ts "000 100 syscall nr=read fd=" #fd " dur=50 ret=30\n"

static void requests_are(const char *text, const char *fds)
{
	sqlite3 *db = loaded(text);

	is_text(db, "SELECT group_concat(fd) FROM (SELECT fd FROM request ORDER BY ts)", fds);
	db_close(db);
}

static void what_it_asks_itself_is_none(void **state)
{
	sqlite3 *db;

	(void)state;
	requests_are(HOST CONNECTED(100, 4000, 80) CLIENT BEGIN ASKS(20, 7) ASKS(30, 5) ASKS(40, 7)
			     ASKS(50, 5),
		     "7,7");
	/* nor is it one that waits */
	db = loaded(HOST CONNECTED(100, 4000, 80) CLIENT BEGIN ASKS(20, 7) LEFT(30, 5) LEFT(40, 7));
	is_text(db, "SELECT group_concat(fd) FROM unanswered", "7");
	db_close(db);
}

/* The other end is no other server: it asks before it accepts, and then. */
#define QUESTIONS                                                                     \
	"18000 100 syscall nr=write fd=6 dur=50 ret=30\n" ASKS(                       \
		30, 5) "31000 100 syscall nr=read fd=6 dur=50 ret=9\n"                \
		       "35000 100 syscall nr=write fd=6 dur=50 ret=30\n" ASKS(        \
			       40, 5) "41000 100 syscall nr=read fd=6 dur=50 ret=9\n" \
				      "45000 100 syscall nr=write fd=6 dur=50 ret=30\n"

static void asks(const char *text, int upstream, int unanswered)
{
	sqlite3 *db = loaded(text);

	is_number(db, "SELECT count(*) FROM upstream", upstream);
	is_number(db, "SELECT count(*) FROM upstream_unanswered", unanswered);
	db_close(db);
}

static void it_is_no_upstream_of_itself(void **state)
{
	(void)state;
	asks(HOST CONNECTED(100, 4000, 80) CLIENT BEGIN QUESTIONS, 0, 0);
	asks(HOST CONNECTED(100, 4002, 80) CLIENT BEGIN QUESTIONS, 2, 1);
}

static void others_are_clients(void **state)
{
	(void)state;
	/* of another process; another connection of its own; without other clients */
	requests_are(HOST CONNECTED(200, 4000, 80) CLIENT BEGIN ASKS(20, 7) ASKS(30, 5), "7,5");
	requests_are(HOST CONNECTED(100, 4002, 80) CLIENT BEGIN ASKS(20, 7) ASKS(30, 5), "7,5");
	requests_are(HOST CONNECTED(100, 4000, 81) CLIENT BEGIN ASKS(20, 7) ASKS(30, 5), "7,5");
	requests_are(HOST CONNECTED(100, 4000, 80) BEGIN ASKS(20, 5) ASKS(30, 5), "5,5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_it_asks_itself_is_none),
		T(it_is_no_upstream_of_itself),
		T(others_are_clients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
