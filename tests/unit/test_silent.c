// SPDX-License-Identifier: GPL-2.0-or-later
/* verdict_silent.c: another server that answers nothing any more, and what only looks so. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define ASKED 40 /* of which the second half is as the way says; later ones have answers */
#define LATER 20

enum way {
	SILENT,	 /* no answer, and the socket is closed 30 ms later */
	ANSWERS, /* all of them */
	NEVER,	 /* the first half has none either, as metrics */
	STOPS,	 /* nothing is asked in the second half */
	CLOSED,	 /* closed at once: it may have been on its way */
	SOME,	 /* every other one has an answer */
	STREAM,	 /* over TCP */
	SHORT,	 /* it answers later, after less than a pause */
	AGAIN,	 /* it answers later */
};

/* A socket of its own for each question, as a resolver has; its answer takes 2 ms. */
static void ask(struct text *x, bool answer, long until, int type)
{
	long t = x->t;

	text_line(x,
		  "%ld 100 fd pid=100 fd=20 mode=0140000 ino=77 family=2 role=connected socktype=%d"
		  " sport=4000 dport=53 saddr=10.0.0.1 daddr=192.0.2.1",
		  t, type);
	text_line(x, "%ld 100 syscall nr=write fd=20 ret=29 count=29 dur=200", t + 1000);
	if (answer)
		text_line(x, "%ld 100 syscall nr=read fd=20 ret=29 count=99 dur=200", t + 2 * MS);
	text_line(x, "%ld 100 syscall nr=close fd=20 dur=100", t + until);
	x->t = t + until + MS;
}

static sqlite3 *resolved(enum way way, const char *facts)
{
	struct text x = { 0 };
	bool answer;
	int i;

	head(&x);
	text_line(&x, "@recorder\n%s@cpu 0", facts);
	many(&x, 150, 100000, MS);
	for (i = 0; i < ASKED; i++) {
		bool second = i >= ASKED / 2;

		answer = way == NEVER ? false : !second || way == ANSWERS || (way == SOME && i % 2);
		if (!second || way != STOPS)
			ask(&x, answer,
			    answer	    ? 3 * MS
			    : way == CLOSED ? MS
					    : 30 * MS,
			    way == STREAM ? 1 : 2);
		else
			x.t += 31 * MS;
	}
	for (i = 0; way >= SHORT && i < LATER; i++)
		ask(&x, true, 3 * MS, 2);
	many(&x, 150, 100000, MS);
	return judged(
		&x, way == SHORT
			    ? "INSERT INTO recording (key, value) VALUES ('limit_pause_ns', '1e9')"
			    : NULL);
}

/* The process of that address, stopped, or not recorded. */
#define STOPPED_AT(address)                                                                  \
	"33 200 thread pid=200 state=84 comm=\"resolver\"\n"                                 \
	"33 200 fd pid=200 fd=3 mode=0140000 ino=88 family=2 role=bound socktype=2 sport=53" \
	" saddr=" address "\n"

static void an_upstream_that_falls_silent_is_a_problem(void **state)
{
	sqlite3 *db = resolved(SILENT, "");

	(void)state;
	is_text(db, "SELECT status FROM verdict", "problem");
	is_text(db, "SELECT kind FROM verdict", "silent");
	is_text(db, FINDING_VALUE("verdict_silent", "address", "v.text"), "192.0.2.1:53");
	is_number(db, FINDING_VALUE("verdict_silent", "n", "v.number"), ASKED / 2);
	is_number(db, FINDING_VALUE("verdict_silent", "answered", "v.number"), ASKED / 2);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='silent_unknown'", 1);
	is_number(db, "SELECT count(*) FROM upstream_unanswered WHERE closed", ASKED / 2);
	db_close(db);
	db = resolved(SILENT, STOPPED_AT("192.0.2.1"));
	is_number(db, FINDING_VALUE("silent_process", "process", "v.id"), 200);
	is_text(db, FINDING_VALUE("silent_process", "state", "v.text"), "stopped");
	db_close(db);
	/* on all addresses; and another one */
	db = resolved(SILENT, STOPPED_AT("0.0.0.0"));
	is_number(db, FINDING_VALUE("silent_process", "process", "v.id"), 200);
	db_close(db);
	db = resolved(SILENT, STOPPED_AT("192.0.2.2"));
	is_number(db, "SELECT count(*) FROM finding WHERE kind='silent_unknown'", 1);
	db_close(db);
}

/* The time in which it answered nothing has an end. */
static void one_that_answers_again_was_silent(void **state)
{
	sqlite3 *db = resolved(AGAIN, STOPPED_AT("192.0.2.1"));

	(void)state;
	is_verdict(db, "problem", "silent");
	is_number(db, FINDING_VALUE("verdict_silent", "n", "v.number"), ASKED / 2);
	is_number(db, FINDING_VALUE("verdict_silent", "answered", "v.number"), ASKED / 2 + LATER);
	is_number(db, FINDING_VALUE("verdict_silent", "before", "v.number"), ASKED / 2 + LATER);
	is_number(
		db,
		"SELECT start=(SELECT min(ts) FROM upstream_unanswered) AND end=(SELECT max(ts) FROM"
		" upstream_unanswered) FROM verdict",
		1);
	db_close(db);
}

/* Requests that get slower next to it, by less time than its questions waited; pauses, by more. */
static void it_is_said_next_to_what_it_outweighs(void **state)
{
	static const char *const kinds[] = { "silent", "pauses" };
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct text x = { 0 };
		sqlite3 *db;
		int k;

		head(&x);
		many(&x, 150, 100000, MS);
		for (k = 0; k < ASKED; k++)
			ask(&x, k < ASKED / 2, k < ASKED / 2 ? 3 * MS : 30 * MS, 2);
		many(&x, 100, i ? 40 * MS : 4 * MS, MS);
		db = judged(&x, NULL);
		is_verdict(db, "problem", kinds[i]);
		is_number(
			db,
			"SELECT count(*) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
			" f.kind='verdict_silent' AND v.name='slower' AND v.number NOT NULL",
			!i);
		db_close(db);
	}
}

/* A resolver without known peers: three questions of a client, two answers. */
static void datagrams_of_clients_are_counted(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	head(&x);
	text_line(&x,
		  "@recorder\n25 100 fd pid=100 fd=9 mode=0140000 ino=90 family=2 role=4 socktype=2"
		  " sport=53 saddr=10.0.0.1\n@cpu 0");
	many(&x, 150, 100000, MS);
	for (i = 0; i < ASKED; i++) {
		text_line(&x, "%ld 100 syscall nr=recvmmsg fd=9 ret=3 dur=200", x.t + 500);
		ask(&x, i < ASKED / 2, i < ASKED / 2 ? 3 * MS : 30 * MS, 2);
		text_line(&x, "%ld 100 syscall nr=sendmmsg fd=9 ret=2 dur=200", x.t - 500);
	}
	many(&x, 150, 100000, MS);
	db = judged(&x, NULL);
	is_number(db, FINDING_VALUE("verdict_silent", "received", "max(v.number)"),
		  3 * (ASKED / 2 - 1));
	is_number(db, FINDING_VALUE("verdict_silent", "sent", "max(v.number)"), 2 * (ASKED / 2));
	db_close(db);
}

static void others_are_not_silent(void **state)
{
	enum way way;

	(void)state;
	for (way = ANSWERS; way <= SHORT; way++) {
		sqlite3 *db = resolved(way, "");

		is_number(db, "SELECT count(*) FROM verdict WHERE kind='silent'", 0);
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_upstream_that_falls_silent_is_a_problem),
		T(one_that_answers_again_was_silent),
		T(it_is_said_next_to_what_it_outweighs),
		T(datagrams_of_clients_are_counted),
		T(others_are_not_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
