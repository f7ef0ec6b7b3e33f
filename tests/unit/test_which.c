// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_which.c: which requests of a name became slower. Processes of
 * one server each have a connection.
 */
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS	  1000000L
#define PROCESSES 4
#define SECONDS	  10
#define SLOW	  6000 /* ms: from then on */

struct load {
	long took;    /* ns, since then; else 2 ms */
	int every;    /* only of each so many of a process; 0: of all */
	bool one;     /* only of process 101 */
	bool some;    /* of the others, two of five */
	bool by_name; /* of one name, which only process 101 has since then */
	bool other;   /* it takes as long before */
	int in, out;  /* bytes, since then; 0: as before, 100 and 200 */
	bool errors;  /* since then */
};

static void begin(struct text *x)
{
	int i;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1\n"
		     "1 0 info text=\"targets=all\"\n"
		     "2 0 info text=\"groups=core,syscalls,sched,requests\"");
	for (i = 0; i < PROCESSES; i++) {
		text_line(x, "3 %d thread pid=%d parent=99 state=83 comm=\"server\"", 100 + i,
			  100 + i);
		text_line(
			x,
			"4 %d fd pid=%d fd=5 mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80"
			" dport=%d saddr=127.0.0.1 daddr=10.0.0.9",
			100 + i, 100 + i, 71 + i, 4000 + i);
	}
	text_line(x, "5 0 request_name id=1 protocol=1 name=\"GET /a\"\n"
		     "5 0 request_name id=2 protocol=1 name=\"GET /b\"\n"
		     "31 0 info text=\"begin=31\"\n@cpu 0");
	for (i = 0; i < PROCESSES; i++)
		text_line(x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 100 + i,
			  i + 1, 71 + i, i + 1);
}

static sqlite3 *recorded(const struct load *l)
{
	long t, took, pos[PROCESSES] = { 0 };
	struct text x = { 0 };
	int i, k, in, out, name, n = 0;
	bool since, slow;

	begin(&x);
	for (t = 20; t < SECONDS * 1000 - 200; t += 100, n++)
		for (i = 0; i < PROCESSES; i++)
			for (k = 0; k < (t > SLOW ? 1 : 2); k++) {
				long at = t * MS + (k ? 50 * MS : 0) + i * 20 * MS;

				since = t > SLOW;
				name = l->by_name && i == 1 && (since || n % 4 == 0) ? 2 : 1;
				slow = (since || l->other) &&
				       (!l->every || (n + i) % l->every == 0) &&
				       (!l->one || i == 1 || (l->some && n % 5 < 2)) &&
				       (!l->by_name || name == 2);
				took = (slow ? l->took : 2 * MS) + at * 137 % 500000;
				in = since && l->in ? l->in : 100;
				out = since && l->out ? l->out : 200;
				text_line(&x,
					  "@cpu %d\n%ld 0 segment conn=%d pos=%ld len=%d unread=0",
					  i, at, i + 1, pos[i], in);
				text_line(&x, "%ld %d syscall nr=read fd=5 dur=1 ret=%d",
					  at + 20000, 100 + i, in);
				text_line(&x,
					  "%ld %d head conn=%d pos=%ld len=%d name=%d requests=1",
					  at + 20000, 100 + i, i + 1, pos[i], in, name);
				text_line(&x, "%ld %d syscall nr=write fd=5 dur=1 ret=%d",
					  at + 20000 + took, 100 + i, out);
				if (since && l->errors)
					text_line(&x,
						  "%ld %d answer conn=%d pos=0 len=20 status=504"
						  " protocol=1",
						  at + 20000 + took, 100 + i, i + 1);
				pos[i] += in;
			}
	text_line(&x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", SECONDS * 1000 * MS,
		  SECONDS * 1000 * MS);
	return analysed(loaded_buf(&x.b), NULL);
}

static void said(const struct load *l, int process, int few, int larger)
{
	sqlite3 *db = recorded(l);

	if (process + few + larger || !(l->other || l->errors))
		is_text(db, "SELECT kind FROM verdict WHERE rank=1", "slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_process'", process);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_few_dear'", few);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_larger'", larger);
	if (process) {
		is_number(db, FINDING_VALUE("verdict_process", "process", "v.id"), 101);
		is_number(db, FINDING_VALUE("verdict_process", "of", "v.number"), PROCESSES);
		is_number(db, FINDING_VALUE("verdict_process", "name", "v.id"), 1);
	}
	if (few) {
		is_within(db, FINDING_VALUE("verdict_few_dear", "n", "v.number"), l->one ? 11 : 25,
			  l->one ? 13 : 35);
		is_within(db, FINDING_VALUE("verdict_few_dear", "part", "v.number"),
			  l->one ? 75 : 90, 100);
	}
	if (larger) {
		is_text(db, FINDING_VALUE("verdict_larger", "what", "v.text"),
			l->in ? "requests" : "answers");
		is_within(db, FINDING_VALUE("verdict_larger", "ratio", "v.number"), 10, 10);
	}
	db_close(db);
}

static void the_one_slow_process_is_named(void **state)
{
	const struct load one = { .took = 80 * MS, .one = true };
	const struct load all = { .took = 80 * MS };
	const struct load dear_name = { .took = 80 * MS, .by_name = true, .other = true };
	const struct load some = { .took = 80 * MS, .one = true, .some = true };
	const struct load rarely = { .took = 90 * MS, .one = true, .every = 3 };

	(void)state;
	said(&one, 1, 0, 0);
	said(&all, 0, 0, 0);
	said(&dear_name, 0, 0, 0);
	said(&some, 0, 0, 0);
	said(&rarely, 0, 1, 0); /* half of its requests or more take as long as before */
}

static void larger_requests_or_answers_are_said(void **state)
{
	const struct load in = { .took = 20 * MS, .in = 1000 };
	const struct load out = { .took = 20 * MS, .out = 2000 };
	const struct load same = { .took = 20 * MS };
	const struct load errors = { .took = 20 * MS, .out = 2000, .errors = true };

	(void)state;
	said(&in, 0, 0, 1);
	said(&out, 0, 0, 1);
	said(&same, 0, 0, 0);
	said(&errors, 0, 0, 0);
}

static void a_few_dear_requests_are_counted(void **state)
{
	const struct load few = { .took = 80 * MS, .every = 5 };
	const struct load all = { .took = 20 * MS };

	(void)state;
	said(&few, 0, 1, 0);
	said(&all, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_slow_process_is_named),
		cmocka_unit_test(larger_requests_or_answers_are_said),
		cmocka_unit_test(a_few_dear_requests_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
