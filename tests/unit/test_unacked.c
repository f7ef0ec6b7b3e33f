// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/queues/verdict_unacked.c: answers that TCP still sends again at the end. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define OTHERS 4   /* connections that go on */
#define STUCK  4   /* the others */
#define LONG   100 /* rounds of one answer to each */
#define MANY   12  /* connections whose host drops large segments */

/* What becomes of the connections with large answers, from the half of the recording on. */
struct way {
	long first, factor; /* ns until a segment is sent again; times so much each time */
	int times;	    /* at most */
	bool acked;	    /* at last */
	bool closed, lost, shared;
	int stuck;  /* connections */
	int others; /* answers to others are as large; 0: not, -1: there are none any more */
};

static const struct way doubling = { 200 * MS, 2, 9, false, false, false, true, STUCK, 0 };

static void connections(struct text *x, const struct way *w, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		text_line(
			x,
			"20 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80 "
			"dport=%d saddr=127.0.0.1 daddr=10.0.0.%d",
			5 + i, 1005 + i, 40005 + i, i < OTHERS || w->shared ? 9 : 10 + i);
		text_line(x, "21 0 connection sock=%d ino=%d conn=%d family=2 side=1", 1 + i,
			  1005 + i, 1 + i);
	}
}

/* An answer on a connection; acked: the ACK of it. */
static void answer(struct text *x, int i, int bytes, long *sent, bool acked)
{
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x->t, 5 + i);
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=%d count=%d dur=200", x->t + MS / 10,
		  5 + i, bytes, bytes);
	*sent += bytes;
	x->t += MS;
	if (acked)
		text_line(x, "%ld 0 segment conn=%d pos=0 len=0 written=%ld unacked=0",
			  x->t - MS / 2, 1 + i, *sent);
}

/* Segments that are due until this time. */
static void again(struct text *x, const struct way *w, long since[], long due[], int times[])
{
	int i;

	for (i = 0; i < w->stuck; i++) {
		if (since[i] + due[i] > x->t || times[i] >= w->times)
			continue;
		text_line(x,
			  "%ld 0 tcp_retransmit sock=%d ino=%d family=2 sport=80 dport=%d state=1"
			  " saddr=127.0.0.1 daddr=10.0.0.%d",
			  x->t, 1 + OTHERS + i, 1005 + OTHERS + i, 40005 + OTHERS + i,
			  w->shared ? 9 : 10 + OTHERS + i);
		since[i] = x->t;
		due[i] *= w->factor;
		times[i]++;
		x->t += 1000;
	}
}

static sqlite3 *ended(const struct way *w)
{
	long sent[OTHERS + STUCK] = { 0 }, since[STUCK] = { 0 }, due[STUCK];
	int i, k, times[STUCK] = { 0 };
	struct text x = { 0 };

	head_of(&x, 0);
	connections(&x, w, OTHERS + STUCK);
	for (k = 0; k < LONG; k++) {
		for (i = 0; i < OTHERS && (w->others >= 0 || k <= LONG / 2); i++)
			answer(&x, i, w->others > 0 && k % 2 ? 20000 : 200, &sent[i], true);
		for (i = 0; i < STUCK && k <= LONG / 2; i++) {
			answer(&x, OTHERS + i, 20000, &sent[OTHERS + i],
			       k < LONG / 2 || i >= w->stuck);
			since[i] = x.t;
			due[i] = w->first;
		}
		if (k > LONG / 2)
			again(&x, w, since, due, times);
		x.t += 40 * MS;
	}
	for (i = 0; i < STUCK; i++) {
		if (w->acked)
			text_line(&x, "%ld 0 segment conn=%d pos=0 len=0 written=%ld unacked=0",
				  x.t, 1 + OTHERS + i, sent[OTHERS + i]);
		if (w->closed)
			text_line(&x, "%ld 100 syscall nr=close fd=%d ret=0", x.t, 5 + OTHERS + i);
		x.t += 1000;
	}
	if (w->lost)
		text_line(&x,
			  "@block\n@lost 3\n%ld 0 waking target=100\n%ld 0 counters"
			  " group=syscalls seen=900 emitted=897 lost_full=3",
			  x.t, x.t + 1000);
	return judged(&x, NULL);
}

#define SAID(name) FINDING_VALUE("verdict_unacked", name, "v.number")
#define PATH(name) FINDING_VALUE("unacked_path", name, "v.number")

static void answers_that_never_arrive_are_a_problem(void **state)
{
	struct way w = doubling;
	sqlite3 *db = ended(&w);

	(void)state;
	is_verdict(db, "problem", "unacked");
	is_number(db, "SELECT n FROM verdict", 4);
	is_number(db, PATH("connections"), 4);
	is_within(db, SAID("max"), 1.9e9, 2.4e9);
	is_number(db, SAID("segments"), 12);
	is_number(db, PATH("largest"), 200);
	is_number(db, PATH("least"), 20000);
	db_close(db);
	w.others = 1; /* large ones arrive as well */
	db = ended(&w);
	is_verdict(db, "problem", "unacked");
	is_number(db, "SELECT count(number) FROM finding_value WHERE name='largest'", 0);
	db_close(db);
}

static void clients_that_are_gone_are_not(void **state)
{
	struct way w = doubling;
	sqlite3 *db;

	(void)state;
	w.shared = false;
	w.stuck = 2; /* addresses of their own */
	db = ended(&w);
	is_number(db, "SELECT count(*) > 0 FROM retransmit", 1);
	is_verdict(db, "none", "");
	db_close(db);
	w.stuck = 3; /* of eight connections: clients go, now and then */
	db = ended(&w);
	is_verdict(db, "none", "");
	db_close(db);
	w.stuck = STUCK;
	db = ended(&w);
	is_verdict(db, "problem", "unacked");
	is_number(db, "SELECT count(number) FROM finding_value WHERE name='passed'", 0);
	db_close(db);
	w = doubling;
	w.stuck = 1;
	db = ended(&w);
	is_verdict(db, "none", "");
	db_close(db);
}

static void other_ends_are_not(void **state)
{
	static const struct way none = { 200 * MS, 2, 0, false, false, false, true, STUCK, 0 };
	struct way w = none;
	sqlite3 *db = ended(&w); /* nothing is sent again, as if ACKs were not seen */

	(void)state;
	is_verdict(db, "none", "");
	db_close(db);
	w = doubling;
	w.times = 2;
	db = ended(&w);
	is_verdict(db, "none", "");
	db_close(db);
	w = doubling;
	w.factor = 1; /* ACKs of parts come */
	db = ended(&w);
	is_verdict(db, "none", "");
	db_close(db);
	w = doubling;
	w.first = 50 * MS;
	w.times = 3; /* the next would have been long ago */
	db = ended(&w);
	is_verdict(db, "none", "");
	db_close(db);
	w = doubling;
	w.closed = true;
	db = ended(&w);
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='unacked'", 0);
	db_close(db);
	w = doubling;
	w.acked = true;
	db = ended(&w);
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='unacked'", 0);
	db_close(db);
	w = doubling;
	w.lost = true;
	db = ended(&w);
	is_number(db, "SELECT count(*) > 0 FROM loss", 1);
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='unacked'", 0);
	db_close(db);
}

/* From the half on no large answer is acknowledged, and none sent again: but one, if that arrives.
 */
static sqlite3 *dropped(int bytes, bool arrives)
{
	long sent[OTHERS + MANY] = { 0 };
	struct text x = { 0 };
	int i, k;

	head_of(&x, 0);
	connections(&x, &doubling, OTHERS + MANY);
	for (k = 0; k < LONG; k++) {
		for (i = 0; i < OTHERS; i++)
			answer(&x, i, 200, &sent[i], true);
		if (arrives && k == LONG * 3 / 4)
			answer(&x, 0, bytes, &sent[0], true);
		for (i = OTHERS; i < OTHERS + MANY && k <= LONG / 2; i++)
			answer(&x, i, bytes, &sent[i], k < LONG / 2);
		x.t += 40 * MS;
	}
	return judged(&x, NULL);
}

static void large_ones_that_the_host_drops(void **state)
{
	sqlite3 *db = dropped(20000, false);

	(void)state;
	is_verdict(db, "problem", "unacked");
	is_number(db, "SELECT n FROM verdict", MANY);
	is_number(db, PATH("largest"), 200);
	is_number(db, PATH("least"), 20000);
	is_number(db, "SELECT count(number) FROM finding_value WHERE name='segments'", 0);
	db_close(db);
	db = dropped(20000, true); /* as large, and acknowledged since */
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='unacked'", 0);
	db_close(db);
	db = dropped(200000, false); /* clients may read it slowly */
	is_number(db, "SELECT count(*) FROM verdict WHERE kind='unacked'", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_that_never_arrive_are_a_problem),
		cmocka_unit_test(clients_that_are_gone_are_not),
		cmocka_unit_test(other_ends_are_not),
		cmocka_unit_test(large_ones_that_the_host_drops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
