// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Column request.rest and analyze/analyses/queues/verdict_parts.c: requests that arrive in parts,
 * and others that are read in parts.
 */
#include "tests/lib/pooled.h"

#define REQUESTS 400
/* Of those in parts: the first are as uploads between others, until most are so (request.paced). */
#define JUDGED_LEAST (REQUESTS / 2 - 31)
/* Of four connections in turn: none overlaps. */
static long every = 10 * POOL_MS, later_by = 8 * POOL_MS;

enum how { WHOLE, IN_PARTS, READ_TWICE, SECOND_REQUEST, UNNAMED, UNNAMED_SLEEPS, DATAGRAMS };

static void begin(struct text *x, bool datagrams)
{
	int i;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(x, "1 0 info text=\"targets=all\"\n"
		     "2 0 info text=\"groups=core,syscalls,sched,requests\"");
	text_line(x, "3 100 thread pid=100 state=83 comm=\"server\"");
	for (i = 0; i < 4; i++)
		text_line(
			x,
			"5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=%d socktype=%d sport=80"
			" dport=%d daddr=10.0.0.%d",
			10 + i, 1000 + i, datagrams ? 4 : 2, datagrams ? 2 : 1,
			datagrams ? 0 : 4000 + i, i ? 9 : 7);
	text_line(x, "6 0 request_name id=1 protocol=1 name=\"POST /\"");
	text_line(x, "31 0 info text=\"begin=31\"\n@cpu 0");
	for (i = 0; i < 4; i++)
		text_line(x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 40 + i,
			  i + 1, 1000 + i, i + 1);
}

/* It wakes, reads so many bytes at t, and sleeps from until on. */
static void reads(struct pool_text *x, int c, long t, int bytes, long pos, int named)
{
	pool_line(x, t - 4000, "0 waking target=100 context=1");
	pool_line(x, t - 3000, "0 switch next=100");
	pool_line(x, t - 2000, "100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=1000000 ret=1");
	pool_line(x, t, "100 syscall nr=read fd=%d dur=500 ret=%d", 10 + c, bytes);
	if (named >= 0)
		pool_line(x, t, "100 head conn=%d pos=%ld len=%d name=%d requests=%d", c + 1, pos,
			  bytes, named ? 1 : 0, named);
}

static void arrives(struct pool_text *x, int c, long t, int bytes, long pos, enum how how)
{
	if (how == DATAGRAMS)
		pool_line(x, t, "0 ready conn=%d len=%d queued=1", c + 1, bytes);
	else
		pool_line(x, t, "0 segment conn=%d pos=%ld len=%d unread=0", c + 1, pos, bytes);
}

static void asks(struct pool_text *x, long *pos, int c, long t, enum how how)
{
	long at = pos[c], end = t + later_by + 5000;
	bool later = how != WHOLE && how != READ_TWICE;
	bool named = how < UNNAMED;

	pos[c] += 20;
	arrives(x, c, t, later ? 10 : 20, at, how);
	if (later) {
		reads(x, c, t + 5000, 10, at, named ? 1 : -1);
		pool_line(x, t + 6000, "100 switch next=0 state=1");
		arrives(x, c, t + later_by, 10, at + 10, how);
		reads(x, c, end, 10, at + 10, !named ? -1 : how == SECOND_REQUEST);
	} else if (how == READ_TWICE) {
		reads(x, c, t + 5000, 10, at, 1);
		pool_line(x, t + 6000, "100 syscall nr=read fd=%d dur=500 ret=10", 10 + c);
		pool_line(x, t + 6000, "100 head conn=%d pos=%ld len=10", c + 1, at + 10);
	} else {
		reads(x, c, t + 5000, 20, at, 1);
		end = t + 6000;
	}
	if (how == UNNAMED_SLEEPS) {
		pool_line(x, end + 1000, "100 switch next=0 state=1");
		pool_line(x, end + 50000, "0 waking target=100 context=2");
		pool_line(x, end + 51000, "0 switch next=100");
		pool_line(x, end + 52000, "100 syscall_args nr=nanosleep dur=50000");
		end += 60000;
	}
	pool_line(x, end + 10000, "100 syscall nr=write fd=%d dur=500 ret=20", 10 + c);
	pool_line(x, end + 12000, "100 switch next=0 state=1");
}

/* The first half arrives whole, the second so. */
static sqlite3 *received(enum how how, bool judged)
{
	struct pool_text lines = { 0 };
	struct text x = { 0 };
	long pos[4] = { 0 }, t = POOL_MS;
	sqlite3 *db;
	int i;

	begin(&x, how == DATAGRAMS);
	lines.v = calloc(POOL_LINES, sizeof(*lines.v));
	for (i = 0; i < REQUESTS; i++, t += every)
		asks(&lines, pos, i % 4, t + i % 7 * 10000,
		     i < REQUESTS / 2 && how != DATAGRAMS ? WHOLE : how);
	db = pool_loaded(&x, &lines, t);
	if (!judged)
		return db;
	analysed(db, "pauses");
	return analysed(db, "verdict");
}

#define RESTS "SELECT count(*) FROM request WHERE rest BETWEEN 7980000 AND 8000000"

static void the_rest_is_the_time_until_it_arrives(void **state)
{
	sqlite3 *db = received(IN_PARTS, false);

	(void)state;
	is_number(db, RESTS, REQUESTS / 2);
	is_number(db, "SELECT count(*) FROM request WHERE rest=0", REQUESTS / 2);
	db_close(db);
}

/* The client or the network is named, and no pause of the server is found. */
static void its_client_is_said(void **state)
{
	sqlite3 *db = received(IN_PARTS, true);

	(void)state;
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_within(db, FINDING_VALUE("verdict_parts", "n", "v.number"), JUDGED_LEAST, REQUESTS / 2);
	is_within(db, FINDING_VALUE("verdict_parts", "rest", "v.number"), 7.9e6, 8.0e6);
	is_within(db, FINDING_VALUE("verdict_parts", "of_client", "v.number"), 74, 76);
	is_text(db,
		"SELECT c.address FROM finding f JOIN finding_value v ON v.finding=f.id JOIN client c ON"
		" c.id=v.id WHERE f.kind='verdict_parts' AND v.name='client'",
		"10.0.0.9");
	is_number(db, "SELECT count(*) FROM pause WHERE dur > 1000000", 0);
	is_number(db, FINDING_VALUE("verdict_parts", "ack", "count(v.number)"), 0);
	db_close(db);
}

/* Both ends of these connections are the server's: it waits for itself. */
static void what_it_asks_itself_is_of_no_client(void **state)
{
	static const char own[] =
		"INSERT INTO fd(pid, fd, ts, role, local, remote) SELECT %s, fd + 100, ts,"
		" 'connected', remote, local FROM fd WHERE role='accepted'";
	char sql[sizeof(own) + 8];
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		sqlite3 *db;

		snprintf(sql, sizeof(sql), own, i ? "200" : "100");
		db = analysed(changed(received(IN_PARTS, false), sql), "pauses");
		analysed(db, "verdict");
		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_parts'",
			  i); /* of another process: a client */
		db_close(db);
	}
}

/* The kernel delays an ACK by 40 ms, until its timer; a slower client is no such one. */
static void waits_for_a_delayed_ack_are_said(void **state)
{
	sqlite3 *db;

	(void)state;
	every = 70 * POOL_MS;
	later_by = 42 * POOL_MS;
	db = received(IN_PARTS, true);
	is_number(db, FINDING_VALUE("verdict_parts", "ack", "v.number"), 40e6);
	db_close(db);
	later_by = 56 * POOL_MS;
	db = received(IN_PARTS, true);
	is_within(db, FINDING_VALUE("verdict_parts", "n", "v.number"), JUDGED_LEAST, REQUESTS / 2);
	is_number(db, FINDING_VALUE("verdict_parts", "ack", "count(v.number)"), 0);
	db_close(db);
	every = 10 * POOL_MS;
	later_by = 8 * POOL_MS;
}

/* It had arrived, and is read in two receives; then the server takes its time. */
static void a_whole_request_in_two_reads(void **state)
{
	sqlite3 *db = received(READ_TWICE, true);

	(void)state;
	is_number(db, "SELECT count(*) FROM request WHERE rest > 0", 0);
	is_text(db, "SELECT status || ' ' || kind FROM verdict WHERE rank=1", "problem slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_parts'", 0);
	db_close(db);
}

/* The second receive has a request of its own: the first one waits for the server. */
static void the_next_request_is_no_rest(void **state)
{
	sqlite3 *db = received(SECOND_REQUEST, false);

	(void)state;
	is_number(db, "SELECT count(*) FROM request WHERE rest > 0", 0);
	db_close(db);
}

/* Of a protocol that was not read, only an answer at once shows that it was one request. */
static void without_a_protocol_the_answer_decides(void **state)
{
	sqlite3 *db = received(UNNAMED, false);

	(void)state;
	is_number(db, RESTS, REQUESTS / 2);
	db_close(db);
	db = received(UNNAMED_SLEEPS, false);
	is_number(db, "SELECT count(*) FROM request WHERE rest > 0", 0);
	db_close(db);
}

/* Each is a request: the answer to the first one did not come. */
static void datagrams_have_no_rest(void **state)
{
	sqlite3 *db = received(DATAGRAMS, false);

	(void)state;
	is_number(db, "SELECT count(*) FROM request WHERE recvs=2 AND arrival_is", REQUESTS);
	is_number(db, "SELECT count(*) FROM request WHERE rest > 0", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_rest_is_the_time_until_it_arrives), T(its_client_is_said),
		T(what_it_asks_itself_is_of_no_client),	  T(waits_for_a_delayed_ack_are_said),
		T(a_whole_request_in_two_reads),	  T(the_next_request_is_no_rest),
		T(without_a_protocol_the_answer_decides), T(datagrams_have_no_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
