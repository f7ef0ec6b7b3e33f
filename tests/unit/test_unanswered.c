// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_datagrams.c: datagrams that were read and not answered. */
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdio.h>

#define MS 1000000L

/* From 5 s on one of so many questions has no answer: every 20 ms one of another port. */
struct dropped {
	int of, before; /* 0: all have one; before: in the first half */
	int ports;	/* they are from so many in turn; 0: each from another */
	int each;	/* datagrams of a call, each of another port; 0: one, by recvfrom */
	unsigned seed;	/* so many of 1000 have none instead, at random, all the time */
	int random;
	int port;	   /* of the server; 0: 53 */
	bool parts,	   /* each in two datagrams */
		none,	   /* nothing is ever sent */
		budget,	   /* 10 of 20 have one then, and two before have none */
		shared,	   /* another process has the socket as well */
		connected, /* and a socket of its own for a client */
		unknown,   /* the peer of one is not recorded */
		others;	   /* those without an answer are of another host */
	long healed;	   /* ns: all are answered again; 0: never */
};

static void datagram(struct buf *x, struct dropped f, long t, int port, int host, bool send)
{
	static const char *const calls[2][2] = { { "recvfrom", "sendto" },
						 { "recvmmsg", "sendmmsg" } };
	struct err e = { 0 };
	int i;

	for (i = 0; i < f.each + !f.each; i++)
		if (!f.unknown || port != 40100)
			buf_printf(x, &e, "%ld 100 datagram daddr=10.0.0.%d family=2 dport=%d\n", t,
				   host, port + 1000 * i);
	buf_printf(x, &e, "%ld 100 syscall nr=%s fd=5 dur=50 ret=%d\n", t, calls[f.each > 0][send],
		   f.each ? f.each : 30);
}

static void begin(struct buf *x, struct dropped f)
{
	static const char socket[] =
		"3 %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=%d socktype=2 sport=%d\n";
	int port = f.port ? f.port : 53;
	struct err e = { 0 };

	buf_printf(
		x, &e,
		"@recorder\n0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls,requests\"\n"
		"2 100 thread pid=100 state=83 comm=\"server\"\n3 102 thread pid=102 state=83\n");
	buf_printf(x, &e, socket, 100, 100, 5, 77, 4, port);
	if (f.shared)
		buf_printf(x, &e, socket, 102, 102, 5, 77, 4, port);
	if (f.connected)
		buf_printf(x, &e, socket, 100, 100, 6, 78, 3 /* connected */, port);
	buf_printf(x, &e, "10 0 info text=\"begin=10\"\n%ld 0 info text=\"stopped=%ld\"\n@cpu 0\n",
		   10000 * MS, 10000 * MS);
}

static bool is_missed(struct dropped f, int i, long t)
{
	int of = t < 5000 * MS ? f.before : f.healed && t >= f.healed ? 0 : f.of;

	if (f.random)
		return rand() % 1000 < f.random;
	if (f.budget)
		return i < 250 ? i == 239 || i == 249 : i % 20 < 10;
	return of && i % of == 0;
}

static sqlite3 *dropped(struct dropped f)
{
	struct buf x = { 0 };
	int i;

	srand(f.seed);
	begin(&x, f);
	for (i = 0; i < 480; i++) {
		int port = 40000 + (f.ports ? i % f.ports : i);
		long t = (i + 1) * 20 * MS;
		bool missed = is_missed(f, i, t);

		datagram(&x, f, t, port, f.others && missed ? 2 : 1, false);
		if (f.parts)
			datagram(&x, f, t + 100000, port, 1, false);
		if (!f.none && !missed)
			datagram(&x, f, t + 200000, port, 1, true);
	}
	return analysed(loaded_buf(&x), "verdict");
}

#define VERDICT		"SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define QUESTIONS(what) FINDING_VALUE("verdict_datagrams", what, "v.number")

static void questions_that_are_not_answered(void **state)
{
	sqlite3 *db = dropped((struct dropped){ .of = 2 });

	(void)state;
	is_text(db, VERDICT, "problem unanswered");
	is_number(db, QUESTIONS("n"), 115);
	is_number(db, QUESTIONS("of"), 230);
	is_number(db, QUESTIONS("before"), 249); /* without the first of the host */
	is_within(db, QUESTIONS("start"), 4990 * MS, 5030 * MS);
	is_null(db, QUESTIONS("end"));
	is_within(db, QUESTIONS("asked"), 46, 50);
	is_within(db, QUESTIONS("sent"), 23, 25);
	is_within(db, QUESTIONS("sent_before"), 49, 51);
	is_number(db, "SELECT unanswered FROM verdict", 115);
	is_within(db, "SELECT rate FROM verdict", 47.5, 48.5); /* what was asked */
	db_close(db);
	/* by calls that move several */
	db = dropped((struct dropped){ .of = 2, .each = 8 });
	is_number(db, QUESTIONS("n"), 8 * 115);
	is_number(db, QUESTIONS("of"), 8 * 230);
	is_number(db, QUESTIONS("before"), 8 * 250 - 1);
	db_close(db);
	db = dropped((struct dropped){ .of = 2, .healed = 7000 * MS });
	is_within(db, QUESTIONS("end"), 6900 * MS, 7000 * MS);
	db_close(db);
	/* from the first on that has no longer gaps than the later ones */
	db = dropped((struct dropped){ .budget = true });
	is_number(db, QUESTIONS("n"), 112);
	is_within(db, QUESTIONS("start"), 4799 * MS, 4801 * MS);
	is_null(db, QUESTIONS("end")); /* the last have one, for no longer than others */
	db_close(db);
}

static void datagrams_that_need_no_answer(void **state)
{
	static const struct dropped others[] = {
		{ .of = 0 },
		{ .of = 2, .before = 2 },
		{ .of = 2, .before = 10 },
		{ .of = 2, .ports = 1 }, /* the next one 20 ms later; 80 ms */
		{ .of = 2, .ports = 4 },
		{ .parts = true },
		{ .none = true },
		{ .of = 2, .shared = true },
		{ .of = 2, .each = 1, .unknown = true },
		{ .of = 2, .connected = true },
		{ .of = 2, .others = true }, /* as who scans */
		{ .of = 2, .port = 162 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		sqlite3 *db = dropped(others[i]);

		is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_datagrams'", 0);
		is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
		if (others[i].none)
			is_number(db, "SELECT count(*) FROM question_unanswered", 0);
		db_close(db);
	}
}

/* The same share all the time seems to change somewhere. */
static void a_random_share_is_no_change(void **state)
{
	static const int shares[] = { 10, 30, 60, 200 };
	int found = 0, i;

	(void)state;
	for (i = 0; i < 24; i++) {
		sqlite3 *db = dropped((struct dropped){ .random = shares[i % 4], .seed = i });
		s64 n = 0;
		struct err e = { 0 };

		assert_true(db_int(db, &n, &e,
				   "SELECT count(*) FROM finding WHERE kind='verdict_datagrams'",
				   "") >= 0);
		found += n > 0;
		db_close(db);
	}
	assert_in_range(found, 0, 1);
}

/* More have no answer than are kept open, and from more ports than are kept. */
static void many_have_no_answer(void **state)
{
	struct dropped f = { 0 };
	struct buf x = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	begin(&x, f);
	for (i = 0; i < 250; i++) {
		datagram(&x, f, (i + 1) * 20 * MS, 40000 + i, 1, false);
		datagram(&x, f, (i + 1) * 20 * MS + 200000, 40000 + i, 1, true);
	}
	for (i = 0; i < 20000; i++) {
		long t = 5100 * MS + i * 50000L;

		datagram(&x, f, t, 41000 + i, 1, false);
		if (i % 400 == 0) {
			datagram(&x, f, t + 10000, 40000 + i / 400, 1, false);
			datagram(&x, f, t + 20000, 40000 + i / 400, 1, true);
		}
	}
	for (i = 0; i < 190; i++) {
		datagram(&x, f, 6120 * MS + i * 20 * MS, 40000 + i, 1, false);
		datagram(&x, f, 6120 * MS + i * 20 * MS + 200000, 40000 + i, 1, true);
	}
	db = analysed(loaded_buf(&x), NULL);
	is_text(db, VERDICT, "problem unanswered");
	is_within(db, QUESTIONS("n"), 18000, 20000);
	is_within(db, QUESTIONS("start"), 5099 * MS, 5101 * MS);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(questions_that_are_not_answered),
		T(datagrams_that_need_no_answer),
		T(a_random_share_is_no_change),
		T(many_have_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
