// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/queues/verdict_resent.c: answers that TCP sends again. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#include <stdlib.h>

#define CONNECTION "0 connection sock=1 ino=1005 conn=1 family=2 side=1"

static long served; /* requests on the connection so far */

static void others(struct text *x, int n)
{
	many(x, n, 100000, MS);
	served += (n + 2) / 3;
}

/*
 * An answer, its segments that are sent again, the last one after `late`, and its ACK, which says
 * of so many that they had come before.
 */
static bool with_next; /* the ACK that says so comes after the next answer */

static void sent_again(struct text *x, int segments, long late, int needless)
{
	int k;

	request(x, 5, 100000);
	served++;
	for (k = 1; k <= segments; k++)
		text_line(
			x,
			"%ld 0 tcp_retransmit sock=1 ino=1005 family=2 sport=80 dport=40005 state=1"
			" saddr=127.0.0.1 daddr=10.0.0.9",
			x->t + late * k / segments);
	x->t += late + MS / 10;
	text_line(x, "%ld 0 segment conn=1 pos=%ld len=0 written=%ld unacked=0 flags=%d", x->t,
		  29 * served, 900 * served, needless && !with_next ? 8 : 0);
	if (with_next) {
		request(x, 5, 100000);
		served++;
		text_line(x, "%ld 0 segment_next conn=1 len=0 flags=12", x->t);
	}
	for (k = 1; k < needless; k++)
		text_line(x, "%ld 0 segment_next conn=1 len=0 flags=12", x->t + k);
	x->t += MS;
}

/* Of 600 answers so many. */
static sqlite3 *resent_to(int answers, int segments, long late, int needless)
{
	struct text x = { 0 };
	int i;

	srand(3);
	served = 0;
	head(&x);
	text_line(&x, "40 " CONNECTION);
	others(&x, 200);
	for (i = 0; i < answers; i++)
		sent_again(&x, segments, late, needless);
	others(&x, 400 - answers);
	return judged(&x, NULL);
}

static sqlite3 *resent(int answers, int segments, long late)
{
	return resent_to(answers, segments, late, 0);
}

static void answers_that_are_sent_again_are_a_problem(void **state)
{
	sqlite3 *db = resent(20, 1, 200 * MS);

	(void)state;
	is_verdict(db, "problem", "resent");
	is_number(db, "SELECT n FROM verdict", 20);
	is_number(db, FINDING_VALUE("verdict_resent", "of", "v.number"), 20);
	is_within(db, FINDING_VALUE("verdict_resent", "late", "v.number"), 199e6, 201e6);
	is_text(db, FINDING_VALUE("resent_path", "client", "v.kind"), "client");
	is_number(db, FINDING_VALUE("resent_path", "segments", "v.number"), 20);
	db_close(db);
	db = resent(20, 3, 200 * MS); /* the last of three ends the wait of one client */
	is_number(db, "SELECT n FROM verdict", 20);
	is_number(db, FINDING_VALUE("resent_path", "segments", "v.number"), 60);
	is_within(db, FINDING_VALUE("verdict_resent", "max", "v.number"), 199e6, 201e6);
	db_close(db);
}

static void few_or_quick_ones_are_not(void **state)
{
	sqlite3 *db = resent(0, 1, 0);

	(void)state;
	is_verdict(db, "none", "");
	db_close(db);
	db = resent(5, 1, 200 * MS);
	is_verdict(db, "none", "");
	db_close(db);
	db = resent(20, 1, MS / 2); /* below the limit of latency */
	is_verdict(db, "none", "");
	db_close(db);
}

/* Each answer was acknowledged at once: what is sent again is something else, as a push. */
static void what_was_acknowledged_is_not(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	srand(3);
	served = 0;
	head(&x);
	text_line(&x, "40 " CONNECTION);
	others(&x, 200);
	for (i = 0; i < 20; i++) {
		sent_again(&x, 0, 0, 0);
		text_line(
			&x,
			"%ld 0 tcp_retransmit sock=1 ino=1005 family=2 sport=80 dport=40005 state=1"
			" saddr=127.0.0.1 daddr=10.0.0.9",
			x.t + 200 * MS);
		x.t += 201 * MS;
	}
	db = judged(&x, NULL);
	is_number(db, "SELECT count(*) FROM retransmit", 20);
	is_verdict(db, "none", "");
	db_close(db);
}

/* A client that delays its ACK, or gets no CPU to send it, has the answer: it says so. */
static void what_the_client_had_is_not(void **state)
{
	sqlite3 *db = resent_to(20, 1, 200 * MS, 1);

	(void)state;
	is_number(db, "SELECT count(*) FROM dsack", 20);
	is_verdict(db, "none", "");
	db_close(db);
	db = resent_to(20, 3, 200 * MS, 3);
	is_number(db, "SELECT count(*) FROM dsack", 60);
	is_verdict(db, "none", "");
	db_close(db);
	with_next = true;
	db = resent_to(20, 1, 200 * MS, 1);
	is_number(db, "SELECT count(*) FROM dsack", 20);
	is_verdict(db, "none", "");
	db_close(db);
	with_next = false;
	/* one of two was needed: the answer was complete with the first of them at the earliest */
	db = resent_to(20, 2, 200 * MS, 1);
	is_verdict(db, "problem", "resent");
	is_within(db, FINDING_VALUE("verdict_resent", "late", "v.number"), 99e6, 101e6);
	db_close(db);
}

/* Once at the start and once at the end: two of 600. */
static void a_small_share_is_not(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	srand(3);
	head(&x);
	served = 0;
	text_line(&x, "40 " CONNECTION);
	for (i = 0; i < 2; i++) {
		sent_again(&x, 1, 200 * MS, 0);
		others(&x, i ? 0 : 600);
	}
	db = judged(&x, NULL);
	is_verdict(db, "none", "");
	db_close(db);
}

/* Pauses of 150 ms and segments that are sent again later: what clients waited longer for. */
static sqlite3 *next_to_pauses(int pauses, int answers)
{
	struct text x = { 0 };
	int i;

	srand(3);
	served = 0;
	head(&x);
	text_line(&x, "40 " CONNECTION);
	others(&x, 200);
	for (i = 0; i < pauses; i++) {
		sleeping(&x, 6, 150 * MS);
		others(&x, 30);
	}
	for (i = 0; i < answers; i++) {
		sent_again(&x, 1, 200 * MS, 0);
		others(&x, 3);
	}
	others(&x, 400);
	return judged(&x, NULL);
}

static void what_added_more_time_comes_first(void **state)
{
	sqlite3 *db = next_to_pauses(3, 110);

	(void)state;
	is_verdict(db, "problem", "resent");
	is_number(db, FINDING_VALUE("verdict_resent", "paused", "v.number"), 3);
	is_text(db, FINDING_VALUE("verdict_resent", "on_time", "coalesce(v.text, '')"), "");
	is_number(db, FINDING_VALUE("verdict_resent", "otherwise", "v.number"), 0);
	is_within(db, FINDING_VALUE("verdict_resent", "acked", "v.number"), 190e6, 220e6);
	db_close(db);
	db = next_to_pauses(40, 12);
	is_verdict(db, "problem", "pauses");
	db_close(db);
}

/* Answers that are acknowledged after so long, then those that are sent again. */
static sqlite3 *acknowledged(long late)
{
	struct text x = { 0 };
	int i;

	srand(3);
	served = 0;
	head(&x);
	text_line(&x, "40 " CONNECTION);
	for (i = 0; i < 120; i++) {
		request(&x, 5, 100000);
		served++;
		x.t += late;
		text_line(&x, "%ld 0 segment conn=1 pos=%ld len=0 written=%ld unacked=0", x.t,
			  29 * served, 900 * served);
		x.t += MS;
	}
	for (i = 0; i < 110; i++)
		sent_again(&x, 1, 200 * MS, 0);
	others(&x, 400);
	return judged(&x, NULL);
}

/* When they are acknowledged is said only where it is later than otherwise. */
static void acknowledgments_as_late_as_otherwise_are_not_said(void **state)
{
	sqlite3 *db = acknowledged(2 * MS);

	(void)state;
	is_verdict(db, "problem", "resent");
	is_within(db, FINDING_VALUE("verdict_resent", "acked", "v.number"), 190e6, 220e6);
	is_within(db, FINDING_VALUE("verdict_resent", "acked_otherwise", "v.number"), 1e6, 3e6);
	db_close(db);
	db = acknowledged(300 * MS);
	is_verdict(db, "problem", "resent");
	is_number(db, FINDING_VALUE("verdict_resent", "acked", "count(v.number)"), 0);
	db_close(db);
}

/* One client of two has a bad path: it is the problem only where there is no other. */
static sqlite3 *of_two_clients(int pauses)
{
	struct text x = { 0 };
	int i;

	srand(3);
	served = 0;
	head(&x);
	text_line(&x,
		  "20 100 fd pid=100 fd=9 mode=0140000 ino=1009 family=2 role=2 socktype=1 sport=80"
		  " dport=40009 saddr=127.0.0.1 daddr=10.0.0.7");
	text_line(&x, "40 " CONNECTION);
	others(&x, 200);
	for (i = 0; i < pauses; i++) {
		sleeping(&x, 6, 150 * MS);
		others(&x, 30);
	}
	for (i = 0; i < 20; i++) {
		sent_again(&x, 1, 200 * MS, 0);
		request(&x, 9, 100000);
		others(&x, 3);
	}
	others(&x, 400);
	return judged(&x, NULL);
}

static void one_client_of_several_is_named(void **state)
{
	sqlite3 *db = of_two_clients(0);

	(void)state;
	is_verdict(db, "problem", "resent");
	is_number(db, FINDING_VALUE("resent_path", "others", "v.number"), 1);
	db_close(db);
	db = of_two_clients(3);
	is_verdict(db, "problem", "pauses");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_that_are_sent_again_are_a_problem),
		cmocka_unit_test(few_or_quick_ones_are_not),
		cmocka_unit_test(what_was_acknowledged_is_not),
		cmocka_unit_test(what_the_client_had_is_not),
		cmocka_unit_test(a_small_share_is_not),
		cmocka_unit_test(what_added_more_time_comes_first),
		cmocka_unit_test(acknowledgments_as_late_as_otherwise_are_not_said),
		cmocka_unit_test(one_client_of_several_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
