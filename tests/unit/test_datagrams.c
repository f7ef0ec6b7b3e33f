// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/track_datagrams.c: which datagram an answer belongs to. */
#include "analyze/replay/requests/dns.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdio.h>

/* Process 100: fd 5 is a UDP socket on port 53. */
#define HOST                                                                                          \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,requests\"\n" \
	"2 100 thread pid=100 state=83 comm=\"server\"\n3 101 thread pid=100 state=83\n"              \
	"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=4 socktype=2 sport=53\n"             \
	"10 0 info text=\"begin=10\"\n900_000 0 info text=\"stopped=900000\"\n@cpu 0\n"
#define PEER(ts, tid, address, port) \
#ts " " #tid " datagram daddr=10.0.0." #address " family=2 dport=" #port "\n"
#define CALL(ts, tid, nr, n)	     #ts " " #tid " syscall nr=" #nr " fd=5 dur=50 ret=" #n "\n"
#define RECV(ts, tid, address, port) PEER(ts, tid, address, port) CALL(ts, tid, recvfrom, 30)
#define SEND(ts, tid, address, port) PEER(ts, tid, address, port) CALL(ts, tid, sendto, 9)

#define ROWS                                                                                        \
	"SELECT group_concat(c.address || ' ' || q.dur, ', ') FROM (SELECT * FROM request ORDER BY" \
	" ts) q LEFT JOIN client c ON c.id=q.client"
#define OPEN "SELECT group_concat(ts) FROM (SELECT ts + 10 AS ts FROM unanswered ORDER BY ts)"

static void rows_are(const char *text, const char *rows, const char *open)
{
	sqlite3 *db = loaded(text);

	if (rows)
		is_text(db, ROWS, rows);
	else
		is_number(db, "SELECT count(*) FROM request", 0);
	if (open)
		is_text(db, OPEN, open);
	else
		is_number(db, "SELECT count(*) FROM unanswered", 0);
	db_close(db);
}

static void answers_go_to_their_clients(void **state)
{
	(void)state;
	/* in another order, by another thread, from one address with two ports */
	rows_are(HOST RECV(1000, 100, 1, 7) RECV(2000, 100, 2, 7) RECV(2500, 100, 1, 8)
			 SEND(3000, 101, 2, 7) SEND(5000, 101, 1, 8) SEND(9000, 100, 1, 7),
		 "10.0.0.1 8000, 10.0.0.2 1000, 10.0.0.1 2500", NULL);
	/* two of one port: the last one, as the first may have been dropped */
	rows_are(HOST RECV(1000, 100, 1, 7) RECV(1500, 100, 1, 7) SEND(3000, 100, 1, 7)
			 SEND(4000, 100, 1, 7),
		 "10.0.0.1 3000, 10.0.0.1 1500", NULL);
	rows_are(HOST RECV(1000, 100, 1, 7) RECV(7000, 100, 1, 7) SEND(8000, 100, 1, 7)
			 RECV(9000, 100, 1, 7) SEND(9500, 100, 1, 7),
		 "10.0.0.1 1000, 10.0.0.1 500", NULL);
}

static void what_is_no_request_is_none(void **state)
{
	(void)state;
	/* looks at what has arrived; an answer to nothing, and a second part of one */
	rows_are(HOST CALL(900, 100, recvfrom, 4) RECV(1000, 100, 1, 7) CALL(1200, 100, recvfrom, 4)
			 SEND(1500, 100, 9, 7) SEND(3000, 100, 1, 7) SEND(4000, 100, 1, 7),
		 "10.0.0.1 2000", NULL);
	/* the first of these never gets an answer, the last does not yet */
	rows_are(HOST RECV(1000, 100, 3, 7) RECV(2000, 100, 1, 7) SEND(3000, 100, 1, 7)
			 RECV(4000, 100, 2, 7),
		 "10.0.0.1 1000", "4000");
}

/* A peer that is sent what it did not ask for: it answers, or gets many datagrams for one. */
static void peers_that_are_no_clients(void **state)
{
	(void)state;
	/* asked: its answer is no request, which the next question would answer */
	rows_are(HOST SEND(1000, 100, 1, 7) RECV(2000, 100, 1, 7) SEND(9000, 100, 1, 7)
			 RECV(9500, 100, 1, 7),
		 NULL, NULL);
	/* an answer of three, and acknowledgements */
	rows_are(HOST RECV(1000, 100, 1, 7) SEND(2000, 100, 1, 7) SEND(2100, 100, 1, 7)
			 SEND(2200, 100, 1, 7) RECV(3000, 100, 1, 7) RECV(80000, 100, 1, 7)
				 SEND(81000, 100, 1, 7) SEND(82000, 100, 1, 7),
		 "10.0.0.1 1000", NULL);
	/* the answer to one from before the recording, to a client; one that went out twice */
	rows_are(HOST SEND(1000, 100, 1, 40000) RECV(2000, 100, 1, 40000) SEND(3000, 100, 1, 40000)
			 SEND(4000, 100, 1, 40000) RECV(5000, 100, 1, 40000)
				 SEND(7000, 100, 1, 40000),
		 "10.0.0.1 1000, 10.0.0.1 2000", NULL);
	/* many of them are for one message */
	rows_are(HOST RECV(2000, 100, 1, 40000) SEND(3000, 100, 1, 40000) SEND(4000, 100, 1, 40000)
			 SEND(5000, 100, 1, 40000) RECV(6000, 100, 1, 40000)
				 SEND(90000, 100, 1, 40000),
		 "10.0.0.1 1000", NULL);
}

/* Clients have ports of every kind: SIP, SNMP, forwarders. */
static void clients_with_low_ports(void **state)
{
	(void)state;
	/* the answer to one from before the recording */
	rows_are(HOST SEND(1000, 100, 1, 5060) RECV(2000, 100, 1, 5060) SEND(3000, 100, 1, 5060)
			 RECV(5000, 100, 1, 5060) SEND(7000, 100, 1, 5060),
		 "10.0.0.1 1000, 10.0.0.1 2000", NULL);
	/* who sent first and is answered twice */
	rows_are(HOST RECV(1000, 100, 1, 7) SEND(2000, 100, 1, 7) SEND(2500, 100, 1, 7)
			 RECV(3000, 100, 1, 7) SEND(5000, 100, 1, 7),
		 "10.0.0.1 1000, 10.0.0.1 2000", NULL);
	/* three questions, before it sends anything */
	rows_are(HOST SEND(1000, 100, 1, 5060) SEND(1500, 100, 1, 5060) SEND(1600, 100, 1, 5060)
			 RECV(2000, 100, 1, 5060) SEND(3000, 100, 1, 5060) RECV(5000, 100, 1, 5060)
				 SEND(7000, 100, 1, 5060),
		 NULL, NULL);
}

/* Several under way from one port: those that stay are not answered by what comes much later. */
static void what_stays_is_forgotten(void **state)
{
	(void)state;
	rows_are(HOST RECV(1000, 100, 1, 7) RECV(2000, 100, 1, 7) SEND(3000, 100, 1, 7)
			 RECV(4000, 100, 1, 7) SEND(5000, 100, 1, 7) RECV(6000, 100, 1, 7)
				 SEND(7000, 100, 1, 7) SEND(90000, 100, 1, 7) RECV(91000, 100, 1, 7)
					 SEND(92000, 100, 1, 7),
		 "10.0.0.1 1000, 10.0.0.1 1000, 10.0.0.1 1000, 10.0.0.1 1000", NULL);
}

/* Lines of logs next to a probe that is answered. */
static void a_peer_without_answers_waits_for_none(void **state)
{
	sqlite3 *db = loaded(HOST RECV(1000, 100, 3, 7) RECV(2000, 100, 1, 7) SEND(3000, 100, 1, 7)
				     RECV(4000, 100, 3, 7) RECV(5000, 100, 3, 7));

	(void)state;
	is_number(db, "SELECT count(*) FROM unanswered", 0);
	is_number(db, "SELECT most_open FROM service", 3);
	is_number(db, "SELECT total(n) FROM latency_window", 1);
	db_close(db);
}

/* Of an older recorder, or of recvmmsg: as the calls follow each other. */
static void without_peers_an_exchange_is_a_request(void **state)
{
	(void)state;
	rows_are(HOST CALL(1000, 100, recvfrom, 30) CALL(2000, 100, recvfrom, 30)
			 CALL(3000, 100, sendto, 9) CALL(4000, 100, sendto, 9),
		 "? 3000", NULL);
	/* the event of another call */
	rows_are(HOST PEER(999, 100, 1, 7) CALL(1000, 100, recvfrom, 30) CALL(3000, 100, sendto, 9),
		 "? 2000", NULL);
	/* one direction moves several at a time, of unknown peers */
	rows_are(HOST CALL(1000, 100, recvmmsg, 1) SEND(3000, 100, 1, 7), "? 2000", NULL);
	rows_are(HOST RECV(1000, 100, 1, 7) CALL(3000, 100, sendmmsg, 1) RECV(4000, 100, 1, 7)
			 CALL(6000, 100, sendmmsg, 1),
		 "? 2000", NULL);
	/* which of them are answered, and by which send, is not known */
	rows_are(HOST CALL(1000, 100, recvmmsg, 1) CALL(2000, 100, recvmmsg, 1)
			 CALL(3000, 100, sendmmsg, 1) CALL(4000, 100, recvmmsg, 1)
				 CALL(4500, 100, sendmmsg, 1) CALL(5000, 100, recvmmsg, 1)
					 CALL(5100, 100, sendmmsg, 1) CALL(5900, 100, sendmmsg, 1),
		 "? 500", NULL);
	/* what a call on a Unix socket left in the buffer */
	rows_are(HOST "3 100 fd pid=100 fd=5 mode=0140000 ino=78 family=1 role=4 socktype=2\n" RECV(
			 1000, 100, 1, 7) CALL(3000, 100, sendto, 9),
		 "local 2000", NULL);
}

/* A resolver asks two servers on one socket: one of them answers nothing from 1 ms on. */
static void who_answers_nothing(void **state)
{
	sqlite3 *db = loaded(
		"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,requests\"\n"
		"2 100 thread pid=100 state=83 comm=\"server\"\n"
		"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=4 socktype=2 sport=40000\n"
		"10 0 info text=\"begin=10\"\n300000000 0 info text=\"stopped=300000000\"\n@cpu 0\n" SEND(
			1000, 100, 1, 53) RECV(2000, 100, 1, 53) SEND(3000, 100, 2, 53)
			RECV(4000, 100, 2, 53) SEND(1000010, 100, 1, 53) SEND(2000000, 100, 1, 53)
				SEND(3000000, 100, 2, 53) RECV(4000000, 100, 2, 53)
		/* answered after a while: a row; at once: none; until the end: open */
		SEND(100000000, 100, 2, 53) RECV(160000000, 100, 2, 53) SEND(170000000, 100, 2, 53)
			RECV(180000000, 100, 2, 53) SEND(240000000, 100, 3, 53));

	(void)state;
	is_text(db,
		"SELECT group_concat(address || ' ' || ts || ' ' || dur || ' ' || questions || ' ' || answered || ' ' ||"
		" open, ', ') FROM (SELECT * FROM peer_silence ORDER BY ts)",
		"10.0.0.1:53 1000000 298999990 2 1 1, 10.0.0.2:53 99999990 60000000 1 1 0,"
		" 10.0.0.3:53 239999990 60000000 1 0 1");
	is_number(db, "SELECT count(*) FROM request", 0);
	db_close(db);
}

#define ASKS                                                                                          \
	"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,requests\"\n" \
	"2 100 thread pid=100 state=83 comm=\"server\"\n3 101 thread pid=100 state=83\n"              \
	"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=4 socktype=2 sport=40000\n"          \
	"10 0 info text=\"begin=10\"\n300000000 0 info text=\"stopped=300000000\"\n@cpu 0\n"

/* What is asked later than 50 ms is another row of the same time; of one that never answered not.
 */
static void when_it_was_asked(void **state)
{
	sqlite3 *db = loaded(ASKS SEND(1000, 100, 1, 53) RECV(2000, 100, 1, 53) SEND(
		1000010, 100, 1, 53) SEND(2000010, 100, 9, 53) SEND(3000010, 100, 1, 53)
				     SEND(60000010, 101, 1, 53) SEND(61000010, 100, 1, 53)
					     SEND(90000010, 100, 9, 53) RECV(93000010, 100, 1, 53));

	(void)state;
	is_text(db,
		"SELECT group_concat(address || ' ' || since || ' ' || ts || ' ' || last || ' ' || dur || ' ' ||"
		" questions || ' ' || coalesce(tid, '-'), ', ') FROM (SELECT * FROM peer_silence ORDER BY"
		" address, ts)",
		"10.0.0.1:53 1000000 1000000 3000000 59000000 2 100,"
		" 10.0.0.1:53 1000000 60000000 61000000 33000000 2 -,"
		" 10.0.0.9:53 2000000 2000000 90000000 297999990 2 100");
	db_close(db);
}

#define SILENT \
	"SELECT group_concat(address || ' ' || dur, ', ') FROM (SELECT * FROM peer_silence ORDER BY ts)"

/* A receive of a peer that is not recorded may be of any that was asked. */
static void an_answer_may_be_of_an_unknown_peer(void **state)
{
	sqlite3 *db =
		loaded(ASKS SEND(1000010, 100, 1, 53) CALL(2000010, 100, recvfrom, 30)
			       SEND(90000010, 100, 1, 53) CALL(91000010, 100, recvmmsg, 1)
				       SEND(190000010, 100, 1, 53) CALL(191000010, 100, read, 30));

	(void)state;
	is_number(db, "SELECT count(*) FROM peer_silence", 0);
	db_close(db);
	/* what is asked afterwards */
	db = loaded(ASKS SEND(1000010, 100, 1, 53) CALL(2000010, 100, recvfrom, 30)
			    SEND(90000010, 100, 1, 53) SEND(91000010, 100, 2, 53)
				    SEND(92000010, 100, 1, 53) RECV(190000010, 100, 1, 53)
					    RECV(290000010, 100, 2, 53));
	is_text(db, SILENT, "10.0.0.1:53 100000000, 10.0.0.2:53 199000000");
	is_number(db, "SELECT total(lossy) FROM peer_silence", 0);
	db_close(db);
	/* one answer may be lost */
	db = loaded(ASKS "@recorder\n100000000 0 missed since=90000000 count=1 group=syscalls"
			 " name=\"program\"\n@cpu 0\n" SEND(1000010, 100, 1, 53)
				 RECV(190000010, 100, 1, 53));
	is_number(db, "SELECT total(lossy) FROM peer_silence", 1);
	db_close(db);
}

/* A socket that only receives keeps no more than some. */
static void logs_are_forgotten(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	assert_int_equal(buf_printf(&text, &e, "%s", HOST), 0);
	for (i = 0; i < 5000; i++)
		buf_printf(&text, &e,
			   "%d 100 datagram daddr=10.0.%d.%d family=2 dport=7\n"
			   "%d 100 syscall nr=recvfrom fd=5 dur=1 ret=30\n",
			   1000 + i * 100, i / 250, i % 250, 1000 + i * 100);
	db = loaded_buf(&text);
	is_number(db, "SELECT count(*) FROM request", 0);
	is_number(db, "SELECT count(*) FROM unanswered", 1);
	is_number(db, "SELECT total(answered) FROM unanswered", 0);
	db_close(db);
}

#define DNS(ts, nr, address, port, head, n)                                                \
#ts " 100 datagram daddr=10.0.0." #address " family=2 dport=" #port " head=" #head \
	    "\n" CALL(ts, 100, nr, n)
#define ASK(ts, port, head)   DNS(ts, recvmsg, 1, port, head, 40)
#define REPLY(ts, port, head) DNS(ts, sendmsg, 1, port, head, 60)
#define ERRORS                                                                                         \
	"SELECT group_concat(n.name || ' ' || k.code || ' ' || e.ts, ', ') FROM (SELECT * FROM"        \
	" request_error ORDER BY ts) e JOIN request_name n ON n.id=e.name JOIN request_code k ON k.id" \
	"=e.code"

/* Questions of one port are answered by their ids. That there is no such name is no error. */
static void answers_of_dns_have_a_code(void **state)
{
	const char *text = HOST ASK(1000, 7, 0x00010001) ASK(2000, 7, 0x00010002)
		ASK(3000, 7, 0x20010003) REPLY(5000, 7, 0x83810001) REPLY(6000, 7, 0x82810003)
			REPLY(9000, 7, 0x05810002) ASK(11000, 7, 0x00010004)
				REPLY(12000, 7, 0x80810004);
	sqlite3 *db;

	(void)state;
	rows_are(text, "10.0.0.1 4000, 10.0.0.1 7000, 10.0.0.1 3000, 10.0.0.1 1000", NULL);
	db = loaded(text);
	is_text(db, ERRORS, "DNS query SERVFAIL 5990, DNS query REFUSED 8990");
	is_number(db, "SELECT count(*) FROM request WHERE name NOT NULL AND requests=1", 4);
	is_number(db, "SELECT received FROM service", 4);
	is_number(db, "SELECT errors FROM request_stat", 2);
	db_close(db);
	/* an answer to one from before the recording, after DNS is known; then the one of this */
	rows_are(HOST ASK(1000, 7, 0x00010001) REPLY(2000, 7, 0x80810001) ASK(3000, 7, 0x00010002)
			 REPLY(3001, 7, 0x80810009) REPLY(5000, 7, 0x80810002),
		 "10.0.0.1 1000, 10.0.0.1 2000", NULL);
	/* memcached: request id, number 0, one datagram; another id; bytes of another recorder */
	db = loaded(HOST ASK(1000, 7, 0x00000001) REPLY(2000, 7, 0x00000001)
			    ASK(3000, 7, 0x00010002) REPLY(4000, 7, 0x82810003)
				    ASK(5000, 7, 0x00010004) REPLY(6000, 7, 0));
	is_number(db, "SELECT count(*) FROM request", 3);
	is_number(db, "SELECT count(*) FROM request_name", 0);
	is_number(db, "SELECT count(*) FROM request_error", 0);
	db_close(db);
}

/*
 * A question every 25 ms, 10 s; since one of them each third answer has this code; or nothing is
 * answered for 300 ms before that.
 */
static sqlite3 *dns_since(u32 code, u32 since, bool pause)
{
	static const char host[] =
		"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,requests\"\n"
		"2 100 thread pid=100 state=83 comm=\"server\"\n"
		"3 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=4 socktype=2 sport=53\n"
		"8 0 clock monotonic=8 realtime=1700000000000000000 boottime=8\n"
		"10 0 info text=\"begin=10\"\n10000000000 0 info text=\"stopped=10000000000\"\n@cpu 0\n";
	struct buf x = { 0 };
	struct err e = { 0 };
	u32 id;

	buf_printf(&x, &e, "%s", host);
	for (id = 1; id < 390; id++) {
		bool late = pause && id > 188 && id <= 200;
		u64 t = id * 25000000UL;
		u64 end = (late ? 201 * 25000000UL - 9000000 : t) + 100000 + id % 7 * 1000;
		u32 head = 0x80810000 | (id > since && id % 3 == 0 ? code << 24 : 0) | id;

		buf_printf(&x, &e,
			   "%llu 100 datagram daddr=10.0.0.1 family=2 dport=7 head=%u\n"
			   "%llu 100 syscall nr=recvmsg fd=5 dur=1 ret=40\n",
			   (unsigned long long)t, 0x10000 | id, (unsigned long long)t);
		buf_printf(&x, &e,
			   "%llu 100 datagram daddr=10.0.0.1 family=2 dport=7 head=%u\n"
			   "%llu 100 syscall nr=sendmsg fd=5 dur=1 ret=60\n",
			   (unsigned long long)end, head, (unsigned long long)end);
	}
	return analysed(loaded_buf(&x), NULL);
}

static void a_server_of_dns_that_fails(void **state)
{
	static const char verdict[] = "SELECT status || ' ' || kind FROM verdict WHERE rank=1";
	sqlite3 *db = dns_since(2, 200, false);

	(void)state;
	is_text(db, verdict, "problem errors");
	is_text(db, FINDING_VALUE("verdict_errors_name", "code", "v.text"), "SERVFAIL");
	is_within(db, FINDING_VALUE("verdict_errors_name", "start", "v.number"), 4.9e9, 5.2e9);
	db_close(db);
	db = dns_since(5, 200, false);
	is_text(db, verdict, "problem errors");
	is_text(db, FINDING_VALUE("verdict_errors_name", "code", "v.text"), "REFUSED");
	db_close(db);
	db = dns_since(3, 200, false);
	is_text(db, verdict, "none ");
	db_close(db);
	db = dns_since(2, 0, false);
	is_text(db, verdict, "problem errors");
	db_close(db);
	/* a pause that is over hides no errors that go on */
	db = dns_since(2, 200, true);
	is_text(db, verdict, "problem errors");
	db_close(db);
	db = dns_since(3, 200, true);
	is_text(db, verdict, "problem pauses");
	db_close(db);
	db = dns_since(5, 0, false); /* it may be meant so */
	is_text(db, verdict, "none ");
	db_close(db);
}

static void heads_of_dns(void **state)
{
	static const u32 bits[] = { 0x800000,	0x080000,   0x400000,	0x040000,  0x020000,
				    0x01000000, 0x08000000, 0x40000000, 0x80000000 };
	u32 i, code;

	(void)state;
	assert_false(dns_is_question(0));
	assert_true(dns_is_question(1));
	assert_true(dns_is_question(0x3001ffff)); /* RD, AD, CD */
	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		assert_false(dns_is_question(0x10007 | bits[i]));
	assert_true(dns_is_answer(0x10007, 0x81800007));
	assert_true(dns_is_answer(0x10007, 0xb7870007));
	assert_false(dns_is_answer(0x10007, 0x81800008));
	assert_false(dns_is_answer(0x10007, 0x00010007));
	assert_false(dns_is_answer(0x10007, 0xc1800007));
	assert_false(dns_is_answer(0x10007, 0x81880007));
	assert_false(dns_is_answer(0x810007, 0x81800007));
	assert_false(dns_is_answer(0, 0x81800000));
	for (code = 0; code < 16; code++)
		assert_int_equal(!dns_error(code << 24 | 0xf0ffffff), code == 0 || code == 3);
	assert_string_equal(dns_error(0x82810007), "SERVFAIL");
}

/* Each datagram of a call has its peer; of those that are not all recorded none is known. */
static void calls_that_move_several(void **state)
{
	(void)state;
	rows_are(HOST PEER(1000, 100, 1, 7) PEER(1000, 100, 2, 7) CALL(1000, 100, recvmmsg, 2)
			 PEER(2000, 100, 2, 7) CALL(2000, 100, sendmmsg, 1) PEER(4000, 100, 1, 7)
				 CALL(4000, 100, sendmmsg, 1) PEER(5000, 100, 3, 7)
					 CALL(5000, 100, recvmmsg, 1),
		 "10.0.0.2 1000, 10.0.0.1 3000", "5000");
	rows_are(HOST PEER(1000, 100, 1, 7) CALL(1000, 100, recvmmsg, 1) PEER(2000, 100, 2, 7)
			 CALL(2000, 100, recvmmsg, 2) PEER(3000, 100, 2, 7)
				 CALL(3000, 100, sendmmsg, 1),
		 "? 1000", NULL);
	/* with all their peers, after a call that was not so */
	rows_are(HOST CALL(1000, 100, recvmmsg, 2) CALL(2000, 100, sendmmsg, 1)
			 PEER(3000, 100, 1, 7) PEER(3000, 100, 2, 7) CALL(3000, 100, recvmmsg, 2)
				 PEER(4000, 100, 1, 7) CALL(4000, 100, sendmmsg, 1),
		 "? 1000, ? 1000", NULL);
}

/* Events of one call were lost: those of later ones are known. */
static void a_lost_event_is_of_one_call(void **state)
{
	(void)state;
	rows_are(HOST PEER(500, 100, 1, 7) CALL(500, 100, recvmmsg, 1) PEER(600, 100, 1, 7) CALL(
			 600, 100, sendmmsg, 1) "@block\n@lost 2\n" CALL(1000, 100, recvmmsg, 2)
			 SEND(1500, 100, 1, 7) SEND(1600, 100, 1, 7)
				 SEND(1700, 100, 1, 7) "@block\n" RECV(2000, 100, 1, 7)
					 SEND(4000, 100, 1, 7),
		 "10.0.0.1 100, 10.0.0.1 2000", NULL);
	/* no event was lost: the peers are not recorded */
	rows_are(HOST PEER(500, 100, 1, 7) CALL(500, 100, recvmmsg, 1) PEER(600, 100, 1, 7)
			 CALL(600, 100, sendmmsg, 1) CALL(1000, 100, recvmmsg, 2)
				 RECV(2000, 100, 1, 7) SEND(4000, 100, 1, 7),
		 "10.0.0.1 100", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(answers_go_to_their_clients),
		T(what_is_no_request_is_none),
		T(peers_that_are_no_clients),
		T(clients_with_low_ports),
		T(what_stays_is_forgotten),
		T(a_peer_without_answers_waits_for_none),
		T(without_peers_an_exchange_is_a_request),
		T(logs_are_forgotten),
		T(who_answers_nothing),
		T(when_it_was_asked),
		T(an_answer_may_be_of_an_unknown_peer),
		T(answers_of_dns_have_a_code),
		T(a_server_of_dns_that_fails),
		T(heads_of_dns),
		T(calls_that_move_several),
		T(a_lost_event_is_of_one_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
