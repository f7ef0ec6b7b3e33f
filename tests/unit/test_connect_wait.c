// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verdict_connect.c: requests that wait for connections which are not established, are refused, or
 * take long; and what only looks so.
 */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

/* How each request asks its upstream. */
enum way {
	NEVER,	 /* its SYN has no answer; it gives up after 1 s */
	SLOW,	 /* established after 1 s */
	ANSWER,	 /* established at once; the answer takes 1 s */
	OTHER,	 /* connects of another process */
	EARLIER, /* a connect that begins before the request is read */
	LATER,	 /* and one that lasts longer than it */
	REFUSED, /* at once, and the answer reports an error */
	RETRIED, /* refused as well, but then answered without an error */
	PORTS,	 /* no local port: connect fails before a SYN is sent; as REFUSED */
	SYN,	 /* as SLOW, its SYN is sent again */
	LOST,	 /* its question is sent again after 0.9 s */
	EARLY,	 /* it is sent again at once, the answer takes 0.9 s more */
	ELSE,	 /* on another connection something is sent again */
	IDLE,	 /* on its own, after the answer */
	MIXED,	 /* SYN and LOST by turns */
	SILENT,	 /* a datagram without an answer, for which it polls 1 s */
	METRIC,	 /* the same, while it waits for something else */
	LATE,	 /* its answer comes after 1 s */
	SLICES,	 /* as SILENT, it polls ten times */
	REUSED,	 /* once, not waited for; then the descriptor is that of a connection */
	LAST,	 /* as LATE, but the last one has no answer when the recording ends */
};

#define ENDS "family=2 sport=%d dport=99 saddr=10.0.0.1 daddr=192.0.2.1"

static void tcp(struct text *x, long ts, int tid, int sock, int from, int to, int error)
{
	text_line(x, "%ld %d tcp_state sock=%d from=%d to=%d error=%d " ENDS, ts, tid, sock, from,
		  to, error, 4000 + sock);
}

static void sent_again(struct text *x, long ts, int port, int state)
{
	text_line(x,
		  "%ld 0 tcp_retransmit sock=1 family=2 sport=%d dport=99 saddr=10.0.0.1 "
		  "daddr=192.0.2.1 state=%d",
		  ts, port, state);
}

static void sleep_until(struct text *x, long from, long to)
{
	text_line(x, "%ld 100 switch next=0 state=1\n%ld 0 waking target=100 context=1", from, to);
	text_line(x, "%ld 0 switch next=100\n%ld 100 syscall_args nr=poll arg0=9 dur=%ld ret=1",
		  to + 1000, to + 2000, to + 2000 - from);
}

/* On a connection that is there already. */
static void exchange(struct text *x, enum way way, long end)
{
	long t = x->t + 20000, again = way == EARLY  ? t + MS
				       : way == IDLE ? end + 10 * MS
						     : end - 100 * MS;

	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x->t + 3000);
	text_line(x, "%ld 100 syscall nr=write fd=12 ret=29 count=29 dur=200", t);
	text_line(x, "%ld 100 switch next=0 state=1", t + 1000);
	if (way != IDLE && way != ANSWER)
		sent_again(x, again, way == ELSE ? 3999 : 4000, 1);
	text_line(x, "%ld 0 waking target=100 context=1", end - 20000);
	text_line(x, "%ld 0 switch next=100", end - 19000);
	text_line(x, "%ld 100 syscall nr=read fd=12 ret=29 count=99 dur=%ld", end - 10000,
		  end - 10000 - t - 900);
	text_line(x, "%ld 100 syscall nr=write fd=5 ret=900 count=900 dur=200", end);
	text_line(x, "%ld 100 switch next=0 state=1", end + 1000);
	if (way == IDLE)
		sent_again(x, again, 4000, 1);
	x->t = end + 150 * MS;
}

/* It sleeps in poll of descriptor 14 alone, or in one of several; ready: input comes. */
static void polls(struct text *x, bool alone, long from, long to, bool ready)
{
	text_line(x, "%ld 100 switch next=0 state=1\n%ld 0 waking target=100 context=1",
		  from + 1000, to - 5000);
	text_line(x, "%ld 0 switch next=100\n%ld 100 syscall_args nr=poll arg0=9%s dur=%ld ret=%d",
		  to - 4000, to, alone ? " arg5=14 flags=8" : "", to - from, ready);
}

/* By a datagram on a socket that it has; first, last: of the requests. */
static void datagram(struct text *x, enum way way, long end, bool first, bool last)
{
	long t = x->t + 20000, at = t + 1000, slice = (end - 20000 - at) / 10;
	bool late = way == LATE || way == LAST;
	int i;

	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x->t + 3000);
	if (way != REUSED || first)
		text_line(x, "%ld 100 syscall nr=sendto fd=14 ret=29 count=29 dur=200", t);
	if (way == REUSED && first)
		text_line(x,
			  "%ld 100 syscall nr=close fd=14 dur=200\n%ld 100 fd pid=100 fd=14"
			  " mode=0140000 ino=1099 family=2 role=connected socktype=1 sport=4099"
			  " dport=99 saddr=10.0.0.1 daddr=192.0.2.1",
			  t + 400, t + 500);
	for (i = 0; i < 10 && way == SLICES; i++, at += slice)
		polls(x, true, at, at + slice - 1000, false);
	if (late)
		polls(x, true, at, at + 5 * slice, false);
	if (way != SLICES)
		polls(x, way != METRIC, late ? at + 5 * slice : at, end - 15000, late);
	if (late)
		text_line(x, "%ld 100 syscall nr=recvfrom fd=14 ret=50 dur=200", end - 10000);
	text_line(x, "%ld 100 syscall nr=write fd=5 ret=900 count=900 dur=200", end);
	if (way == LAST && last)
		text_line(x, "%ld 100 syscall nr=sendto fd=14 ret=29 count=29 dur=200", end + 500);
	text_line(x, "%ld 100 switch next=0 state=1", end + 1000);
	x->t = end + 150 * MS;
}

/* It takes 1 s, of which it sleeps most. */
static void asks(struct text *x, enum way way, int i)
{
	bool quick = way == REFUSED || way == RETRIED || way == PORTS;
	long t = x->t + 20000, end = t + (quick ? MS : 1000 * MS), from = t, to = end;

	if (way >= SILENT) {
		datagram(x, way, end, i == 1, i == 8);
		return;
	}
	if (way >= LOST) {
		exchange(x, way, end);
		return;
	}
	if (way == EARLIER)
		from = x->t - 100 * MS;
	if (way == LATER)
		to += 200 * MS;
	if (way == EARLIER)
		tcp(x, from, 100, i, 7, 2, 0);
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x->t + 3000);
	if (way != EARLIER)
		tcp(x, from, way == OTHER ? 200 : 100, i, 7, 2, 0);
	if (way == ANSWER)
		tcp(x, t + MS / 2, 0, i, 2, 1, 0);
	if (way == PORTS) {
		tcp(x, t + MS / 5, 100, i, 2, 7, 0);
		text_line(x, "%ld 100 syscall nr=connect fd=13 ret=-99 dur=%ld", t + MS / 5 + 1000,
			  MS / 5 + 2000);
	} else if (quick) {
		tcp(x, t + MS / 5, 0, i, 2, 7, -111);
	}
	if (way == SYN)
		sent_again(x, t + MS / 2, 4000 + i, 2);
	sleep_until(x, t + MS / 2 + 1, end - 20000);
	if (way == SLOW || way == SYN)
		tcp(x, end - 10000, 0, i, 2, 1, 0);
	else if (way == ANSWER)
		tcp(x, end - 10000, 100, i, 1, 7, 0);
	else if (!quick && way != LATER)
		tcp(x, end - 10000, way == OTHER ? 200 : 100, i, 2, 7, 0);
	text_line(x, "%ld 100 syscall nr=write fd=5 ret=900 count=900 dur=200", end);
	if (way == REFUSED || way == PORTS)
		text_line(x, "%ld 100 answer conn=1 pos=0 len=20 status=502 protocol=1", end);
	text_line(x, "%ld 100 switch next=0 state=1", end + 1000);
	if (way == LATER)
		tcp(x, to, 100, i, 2, 7, 0);
	x->t = (way == LATER ? to : end) + 150 * MS;
}

static sqlite3 *recorded(enum way way, int n, int well)
{
	struct text x = { 0 };
	int i;

	srand(1);
	head(&x);
	text_line(&x, "@recorder\n33 200 thread pid=200 state=83 comm=\"other\"");
	text_line(&x, "33 100 fd pid=100 fd=12 mode=0140000 ino=1012 family=2 role=connected"
		      " socktype=1 sport=4000 dport=99 saddr=10.0.0.1 daddr=192.0.2.1");
	text_line(&x, "33 100 fd pid=100 fd=14 mode=0140000 ino=1014 family=2 role=connected"
		      " socktype=2 sport=4014 dport=53 saddr=10.0.0.1 daddr=192.0.2.53");
	text_line(&x, "34 0 request_name id=1 protocol=1 name=\"GET /\"\n@cpu 0");
	text_line(&x, "35 0 connection sock=99 ino=1005 conn=1 family=2 sport=80 dport=40005 side=1"
		      " saddr=127.0.0.1 daddr=10.0.0.9");
	x.t = 500 * MS;
	for (i = 0; i < n; i++) {
		asks(&x, way != MIXED ? way : i % 2 ? LOST : SYN, i + 1);
		many(&x, well, 100000, MS / 10);
	}
	return judged(&x, NULL);
}

static void connections_that_are_never_established(void **state)
{
	sqlite3 *db = recorded(NEVER, 8, 0);

	(void)state;
	is_verdict(db, "problem", "connect");
	is_text(db, FINDING_VALUE("connect_never", "address", "v.text"), "192.0.2.1:99");
	is_number(db, FINDING_VALUE("connect_never", "n", "v.number"), 8);
	is_within(db, FINDING_VALUE("connect_never", "max", "v.number"), 0.99e9, 1.01e9);
	is_within(db, FINDING_VALUE("connect_never", "share", "v.number"), 95, 100);
	is_number(db, "SELECT count(*) FROM connection WHERE failed AND error=0", 8);
	db_close(db);
	/* next to many that are well */
	db = recorded(NEVER, 8, 40);
	is_text(db, "SELECT status FROM verdict", "problem");
	is_number(db, FINDING_VALUE("connect_never", "n", "v.number"), 8);
	db_close(db);
}

static void handshakes_that_take_long(void **state)
{
	sqlite3 *db = recorded(SLOW, 8, 0);

	(void)state;
	is_verdict(db, "problem", "connect");
	is_number(db, FINDING_VALUE("connect_slow", "n", "v.number"), 8);
	is_null(db, FINDING_VALUE("connect_slow", "again", "v.number"));
	db_close(db);
	/* a full accept queue drops SYNs as well: the path is blamed if it lost other segments */
	db = recorded(SYN, 8, 0);
	is_number(db, "SELECT count(*) FROM retransmit WHERE state=2", 8);
	is_number(db, FINDING_VALUE("connect_slow", "n", "v.number"), 8);
	is_number(db, FINDING_VALUE("connect_slow", "again", "v.number"), 8);
	db_close(db);
	db = recorded(MIXED, 8, 0);
	is_number(db, FINDING_VALUE("connect_lost", "n", "v.number"), 8);
	is_within(db, FINDING_VALUE("connect_lost", "share", "v.number"), 92, 98);
	db_close(db);
}

static void are_unanswered(enum way way)
{
	sqlite3 *db = recorded(way, 8, 0);

	is_number(db, "SELECT sends FROM upstream_unanswered WHERE datagram", 8);
	is_verdict(db, "problem", "connect");
	is_text(db, FINDING_VALUE("verdict_no_answers", "address", "v.text"), "192.0.2.53:53");
	is_text(db, FINDING_VALUE("connect_unanswered", "address", "v.text"), "192.0.2.53:53");
	is_number(db, FINDING_VALUE("connect_unanswered", "n", "v.number"), 8);
	is_within(db, FINDING_VALUE("connect_unanswered", "max", "v.number"), 0.9e9, 1.01e9);
	is_within(db, FINDING_VALUE("connect_unanswered", "share", "v.number"), 95, 100);
	db_close(db);
}

static void questions_that_have_no_answer(void **state)
{
	static const enum way others[] = { METRIC, LATE, LAST, REUSED };
	sqlite3 *db;
	size_t i;

	(void)state;
	are_unanswered(SILENT);
	are_unanswered(SLICES);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		db = recorded(others[i], 8, 0);
		is_number(db, "SELECT count(*) FROM upstream_unanswered WHERE datagram",
			  others[i] != LATE);
		is_verdict(db, "unknown", "requests");
		is_number(db, "SELECT count(*) FROM finding WHERE kind LIKE 'connect_%'", 0);
		db_close(db);
	}
}

/* A slow upstream that is connected; connects of others, or that the request does not wait for. */
static void other_waits_are_no_handshakes(void **state)
{
	static const enum way ways[] = { ANSWER, OTHER, EARLIER, LATER };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		db = recorded(ways[i], 8, 0);
		is_verdict(db, "unknown", "requests");
		is_number(db, "SELECT count(*) FROM finding WHERE kind LIKE 'connect_%'", 0);
		db_close(db);
	}
}

/* Not where the answer takes long after it, and not of another connection. */
static void segments_that_are_sent_again(void **state)
{
	static const enum way ways[] = { EARLY, ELSE };
	sqlite3 *db = recorded(LOST, 8, 0);
	size_t i;

	(void)state;
	is_verdict(db, "problem", "connect");
	is_text(db, FINDING_VALUE("connect_lost", "address", "v.text"), "192.0.2.1:99");
	is_number(db, FINDING_VALUE("connect_lost", "n", "v.number"), 8);
	is_within(db, FINDING_VALUE("connect_lost", "share", "v.number"), 88, 92);
	is_number(db, "SELECT count(*) FROM retransmit WHERE remote='192.0.2.1:99'", 8);
	db_close(db);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		db = recorded(ways[i], 8, 0);
		is_number(db, "SELECT count(*) FROM retransmit", 8);
		is_verdict(db, "unknown", "requests");
		db_close(db);
	}
}

#define ASKED  20 /* exchanges with the upstream, one per second */
#define PAUSED 2  /* of these, while no other is answered */

/* Another thread answers requests of 1 ms. */
static void quick(struct text *x, long t, long work)
{
	text_line(x, "%ld 0 waking target=101 context=1\n%ld 0 switch next=101", t, t + 1000);
	text_line(x, "%ld 101 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1", t + 2000);
	text_line(x, "%ld 101 syscall nr=read fd=7 ret=29 count=99 dur=200", t + 3000);
	text_line(x, "%ld 101 syscall nr=write fd=7 ret=900 count=900 dur=200", t + work);
	text_line(x, "%ld 101 switch next=0 state=1", t + work + 1000);
}

/* Exchanges take 400 ms, in two of them the whole server pauses; healthy: one of them does, the
 * others take 1 ms. */
static sqlite3 *next_to_others(enum way way, bool healthy)
{
	struct text x = { 0 };
	long t, end = (ASKED + 1) * 1000 * MS;
	int i;

	srand(1);
	head(&x);
	text_line(&x, "@recorder\n33 101 thread pid=100 state=83 comm=\"server\"");
	text_line(&x, "33 100 fd pid=100 fd=12 mode=0140000 ino=1012 family=2 role=connected"
		      " socktype=1 sport=4000 dport=99 saddr=10.0.0.1 daddr=192.0.2.1\n@cpu 0");
	for (i = 0; i < ASKED; i++) {
		bool slow = !healthy || i == 3;

		x.t = (i + 1) * 1000 * MS;
		exchange(&x, slow ? way : ANSWER, x.t + (slow ? 400 : 1) * MS);
	}
	text_line(&x, "@cpu 1");
	for (t = 500 * MS; t < end; t += 13 * MS) {
		long second = t / (1000 * MS), in = t % (1000 * MS);

		if (healthy || second < 8 || second >= 8 + PAUSED || in > 420 * MS)
			quick(&x, t, MS - rand() % (MS / 2));
	}
	x.t = end;
	return judged(&x, NULL);
}

/* Most of them while others are answered: not the pauses are the problem. */
static void segments_lost_in_pauses_and_outside(void **state)
{
	sqlite3 *db = next_to_others(LOST, false);

	(void)state;
	is_verdict(db, "problem", "connect");
	is_number(db, FINDING_VALUE("connect_lost", "n", "v.number"), ASKED);
	is_number(db, FINDING_VALUE("verdict_lost", "explained", "v.number"), ASKED);
	is_within(db, FINDING_VALUE("verdict_lost", "start", "v.number"), 0.99e9, 1.01e9);
	is_within(db, FINDING_VALUE("verdict_lost", "end", "v.number"), 20.39e9, 20.41e9);
	db_close(db);
}

/* The same pauses; segments of another connection, or of its own when nothing waited for it. */
static void pauses_next_to_segments_that_nothing_waits_for(void **state)
{
	static const enum way ways[] = { ELSE, IDLE, ANSWER };
	sqlite3 *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		db = next_to_others(ways[i], false);
		is_number(db, "SELECT count(*) FROM retransmit", ways[i] == ANSWER ? 0 : ASKED);
		is_verdict(db, "problem", "pauses");
		is_number(db, "SELECT pauses FROM verdict", PAUSED);
		is_number(db, "SELECT count(*) FROM finding WHERE kind LIKE '%_lost'", 0);
		/* what is said of all others has those that take as long */
		is_number(db, FINDING_VALUE("verdict_pauses", "others", "v.number"),
			  ASKED - PAUSED);
		is_within(db, FINDING_VALUE("verdict_pauses", "p99", "v.number"), 390e6, 410e6);
		is_within(db, "SELECT p99_outside FROM verdict", 390e6, 410e6);
		db_close(db);
	}
}

static void one_lost_segment_is_no_problem(void **state)
{
	sqlite3 *db = next_to_others(LOST, true);

	(void)state;
	is_number(db, "SELECT count(*) FROM retransmit", 1);
	is_text(db, "SELECT status FROM verdict", "none");
	is_number(db, "SELECT count(*) FROM finding WHERE kind LIKE '%_lost'", 0);
	db_close(db);
}

/* Other requests are slower from 5 s on; from 10 s on there are handshakes, or not. */
static sqlite3 *slower_before(bool handshakes)
{
	struct text x = { 0 };
	long t, end = 20 * 1000 * MS;
	int i;

	srand(1);
	head(&x);
	text_line(&x, "@recorder\n33 101 thread pid=100 state=83 comm=\"server\"\n@cpu 0");
	for (i = 0; handshakes && i < 5; i++) {
		x.t = (10 + 2 * i) * 1000 * MS;
		asks(&x, SYN, i + 1);
	}
	text_line(&x, "@cpu 1");
	for (t = 500 * MS; t < end; t += 13 * MS)
		quick(&x, t, (t < 5000 * MS ? 1 : 3) * MS - rand() % (MS / 2));
	x.t = end;
	return judged(&x, NULL);
}

static void what_was_slow_before_the_handshakes_is_no_start(void **state)
{
	sqlite3 *db = slower_before(true);

	(void)state;
	is_verdict(db, "problem", "slower");
	is_number(db, FINDING_VALUE("connect_slow", "n", "v.number"), 5);
	is_within(db, "SELECT start FROM verdict", 9.8e9, 10.1e9);
	db_close(db);
	db = slower_before(false);
	is_verdict(db, "problem", "slower");
	is_within(db, "SELECT start FROM verdict", 4.8e9, 5.1e9);
	db_close(db);
}

static void refused_connections_fail_requests(void **state)
{
	sqlite3 *db = recorded(REFUSED, 20, 0);

	(void)state;
	is_verdict(db, "problem", "connect");
	is_number(db, FINDING_VALUE("connect_refused", "n", "v.number"), 20);
	is_text(db, FINDING_VALUE("connect_refused", "code", "v.text"), "ECONNREFUSED");
	is_within(db, FINDING_VALUE("connect_refused", "failed", "v.number"), 99, 100);
	is_number(db, "SELECT count(*) FROM connection WHERE failed AND error=111", 20);
	db_close(db);
	/* another server answered instead */
	db = recorded(RETRIED, 20, 0);
	is_text(db, "SELECT status FROM verdict", "unknown");
	is_number(db, "SELECT count(*) FROM finding WHERE kind LIKE 'connect_%'", 0);
	db_close(db);
}

/* The state of the socket has no error then: connect has it. */
static void connects_without_a_local_port_fail_requests(void **state)
{
	sqlite3 *db = recorded(PORTS, 20, 0);

	(void)state;
	is_verdict(db, "problem", "connect");
	is_number(db, FINDING_VALUE("connect_no_port", "n", "v.number"), 20);
	is_text(db, FINDING_VALUE("connect_no_port", "code", "v.text"), "EADDRNOTAVAIL");
	is_within(db, FINDING_VALUE("connect_no_port", "failed", "v.number"), 99, 100);
	is_number(db, "SELECT count(*) FROM connection WHERE failed AND error=99", 20);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='connect_never'", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(connections_that_are_never_established),
		T(handshakes_that_take_long),
		T(what_was_slow_before_the_handshakes_is_no_start),
		T(questions_that_have_no_answer),
		T(other_waits_are_no_handshakes),
		T(segments_that_are_sent_again),
		T(refused_connections_fail_requests),
		T(connects_without_a_local_port_fail_requests),
		T(segments_lost_in_pauses_and_outside),
		T(pauses_next_to_segments_that_nothing_waits_for),
		T(one_lost_segment_is_no_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
