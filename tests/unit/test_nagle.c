// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/queues/verdict_nagle.c: the last part of answers waits for a delayed ACK. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#include <stdlib.h>

#define US 1000L

/* ns after the last send; an ACK that is not before the next request is in that request. */
struct way {
	int sends;
	long acked, jitter; /* at least; less than so much more */
	long next;	    /* request; of a client that waits for the ACK: after it */
	bool waits;
	bool again; /* TCP sends a segment of the answer again */
	bool left;  /* recorded: the ACK released the end of the answer, whose own comes then */
};

/* Whole answers at once, to a client that asks every 25 ms. */
static const struct way quick = { 2, 80 * US, 40 * US, 25 * MS, .waits = false };
static const struct way held = { 2, 40 * MS, 4 * MS, 200 * US, .waits = true };

static long served;

static void answer(struct text *x, const struct way *w)
{
	long acked = w->acked + rand() % w->jitter, next = w->next + (w->waits ? acked : 0);

	next += rand() % (100 * US);
	text_line(x, "%ld 0 segment conn=1 pos=%ld len=29 written=%ld unacked=0", x->t, 29 * served,
		  900 * served);
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t + 1000,
		  x->t + 2000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
		  x->t + 3000);
	text_line(x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x->t + 4000);
	x->t += 100 * US + rand() % (50 * US);
	if (w->sends > 1)
		text_line(x, "%ld 100 syscall nr=write fd=5 ret=56 count=56 dur=200", x->t - 5000);
	text_line(x, "%ld 100 syscall nr=write fd=5 ret=%d count=900 dur=200", x->t,
		  w->sends > 1 ? 844 : 900);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 1000);
	served++;
	if (w->again)
		text_line(
			x,
			"%ld 0 tcp_retransmit sock=1 ino=1005 family=2 sport=80 dport=40005 state=1"
			" saddr=127.0.0.1 daddr=10.0.0.9",
			x->t + acked - 100 * US);
	if (w->left)
		text_line(x, "%ld 0 segment conn=1 pos=%ld len=0 written=%ld unacked=844 flags=16",
			  x->t + acked - 50 * US, 29 * served, 900 * served);
	if (acked < next)
		text_line(x, "%ld 0 segment conn=1 pos=%ld len=0 written=%ld unacked=0",
			  x->t + acked, 29 * served, 900 * served);
	x->t += next;
}

/* 400 answers of the one way, then 300 of the other, and 200 of a third, if any. */
static sqlite3 *answered(const struct way *before, const struct way *then, const struct way *last)
{
	struct text x = { 0 };
	int i;

	srand(3);
	served = 0;
	head(&x);
	text_line(&x, "40 0 connection sock=1 ino=1005 conn=1 family=2 side=1");
	for (i = 0; i < 400; i++)
		answer(&x, before);
	for (i = 0; i < 300; i++)
		answer(&x, then);
	for (i = 0; i < 200 && last; i++)
		answer(&x, last);
	return judged(&x, NULL);
}

#define SAID(name) FINDING_VALUE("verdict_nagle", name, "v.number")

static void answers_that_are_held_back_are_a_problem(void **state)
{
	sqlite3 *db = answered(&quick, &held, NULL);

	(void)state;
	is_verdict(db, "problem", "nagle");
	is_within(db, SAID("late"), 40e6, 44e6);
	is_within(db, SAID("before"), 50e3, 150e3);
	is_within(db, SAID("n"), 290, 300);
	is_within(db, SAID("of"), 290, 300);
	is_within(db, SAID("start"), 10.0e9, 10.1e9);
	is_number(db, FINDING_VALUE("verdict_nagle", "end", "count(v.number)"), 0);
	is_within(db, SAID("usual"), 38, 41);
	is_within(db, SAID("fewer"), 22, 25);
	is_within(db, FINDING_VALUE("nagle_held", "ack", "v.number"), 40e6, 40e6);
	db_close(db);
	db = answered(&quick, &held, &quick); /* it ends */
	is_verdict(db, "problem", "nagle");
	is_within(db, SAID("n"), 290, 300);
	is_within(db, SAID("end"), 22e9, 24e9);
	db_close(db);
}

/* from half of the recording on */
static void is_none(struct way then)
{
	sqlite3 *db = answered(&quick, &then, NULL);

	is_verdict(db, "none", "");
	is_within(db, "SELECT count(*) FROM request WHERE acked NOT NULL", 699, 700);
	db_close(db);
}

static void a_complete_answer_is_not(void **state)
{
	(void)state;
	/* in one send: nothing was before it */
	is_none((struct way){ 1, 40 * MS, 4 * MS, 200 * US, .waits = true });
	/* the client has it and delays its ACK, but asks when it wants to */
	is_none((struct way){ 2, 40 * MS, 4 * MS, 100 * MS, .waits = false });
	is_none((struct way){ 2, 40 * MS, 4 * MS, 48 * MS, .waits = false });
}

/* Its next request has the ACK, or comes in the few ms of the timer's tick. */
static void a_client_that_thinks_as_long_is_not(void **state)
{
	(void)state;
	is_none((struct way){ 2, 40 * MS, 4 * MS, 40 * MS, .waits = false });
	is_none((struct way){ 2, 40 * MS, 4 * MS, 43 * MS, .waits = false });
}

static void a_far_network_is_not(void **state)
{
	sqlite3 *db = answered(&held, &held, NULL); /* it is always as far: not known */

	(void)state;
	is_verdict(db, "none", "");
	db_close(db);
	is_none((struct way){ 2, 30 * MS, MS, 200 * US, .waits = true });
	is_none((struct way){ 2, 60 * MS, MS, 200 * US, .waits = true });
}

#define ALWAYS FINDING_VALUE("verdict_nagle_always", "n", "count(v.number)")

/* Answers of the way during the whole recording, three of four; the others are acknowledged at
 * once. */
static sqlite3 *always(const struct way *w, long think)
{
	struct text x = { 0 };
	struct way one;
	int i;

	srand(3);
	served = 0;
	head(&x);
	text_line(&x, "40 0 connection sock=1 ino=1005 conn=1 family=2 side=1");
	for (i = 0; i < 600; i++) {
		one = i % 4 ? *w : quick;
		one.next += think ? rand() % think : 0;
		answer(&x, &one);
	}
	return judged(&x, NULL);
}

/* The client asks again when it wants to, but never before it has the answer. */
static void they_are_said_if_they_always_were(void **state)
{
	sqlite3 *db = always(&held, 20 * MS);

	(void)state;
	is_verdict(db, "problem", "nagle");
	is_number(db, FINDING_VALUE("verdict_nagle_always", "n", "v.number"), 450);
	is_within(db, FINDING_VALUE("verdict_nagle_always", "of", "v.number"), 599, 600);
	is_within(db, FINDING_VALUE("verdict_nagle_always", "late", "v.number"), 40e6, 44e6);
	db_close(db);
}

/* The recorder marks what is held, and marked nothing: the client only answers as late. */
static void a_recorder_that_marks_them_decides(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	srand(3);
	served = 0;
	head(&x);
	text_line(&x, "@recorder\n40 0 info text=\"nagle=marked\"\n@cpu 0\n"
		      "40 0 connection sock=1 ino=1005 conn=1 family=2 side=1");
	for (i = 0; i < 700; i++)
		answer(&x, i < 400 ? &quick : &held);
	db = judged(&x, NULL);
	is_verdict(db, "none", "");
	is_number(db, "SELECT count(*) FROM finding WHERE kind LIKE 'verdict_nagle%'", 0);
	db_close(db);
}

static void clients_that_have_the_answer_are_not(void **state)
{
	const struct way ways[] = {
		{ 1, 40 * MS, 4 * MS, 200 * US, .waits = true },
		{ 2, 40 * MS, 4 * MS, 100 * MS, .waits = false },
		{ 2, 40 * MS, 4 * MS, 48 * MS, .waits = false },
		{ 2, 40 * MS, 4 * MS, 43 * MS, .waits = false },
		{ 2, 40 * MS, 4 * MS, 10 * MS, .waits = false }, /* up to 90 ms */
		{ 2, 40 * MS, 4 * MS, 200 * US, .waits = true, .again = true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		sqlite3 *db = always(&ways[i], ways[i].next == 10 * MS ? 80 * MS : 0);

		is_number(db, ALWAYS, 0);
		db_close(db);
	}
}

static void what_is_sent_again_is_not(void **state)
{
	struct way lost = held;
	sqlite3 *db;

	(void)state;
	lost.again = true;
	db = answered(&quick, &lost, NULL);
	is_verdict(db, "problem", "resent");
	is_number(db, FINDING_VALUE("verdict_nagle", "n", "count(v.number)"), 0);
	db_close(db);
}

/* ACKs that came before the send returned: the next request, much later, brings no news. */
static void an_ack_within_the_send_is_not_late(void **state)
{
	struct way way = { 1, -100, 1, 300 * MS, .waits = false };
	sqlite3 *db = answered(&way, &way, NULL);

	(void)state;
	is_number(db, "SELECT count(acked) FROM request", 700);
	is_number(db, "SELECT max(acked) FROM request", 0);
	db_close(db);
	/* one of what was sent before, and a later one, which a request may bring */
	way = (struct way){ 2, -150 * US, 1, 300 * MS, .waits = false };
	db = answered(&way, &way, NULL);
	is_number(db, "SELECT count(acked) FROM request", 699);
	is_within(db, "SELECT min(acked) FROM request", 299e6, 301e6);
	db_close(db);
	/* while the second of two sends ran, and nothing was left to acknowledge */
	way.acked = -100;
	db = answered(&way, &way, NULL);
	is_number(db, "SELECT count(acked) FROM request", 700);
	is_number(db, "SELECT max(acked) FROM request", 0);
	db_close(db);
}

/* Connections with one answer each, acknowledged 1 to 1.6 s later: with so many bytes. */
static sqlite3 *acked_later(int len)
{
	struct text x = { 0 };
	int i, fd;

	head_of(&x, 120);
	for (i = 0; i < 120; i++)
		text_line(&x, "40 0 connection sock=%d ino=%d conn=%d family=2 side=1", i + 1,
			  1005 + i, i + 1);
	for (i = 0; i < 120; i++, x.t += 5 * MS) {
		fd = 5 + i;
		text_line(&x, "%ld 0 segment conn=%d pos=0 len=29 written=0 unacked=0", x.t, i + 1);
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x.t + 4000,
			  fd);
		text_line(&x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", x.t + MS,
			  fd);
	}
	x.t += 1000 * MS;
	for (i = 0; i < 120; i++, x.t += 10 * MS) {
		text_line(&x, "%ld 0 segment conn=%d pos=29 len=%d written=900 unacked=0", x.t,
			  i + 1, len);
		if (len)
			text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
				  x.t + 4000, 5 + i);
	}
	return judged(&x, NULL);
}

/* Nor does it say when it could have come. */
static void a_request_without_an_answer_brings_the_ack(void **state)
{
	sqlite3 *db = acked_later(0);

	(void)state;
	is_within(db, "SELECT acked_p99 FROM verdict", 1500e6, 2500e6);
	db_close(db);
	db = acked_later(29);
	is_within(db, "SELECT count(acked) FROM request", 119, 120);
	is_number(db, "SELECT acked_p50 NOT NULL FROM verdict", 0);
	db_close(db);
}

#define LEFT(name) FINDING_VALUE("verdict_nagle_left", name, "v.number")

/* Recorded: the latency ends when the last part leaves. */
static void what_is_recorded_is_latency(void **state)
{
	struct way way = held;
	sqlite3 *db;

	(void)state;
	way.left = true;
	db = always(&way, 20 * MS);
	is_verdict(db, "problem", "nagle");
	is_number(db, LEFT("n"), 450);
	is_within(db, LEFT("of"), 599, 600);
	is_within(db, LEFT("late"), 39.9e6, 44e6);
	is_within(db, FINDING_VALUE("nagle_held", "ack", "v.number"), 40e6, 40e6);
	is_number(db, ALWAYS, 0);
	is_within(db, "SELECT p50 FROM verdict", 39.9e6, 44e6);
	is_within(db, "SELECT avg(acked) FROM request WHERE held > 0", 49e3, 51e3);
	db_close(db);
}

/* What begins later is a change of the latency, and has a cause. */
static void what_begins_later_is_a_change(void **state)
{
	struct way way = held;
	sqlite3 *db;

	(void)state;
	way.left = true;
	db = answered(&quick, &way, NULL);
	is_verdict(db, "problem", "slower");
	is_within(db, "SELECT start FROM verdict", 9.5e9, 10.5e9);
	is_within(db, "SELECT slow FROM verdict", 39e6, 45e6);
	analysed(db, "causes");
	is_within(db, "SELECT contribution FROM cause WHERE category='unsent'", 0.9, 1);
	is_number(db, FINDING_VALUE("verdict_nagle_left", "n", "count(v.number)"), 0);
	db_close(db);
}

/* A client that has the answer delays its ACK, or is far: nothing was held. */
static void a_late_ack_is_no_latency(void **state)
{
	const struct way ways[] = { { 2, 40 * MS, 4 * MS, 100 * MS, .again = false },
				    { 2, 60 * MS, MS, 200 * US, .waits = true } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		sqlite3 *db = always(&ways[i], 0);

		is_within(db, "SELECT max FROM verdict", 1, 1e6);
		is_number(db, "SELECT count(*) FROM request WHERE held > 0", 0);
		is_verdict(db, "none", "");
		db_close(db);
	}
}

static void check_path(struct way then, s64 least)
{
	sqlite3 *db = answered(&quick, &then, NULL);

	if (least)
		is_within(db, "SELECT acked_p99 FROM verdict WHERE rank=1", least, 1.1 * least);
	else
		is_null(db, "SELECT acked_p99 FROM verdict WHERE rank=1");
	is_within(db, "SELECT p99 FROM verdict WHERE rank=1", 0, 1e6);
	db_close(db);
}

/* What waits below the socket shows in the ACK; no delayed ACK, and none that a request brings. */
static void a_narrow_link_is_in_the_time_to_the_ack(void **state)
{
	(void)state;
	check_path((struct way){ 1, 500 * MS, 40 * MS, 200 * US, .waits = true }, 500 * MS);
	check_path((struct way){ 1, 40 * MS, 12 * MS, 200 * US, .waits = true }, 0);
	check_path((struct way){ 1, 9000 * MS, 40 * MS, 500 * MS, .waits = false }, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_that_are_held_back_are_a_problem),
		cmocka_unit_test(a_complete_answer_is_not),
		cmocka_unit_test(a_client_that_thinks_as_long_is_not),
		cmocka_unit_test(a_far_network_is_not),
		cmocka_unit_test(they_are_said_if_they_always_were),
		cmocka_unit_test(a_recorder_that_marks_them_decides),
		cmocka_unit_test(clients_that_have_the_answer_are_not),
		cmocka_unit_test(what_is_sent_again_is_not),
		cmocka_unit_test(an_ack_within_the_send_is_not_late),
		cmocka_unit_test(a_request_without_an_answer_brings_the_ack),
		cmocka_unit_test(what_is_recorded_is_latency),
		cmocka_unit_test(what_begins_later_is_a_change),
		cmocka_unit_test(a_late_ack_is_no_latency),
		cmocka_unit_test(a_narrow_link_is_in_the_time_to_the_ack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
