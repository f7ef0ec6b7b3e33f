// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_asks.c: requests that ask another server more often. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define SHARED 2 /* requests that a thread works on at once */

/* A question of each request, on connections of their own; the answers arrive after some time. */
static long question_by(struct text *x, int first, int together, long at, long each)
{
	int i;

	for (i = 0; i < together; i++)
		text_line(x, "%ld 100 syscall nr=write fd=%d dur=200 ret=20", at + 300 * i,
			  first + i);
	text_line(x, "%ld 100 switch next=0 state=1", at + 1000);
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", at + each,
		  at + each + 500);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1",
		  at + each + 700, each - 1000);
	for (i = 0; i < together; i++)
		text_line(x, "%ld 100 syscall nr=read fd=%d dur=200 ret=30",
			  at + each + 1000 + 300 * i, first + i);
	return at + each + 2000;
}

static long question(struct text *x, int together, long at, long each)
{
	return question_by(x, 20, together, at, each);
}

/* Requests that are read together, and answered when all their questions have answers. */
static void asking(struct text *x, int together, int questions, long each)
{
	long at = x->t + 4000;
	int i;

	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
		  x->t + 2000);
	for (i = 0; i < together; i++)
		text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200",
			  x->t + 3000 + 300 * i, 5 + i);
	for (i = 0; i < questions; i++)
		at = question(x, together, at + 1000, each);
	for (i = 0; i < together; i++)
		text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200",
			  at + 1000 + 300 * i, 5 + i);
	text_line(x, "%ld 100 switch next=0 state=1", at + 3000);
	x->t = at + 4000;
}

struct load {
	int together, questions[2]; /* of a request, before and after half of the time */
	long each[2];
};

static sqlite3 *recorded(const struct load *l)
{
	struct text x = { 0 };
	int half, i;

	srand(1);
	head_of(&x, 4);
	text_line(&x, "@recorder");
	for (i = 20; i < 20 + SHARED; i++)
		text_line(&x,
			  "%d 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=3 socktype=1"
			  " sport=%d dport=6379 saddr=127.0.0.1 daddr=127.0.0.1",
			  13 + i, i, 1000 + i, 5000 + i);
	text_line(&x, "@cpu 0");
	for (half = 0; half < 2; half++)
		for (i = 0; i < 300; i++) {
			asking(&x, l->together, l->questions[half],
			       l->each[half] - rand() % (l->each[half] / 3));
			x.t += 9 * MS;
		}
	return judged(&x, NULL);
}

static void said(const struct load *l, s64 n)
{
	sqlite3 *db = recorded(l);

	is_verdict(db, "problem", "slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_asks'", n);
	if (n) {
		is_text(db, FINDING_VALUE("verdict_asks", "address", "v.text"), "127.0.0.1:6379");
		is_number(db, FINDING_VALUE("verdict_asks", "n", "round(v.number)"),
			  l->questions[1]);
		is_number(db, FINDING_VALUE("verdict_asks", "before", "round(v.number)"),
			  l->questions[0]);
	}
	db_close(db);
}

static void more_questions_are_said(void **state)
{
	const struct load more = { 1, { 1, 20 }, { MS, MS } };
	const struct load first = { 1, { 0, 8 }, { MS, MS } };
	const struct load shared = { SHARED, { 1, 20 }, { MS, MS } };

	/* their answers take longer than the few did */
	const struct load slower = { 1, { 1, 4 }, { MS / 2, MS } };

	(void)state;
	said(&slower, 1);
	said(&more, 1);
	said(&first, 1);
	said(&shared, 1);
}

/* The upstream takes longer: the questions are as many, or a few more. */
static void longer_answers_are_not_more_questions(void **state)
{
	const struct load longer = { 1, { 3, 3 }, { MS, 8 * MS } };
	const struct load few_more = { 1, { 3, 4 }, { MS, 8 * MS } };

	/* a second try of each */
	const struct load retried = { 1, { 1, 2 }, { MS, 4 * MS } };

	(void)state;
	said(&retried, 0);
	said(&longer, 0);
	said(&few_more, 0);
}

/* Of two names in turn, from the middle on one asks more often: the average is of that one. */
static void questions_of_other_names_do_not_count(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i, k;
	long t, at;

	(void)state;
	head_of(&x, 4);
	text_line(&x, "@recorder\n2 0 info text=\"groups=core,syscalls,sched,requests\"");
	text_line(&x, "33 100 fd pid=100 fd=20 mode=0140000 ino=1020 family=2 role=3 socktype=1"
		      " sport=5000 dport=6379 saddr=127.0.0.1 daddr=127.0.0.1");
	text_line(&x, "34 0 request_name id=1 protocol=1 name=\"GET /a\"\n"
		      "34 0 request_name id=2 protocol=1 name=\"GET /b\"\n@cpu 0");
	for (k = 0; k < 2; k++)
		text_line(&x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 100 + k,
			  k + 1, 1005 + k, k + 1);
	for (i = 0; i < 600; i++) {
		t = x.t;
		at = t + 4000;
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t,
			  t + 1000);
		text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
			  t + 2000);
		text_line(&x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", t + 3000,
			  5 + i % 2);
		text_line(&x, "%ld 100 head conn=%d pos=%d len=29 name=%d requests=1", t + 3000,
			  1 + i % 2, 29 * (i / 2 + 1), 1 + i % 2);
		for (k = 0; k < (i >= 300 && i % 2 ? 20 : 1); k++)
			at = question(&x, 1, at + 1000, MS - rand() % (MS / 3));
		text_line(&x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", at + 1000,
			  5 + i % 2);
		text_line(&x, "%ld 100 switch next=0 state=1", at + 3000);
		x.t = at + 9 * MS;
	}
	db = judged(&x, NULL);
	is_verdict(db, "problem", "slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_names'", 1);
	is_number(db, FINDING_VALUE("verdict_asks", "n", "round(v.number)"), 20);
	is_number(db, FINDING_VALUE("verdict_asks", "before", "round(v.number)"), 1);
	/* the verdict has its name */
	is_number(db, FINDING_VALUE("verdict_asks", "of_name", "count(v.number)"), 0);
	db_close(db);
}

/* Each request asks one of two upstreams; the second gets every other one, or all later. */
static sqlite3 *balanced(bool shifted, long later)
{
	struct text x = { 0 };
	long at, each;
	int i, k;

	srand(1);
	head_of(&x, 4);
	text_line(&x, "@recorder");
	for (k = 0; k < 2; k++)
		text_line(&x,
			  "%d 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=3 socktype=1"
			  " sport=%d dport=%d saddr=127.0.0.1 daddr=127.0.0.1",
			  13 + k, 20 + k, 1000 + k, 5000 + k, 8231 + k);
	text_line(&x, "@cpu 0");
	for (i = 0; i < 600; i++) {
		k = (shifted && i >= 300) || i % 2 == 0;
		each = k && i >= 300 ? later : MS;
		at = x.t + 4000;
		text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t,
			  x.t + 1000);
		text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
			  x.t + 2000);
		text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t + 3000);
		at = question_by(&x, 20 + k, 1, at + 1000, each - rand() % (each / 3));
		text_line(&x, "%ld 100 syscall nr=write fd=5 ret=900 count=900 dur=200", at + 1000);
		text_line(&x, "%ld 100 switch next=0 state=1", at + 3000);
		x.t = at + 9 * MS;
	}
	return judged(&x, NULL);
}

static void an_upstream_that_gets_the_share_of_another_is_said(void **state)
{
	sqlite3 *db = balanced(true, 8 * MS);

	(void)state;
	is_verdict(db, "problem", "slower");
	is_text(db, FINDING_VALUE("verdict_shifted", "upstream", "v.text"), "127.0.0.1:8232");
	is_within(db, FINDING_VALUE("verdict_shifted", "share", "v.number"), 99, 100);
	is_within(db, FINDING_VALUE("verdict_shifted", "before", "v.number"), 49, 51);
	is_text(db, FINDING_VALUE("verdict_shifted", "other", "v.text"), "127.0.0.1:8231");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_asks'", 0);
	db_close(db);
	/* slower at the same share */
	db = balanced(false, 8 * MS);
	is_verdict(db, "problem", "slower");
	is_number(db,
		  "SELECT count(*) FROM finding WHERE kind IN ('verdict_shifted', 'verdict_asks')",
		  0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(more_questions_are_said),
		T(questions_of_other_names_do_not_count),
		T(longer_answers_are_not_more_questions),
		T(an_upstream_that_gets_the_share_of_another_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
