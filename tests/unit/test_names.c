// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_names.c: names of requests, how many a receive holds, errors. */
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdio.h>

#define HOST                                                                                             \
	"@recorder\n0 0 info text=\"targets=all\"\n"                                                     \
	"1 0 info text=\"groups=core,syscalls,sched,requests\"\n"                                        \
	"2 100 thread pid=100 state=83 comm=\"server\"\n"                                                \
	"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80 dport=9\n"        \
	"3 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=2 socktype=1 sport=80 dport=8\n"        \
	"4 0 request_name id=1 protocol=4 name=\"GET\"\n4 0 request_name id=2 protocol=4 name=\"SET\"\n" \
	"4 0 request_name id=3 protocol=8 name=\"TLS\"\n4 0 request_name id=1 protocol=4 name=\"X\"\n"   \
	"10 0 info text=\"begin=10\"\n90_000 0 info text=\"stopped=90000\"\n@cpu 0\n"                    \
	"100 0 connection sock=7 ino=77 conn=1 family=2 sport=80 dport=9 side=1\n"                       \
	"101 0 connection sock=8 ino=78 conn=2 family=2 sport=80 dport=8 side=1\n"                       \
	"900 0 waking target=100\n900 0 switch next=100\n"
#define READ(ts, fd, n)	   #ts " 100 syscall nr=read fd=" #fd " dur=50 ret=" #n "\n"
#define WRITE(ts, fd, n)   #ts " 100 syscall nr=write fd=" #fd " dur=50 ret=" #n "\n"
#define STAT(column, name) "SELECT " #column " FROM request_stat WHERE name=" #name

/* Three GET and two SET in one receive, the SET 100 later; heads after their call, or before. */
static void requests_of_one_receive_are_counted(void **state)
{
	static const char after[] = HOST
		"1000 0 segment conn=1 pos=0 len=30\n1100 0 segment conn=1 pos=30 len=20 unread=30\n" READ(
			2000, 5,
			50) "2000 100 head conn=1 pos=0 len=50 name=1 requests=3 flags=2\n"
			    "2000 100 head_more conn=1 pos=30 name=2 requests=2\n" WRITE(3000, 5, 9)
				    READ(4000, 5, 10) "4000 100 head conn=1 pos=50 len=10 name=1 requests=1\n" WRITE(
					    5000, 5, 9);
	static const char before[] = HOST
		"1000 0 segment conn=1 pos=0 len=30\n1100 0 segment conn=1 pos=30 len=20 unread=30\n"
		"2000 100 head conn=1 pos=0 len=50 name=1 requests=3 flags=2\n"
		"2000 100 head_more conn=1 pos=30 name=2 requests=2\n" READ(2000, 5, 50)
			WRITE(3000, 5,
			      9) "4000 100 head conn=1 pos=50 len=10 name=1 requests=1\n" READ(4000,
											       5,
											       10)
				WRITE(5000, 5, 9);
	const char *const both[] = { after, before };
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		sqlite3 *db = loaded(both[i]);

		is_number(db, "SELECT requests FROM request WHERE rowid=1", 5);
		is_number(db, "SELECT name FROM request WHERE rowid=1", 1);
		is_number(db, "SELECT received FROM service", 6);
		is_number(db, "SELECT unnamed FROM service", 0);
		is_number(db, "SELECT sum(received) FROM request_window", 6);
		is_number(db, STAT(requests, 1), 4);
		is_number(db, STAT(requests, 2), 2);
		is_number(db, STAT(max, 1), 2000);
		is_number(db, STAT(max, 2), 1900);
		is_number(db, STAT(latency, 2), 3800);
		is_number(db, "SELECT sum(n) FROM latency WHERE kind='name' AND item=1", 4);
		is_number(db, "SELECT count(*) FROM request_name", 3);
		db_close(db);
	}
}

/* A command without an answer comes before a request, or while one waits for its answer. */
static void a_command_without_an_answer_is_no_request(void **state)
{
	static const char first[] =
		HOST READ(2000, 5, 20) "2000 100 head conn=1 pos=0 len=20 flags=%d\n" READ(
			4000, 5,
			10) "4000 100 head conn=1 pos=20 len=10 name=1 requests=1\n" WRITE(5000, 5,
											   9);
	static const char within[] =
		HOST "2000 100 head conn=1 pos=0 len=10 name=1 requests=1\n" READ(2000, 5, 10)
			READ(4000, 5,
			     20) "4000 100 head conn=1 pos=10 len=20 flags=16\n" WRITE(5000, 5, 9);
	char text[sizeof(first) + 16];
	sqlite3 *db;
	int quiet;

	(void)state;
	for (quiet = 0; quiet < 2; quiet++) {
		snprintf(text, sizeof(text), first, quiet ? 16 : 0);
		db = loaded(text);
		is_number(db, "SELECT count(*) FROM request", 1);
		is_number(db, "SELECT dur FROM request", quiet ? 1000 : 3000);
		is_number(db, "SELECT recvs FROM request", quiet ? 1 : 2);
		db_close(db);
	}
	db = loaded(within);
	is_number(db, "SELECT count(*) FROM request", 1);
	is_number(db, "SELECT dur FROM request", 3000);
	db_close(db);
}

/*
 * Three GET and two SET are answered by one send: the 2nd and 3rd and the 5th answer are errors.
 * The next exchange is answered by two sends: of its second one the names are not known.
 */
static void errors_count_for_the_name_that_they_answer(void **state)
{
	sqlite3 *db = loaded(HOST READ(
		2000, 5,
		50) "2000 100 head conn=1 pos=0 len=50 name=1 requests=3 flags=2\n"
		    "2000 100 head_more conn=1 pos=30 name=2 requests=2\n" WRITE(
			    3000, 5,
			    90) "3000 100 answer conn=1 pos=0 len=90 status=0 protocol=4 flags=2\n"
				"3000 100 answer_more conn=1 first=1 errors=2 status=1 protocol=4 code=\"ERR\"\n"
				"3000 100 answer_more conn=1 first=4 errors=1 status=1 protocol=4 code=\"WRONGTYPE\"\n" READ(
					4000, 5,
					50) "4000 100 head conn=1 pos=50 len=50 name=2 requests=1 flags=2\n"
					    "4000 100 head_more conn=1 pos=80 name=1 requests=1\n"
					    "5000 100 answer conn=1 pos=90 len=9 status=1 protocol=4 flags=2 code=\"ERR\"\n" WRITE(
						    5000, 5,
						    9) "6000 100 answer conn=1 pos=99 len=9 status=1 protocol=4 flags=2 code=\"ERR\"\n" WRITE(6000,
																	      5,
																	      9));

	(void)state;
	is_number(db, STAT(errors, 1), 2);
	is_number(db, STAT(errors, 2), 2);
	is_number(db, STAT(errors, 0), 1);
	is_number(db, "SELECT errors FROM request WHERE rowid=1", 3);
	is_number(db, "SELECT errors FROM request WHERE rowid=2", 2);
	is_number(db, "SELECT count(*) FROM request_error WHERE name IS NULL", 1);
	is_number(db,
		  "SELECT count(*) FROM request_error e JOIN request_code c ON c.id=e.code WHERE"
		  " c.code='WRONGTYPE' AND e.name=2",
		  1);
	is_number(db, "SELECT count(*) FROM request_error", 5);
	db_close(db);
}

/* HTTP/2: in any order, and in sends after the first. */
static void errors_count_for_the_name_that_was_recorded(void **state)
{
	sqlite3 *db = loaded(HOST READ(
		2000, 5,
		50) "2000 100 head conn=1 pos=0 len=50 name=1 requests=1 flags=2\n"
		    "2000 100 head_more conn=1 pos=30 name=2 requests=1\n" WRITE(
			    3000, 5,
			    9) "4000 100 answer conn=1 pos=9 len=9 protocol=2 flags=2\n"
			       "4000 100 answer_more conn=1 errors=1 status=503 protocol=2 name=2\n" WRITE(
				       4000, 5, 9));

	(void)state;
	is_number(db, STAT(errors, 1), 0);
	is_number(db, STAT(errors, 2), 1);
	db_close(db);
}

/* A number that no bytes can hold is bounded. */
static void errors_of_one_record_are_bounded(void **state)
{
	sqlite3 *db = loaded(
		HOST READ(2000, 5, 50) "2000 100 head conn=1 pos=0 len=50 name=1 requests=3\n" WRITE(
			3000, 5,
			90) "3000 100 answer conn=1 pos=0 len=90\n"
			    "3000 100 answer_more conn=1 first=4294967295 errors=4294967295 status=1 protocol=4\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM request_error", 2048);
	db_close(db);
}

/* The first bytes are the rest of an earlier request: arrival is that of the request's own. */
static void a_request_begins_within_a_receive(void **state)
{
	sqlite3 *db = loaded(
		HOST
		"1000 0 segment conn=1 pos=0 len=30\n1500 0 segment conn=1 pos=30 len=20 unread=30\n" READ(
			2000, 5,
			50) "2000 100 head conn=1 pos=0 len=50 first=30 name=1 requests=1\n" WRITE(3000,
												   5,
												   9));

	(void)state;
	is_number(db, "SELECT ts - queued + 10 FROM request", 1500);
	db_close(db);
}

/* Look-alikes: a receive that continues a request; one that cannot be read; an id without name. */
static void requests_without_name_count_separately(void **state)
{
	sqlite3 *db = loaded(
		HOST READ(2000, 5, 50) "2000 100 head conn=1 pos=0 len=50 name=1 requests=1\n" READ(
			2500, 5, 50) "2500 100 head conn=1 pos=50 len=50 requests=0\n" WRITE(3000,
											     5, 9)
			READ(4000, 6,
			     10) "4000 100 head conn=2 pos=0 len=10 name=3 requests=0\n" WRITE(5000,
											       6, 9)
				READ(6000, 6, 10) "6000 100 head conn=2 pos=10 len=10 name=9 requests=1\n" WRITE(
					7000, 6, 9) READ(8000, 6, 10) WRITE(9000, 6, 9)
					READ(9100, 5, 10) WRITE(9200, 5, 9));

	(void)state;
	is_number(db, "SELECT received FROM service", 2);
	is_number(db, "SELECT unnamed FROM service", 3);
	is_number(db, STAT(exchanges, 1), 1);
	is_number(db, STAT(recv_bytes, 1), 100);
	is_number(db, STAT(exchanges, 3), 2); /* also one of which nothing was read */
	is_number(db, STAT(requests, 3), 0);
	is_number(db, STAT(exchanges, 0), 1);
	is_number(db, STAT(exchanges, 9), 1);
	db_close(db);
}

/* What is known of a connection before its descriptor, and before the name. */
static void encrypted_connections_are_known_early(void **state)
{
	sqlite3 *db =
		loaded(HOST "200 100 head conn=2 pos=0 len=5 name=7 requests=0\n"
			    "300 0 request_name id=7 protocol=8 name=\"TLS\"\n" READ(4000, 6, 10)
				    WRITE(5000, 6, 9) READ(6000, 5, 10) WRITE(7000, 5, 9));

	(void)state;
	is_number(db, STAT(exchanges, 7), 1);
	is_number(db, STAT(exchanges, 0), 1);
	is_number(db, "SELECT count(*) FROM request WHERE name=7 AND fd=6", 1);
	db_close(db);
}

#define LAST_SEND "SELECT ts + dur FROM request WHERE fd=6"

/* The alert by which TLS closes an idle connection is no part of the last answer. */
static void an_alert_of_tls_is_no_answer(void **state)
{
	static const char *const cases[] = {
		WRITE(9000, 6, 31) "9100 100 syscall nr=close fd=6\n",
		WRITE(9000, 6, 1000),			 /* the rest of the answer */
		WRITE(8000, 6, 24) WRITE(9000, 6, 1000), /* so is what was before it */
	};
	static const int last[] = { 4990, 8990, 8990 };
	char text[2000];
	sqlite3 *db;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%s%s%s",
			 HOST "200 100 head conn=2 pos=0 len=5 name=7 requests=0\n"
			      "300 0 request_name id=7 protocol=8 name=\"TLS\"\n",
			 READ(4000, 6, 10) WRITE(5000, 6, 178), cases[i]);
		db = loaded(text);
		is_number(db, LAST_SEND, last[i]);
		db_close(db);
	}
	/* of text, it is an answer */
	db = loaded(HOST READ(4000, 5, 10) WRITE(5000, 5, 178) WRITE(9000, 5, 31));
	is_number(db, "SELECT ts + dur FROM request WHERE fd=5", 8990);
	db_close(db);
}

/*
 * The events of names come up to a second after heads that have them. A head with a name but no
 * requests is one of TLS; one without a name says nothing.
 */
static void a_handshake_is_named_before_its_name_is_known(void **state)
{
	sqlite3 *db = loaded(
		HOST READ(1000, 6, 5) "1000 100 head conn=2 pos=0 len=5 name=7 requests=0\n" READ(
			1100, 6,
			200) "1100 100 head conn=2 pos=5 len=200 name=8 requests=0\n" WRITE(1200, 6,
											    9)
			READ(2000, 6,
			     80) "2000 100 head conn=2 pos=205 len=80 name=8 requests=0\n" WRITE(2200,
												 6,
												 9)
				READ(3000, 5, 10) "3000 100 head conn=1 pos=0 len=10\n" WRITE(
					3200, 5,
					9) "3300 0 request_name id=7 protocol=10 name=\"TLS handshake\"\n"
					   "3300 0 request_name id=8 protocol=8 name=\"encrypted\"\n" READ(
						   4000, 6, 10) WRITE(5000, 6, 9));

	(void)state;
	is_number(db, STAT(exchanges, 7), 1);
	is_number(db, STAT(exchanges, 8), 2);
	is_number(db, STAT(exchanges, 0), 1);
	is_number(db, "SELECT name FROM request WHERE rowid=1", 7);
	is_number(db, "SELECT count(*) FROM request WHERE name IS NULL AND fd=5", 1);
	is_number(db, "SELECT sum(requests) FROM request", 0);
	db_close(db);
}

/*
 * One request, answered by two sends: the second starts within the array, as if with an error. An
 * error in the first counts, and in the first of the next one.
 */
static void the_rest_of_an_answer_is_no_error(void **state)
{
	sqlite3 *db = loaded(
		HOST READ(2000, 5,
			  50) "2000 100 head conn=1 pos=0 len=50 name=1 requests=1\n" WRITE(3000, 5,
											    90)
			WRITE(4000, 5,
			      90) "4000 100 answer conn=1 pos=90 len=90 status=1 protocol=4"
				  " flags=1 code=\"82137\"\n" READ(
					  5000, 5, 50) "5000 100 head conn=1"
						       " pos=50 len=50 name=2"
						       " requests=1\n"
						       "6000 100 answer conn=1"
						       " pos=180 len=9"
						       " status=1 protocol=4"
						       " code=\"ERR\"\n" WRITE(6000, 5, 9));

	(void)state;
	is_number(db, STAT(errors, 1), 0);
	is_number(db, STAT(errors, 2), 1);
	db_close(db);
}

static void errors_are_counted_by_name(void **state)
{
	sqlite3 *db = loaded(
		HOST READ(2000, 5, 50) "2000 100 head conn=1 pos=0 len=50 name=1 requests=1\n" WRITE(3000, 5, 9) "3000 100 answer conn=1 pos=0 len=9 status=1 protocol=4 code=\"WRONGTYPE\"\n" READ(
			4000, 5,
			50) "4000 100 head conn=1 pos=50 len=50 name=2 requests=1\n"
			    "5000 100 answer conn=1 pos=9 len=9 status=1 protocol=4 code=\"WRONGTYPE\"\n" WRITE(
				    5000, 5,
				    9) "5000 100 answer conn=1 pos=9 len=9 status=0 protocol=4\n");

	(void)state;
	is_number(db, STAT(errors, 1), 1);
	is_number(db, STAT(errors, 2), 1);
	is_number(db, "SELECT sum(errors) FROM request", 2);
	is_text(db,
		"SELECT request_code.code FROM request_code JOIN request_error e ON e.code=request_code.id"
		" WHERE name=2",
		"WRONGTYPE");
	is_number(db, "SELECT count(*) FROM request_code", 1);
	db_close(db);
}

/* The time on a CPU after a receive belongs to its name, up to the next receive or poll. */
static void names_pay_for_their_cpu_time(void **state)
{
	sqlite3 *db = loaded(
		HOST READ(2000, 5, 50) "2000 100 head conn=1 pos=0 len=50 name=1 requests=1\n" READ(
			5050, 6,
			50) "5050 100 head conn=2 pos=0 len=50 name=2 requests=1\n" WRITE(5200, 5,
											  9)
			WRITE(5300, 6,
			      9) "6000 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=100 ret=1\n");

	(void)state;
	is_number(db, STAT(cpu, 1), 3000 + 50); /* the first receive is not known */
	is_number(db, STAT(cpu, 2), 50 + 100 + 50 + 50 + 600);
	db_close(db);
}

/* What a replica reports to a process that sends it a log; not what others receive without a name.
 */
static void reports_of_a_replica_have_a_name(void **state)
{
	static const struct {
		const char *title;
		int n;
	} cases[] = {
		{ "postgres: walsender repl 10.0.0.9(9) streaming 0/3", 1 },
		{ "postgres: 15/main: walsender repl 10.0.0.9(9) streaming 0/3", 1 },
		{ "postgres: wal sender process repl 10.0.0.9(9) streaming 0/3", 1 },
		{ "postgres: repl walsender 10.0.0.9(9) idle", 0 },
		{ "worker: walsender of /srv", 0 },
	};
	static const char reads[] = READ(2000, 5, 39) WRITE(3000, 5, 206) READ(4000, 5, 39);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = { 0 };
		struct err e = { 0 };
		sqlite3 *db;

		buf_printf(&b, &e,
			   HOST "@recorder\n20 100 thread pid=100 state=83 comm=\"server\""
				" cmdline=\"%s\"\n@cpu 0\n%s",
			   cases[i].title, reads);
		db = loaded_buf(&b);
		is_number(db, "SELECT count(*) FROM request", 1);
		is_number(db, "SELECT count(*) FROM request_name WHERE name='Replication'",
			  cases[i].n);
		is_number(db,
			  "SELECT count(*) FROM request r JOIN request_name n ON n.id=r.name AND"
			  " awaits(n.protocol, n.name)",
			  cases[i].n);
		is_number(db,
			  "SELECT count(*) FROM unanswered u JOIN request_name n ON n.id=u.name AND"
			  " awaits(n.protocol, n.name)",
			  cases[i].n);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_without_an_answer_is_no_request),
		cmocka_unit_test(errors_count_for_the_name_that_they_answer),
		cmocka_unit_test(errors_count_for_the_name_that_was_recorded),
		cmocka_unit_test(errors_of_one_record_are_bounded),
		cmocka_unit_test(requests_of_one_receive_are_counted),
		cmocka_unit_test(a_request_begins_within_a_receive),
		cmocka_unit_test(requests_without_name_count_separately),
		cmocka_unit_test(encrypted_connections_are_known_early),
		cmocka_unit_test(an_alert_of_tls_is_no_answer),
		cmocka_unit_test(a_handshake_is_named_before_its_name_is_known),
		cmocka_unit_test(errors_are_counted_by_name),
		cmocka_unit_test(the_rest_of_an_answer_is_no_error),
		cmocka_unit_test(names_pay_for_their_cpu_time),
		cmocka_unit_test(reports_of_a_replica_have_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
