// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/failing/verdict_crash.c: what the end of a process comes before. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS	1000000L
#define WORKERS 5
#define MASTER	50

#define FIRST	    "SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define KILLED(of)  FINDING_VALUE("verdict_killed", of, "v.number")
#define SIGNAL_NAME FINDING_VALUE("verdict_killed", "signal", "v.text")

/* Server 100 answers each 5 ms; from 5 s on it takes longer, and some of its answers are errors. */
static void answers(struct buf *x, long took, bool errors)
{
	struct err e = { 0 };
	long t, end;
	int i = 0;

	for (t = 20; t < SECONDS * 1000 - 100; t += 5, i++) {
		end = t * MS + (t < 5000 ? 300000 : took) + i % 7 * 1000;
		ask(x, 1 + i % NAMES, 100, t * MS, t * MS + 10000, end);
		if (errors && t >= 5000 && t < 7000 && i % 3)
			buf_printf(x, &e,
				   "%ld 100 answer conn=%d pos=0 len=20 status=503 protocol=1\n",
				   end, 1 + i % NAMES);
	}
}

/* Workers from 200 on, each with a connection. */
static void workers(struct buf *x)
{
	struct err e = { 0 };
	int i;

	buf_printf(x, &e, "@recorder\n");
	for (i = 0; i < WORKERS; i++)
		buf_printf(x, &e,
			   "2 20%d thread pid=20%d state=83 comm=\"server\"\n"
			   "4 20%d fd pid=20%d fd=5 mode=0140000 ino=9%d family=2 role=2 socktype=1"
			   " sport=80 dport=3%d daddr=10.0.0.9\n",
			   i, i, i, i, i, i);
}

static void answer_one(struct buf *x, int i, long t)
{
	struct err e = { 0 };

	buf_printf(x, &e,
		   "%ld 0 connection sock=9%d ino=9%d conn=9%d family=2 side=1\n"
		   "+1000 20%d syscall nr=read fd=5 dur=1 ret=10\n"
		   "+0 20%d head conn=9%d pos=10 len=10 name=1 requests=1\n"
		   "+100000 20%d syscall nr=write fd=5 dur=1 ret=10\n",
		   t, i, i, i, i, i, i, i);
}

static void ends(struct buf *x, int i, long t, int code)
{
	struct err e = { 0 };

	buf_printf(x, &e, "%ld 0 switch next=20%d\n", t - 1000, i);
	buf_printf(x, &e, "%ld 20%d ended pid=20%d parent=%d code=%d\n", t, i, i, MASTER, code);
	buf_printf(x, &e, "%ld 20%d exit pid=20%d code=%d\n", t, i, i, code);
	buf_printf(x, &e, "%ld 20%d switch next=0 state=128\n", t + 1000, i);
}

static void is_sent(struct buf *x, int i, long t, int number, int code, int sender)
{
	struct err e = { 0 };

	buf_printf(x, &e,
		   "%ld %d signal_sent target=20%d pid=20%d number=%d code=%d sender=%d"
		   " comm=\"it\"\n",
		   t, sender, i, i, number, code, sender);
}

/* Each worker ends in turn, busy with a request or not, by a signal of its own or by an exit. */
static sqlite3 *one_by_one(int number, int code, bool busy)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;
	int i;

	begin_host(&x);
	workers(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	answers(&x, 3000000, false);
	buf_printf(&x, &e, "@cpu 1\n");
	for (i = 0; i < WORKERS; i++) {
		t = (5000 + 900 * i) * MS;
		answer_one(&x, i, t - 100 * MS);
		if (busy)
			buf_printf(&x, &e,
				   "%ld 20%d syscall nr=read fd=5 dur=1 ret=10\n"
				   "+0 20%d head conn=9%d pos=20 len=10 name=2 requests=1\n",
				   t - 10 * MS, i, i, i);
		if (number)
			is_sent(&x, i, t - MS, number, number == 15 ? 0 : 1,
				number == 15 ? MASTER : 200 + i);
		ends(&x, i, t, code);
	}
	return analysed(loaded_buf(&x), NULL);
}

static void requests_lost_by_faults_come_before_a_change(void **state)
{
	sqlite3 *db = one_by_one(11, 11, true);

	(void)state;
	is_text(db, FIRST, "problem unanswered");
	is_text(db, SIGNAL_NAME, "SIGSEGV");
	is_number(db, KILLED("more"), WORKERS - 1);
	is_number(db, FINDING_VALUE("verdict_killed", "name", "v.id"), 2);
	db_close(db);
	db = one_by_one(0, 0, false); /* by an exit, between requests */
	is_text(db, FIRST, "problem slower");
	db_close(db);
	db = one_by_one(15, 15, false);
	is_text(db, FIRST, "problem slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_killed'", 0);
	db_close(db);
}

/* The first, which is idle, is killed; the others end right after it, by their parent or not. */
static sqlite3 *one_for_all(bool by_parent)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	int i;

	begin_host(&x);
	workers(&x);
	buf_printf(&x, &e, "@cpu 0\n");
	answers(&x, 3000000, true);
	buf_printf(&x, &e, "@cpu 1\n");
	for (i = 1; i < WORKERS; i++)
		answer_one(&x, i, (1000 + 10 * i) * MS);
	is_sent(&x, 0, 4900 * MS, 9, 0, 77);
	ends(&x, 0, 4901 * MS, 9);
	for (i = 1; i < WORKERS; i++) {
		if (by_parent)
			is_sent(&x, i, (4910 + 2 * i) * MS, 3, 0, MASTER);
		ends(&x, i, (4911 + 2 * i) * MS, 512);
	}
	return analysed(loaded_buf(&x), NULL);
}

static void one_because_of_which_others_are_ended(void **state)
{
	sqlite3 *db = one_for_all(true);

	(void)state;
	is_text(db, FIRST, "problem errors");
	is_text(db, SIGNAL_NAME, "SIGKILL");
	is_text(db, FINDING_VALUE("verdict_killed", "sender", "v.text"), "it[77]");
	is_number(db, KILLED("ended"), WORKERS - 1);
	is_number(db,
		  "SELECT parent=(SELECT finding FROM verdict WHERE rank=1) FROM finding WHERE"
		  " kind='verdict_killed'",
		  1);
	db_close(db);
	db = one_for_all(false);
	is_text(db, FIRST, "problem slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_killed'", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(requests_lost_by_faults_come_before_a_change),
		T(one_because_of_which_others_are_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
