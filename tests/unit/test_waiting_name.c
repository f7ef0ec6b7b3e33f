// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests wait from the first one on: whether a name of few of them has most of that time. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define ROUNDS 20
#define SHORT  18 /* requests of a round, next to one that is long */

/* A request of a name is read on fd by a thread, which sleeps then. */
static void asks(struct text *x, int tid, int fd, int name)
{
	static long at = 1;

	text_line(x, "%ld 0 waking target=%d context=1\n%ld 0 switch next=%d", x->t, tid,
		  x->t + 1000, tid);
	text_line(x, "%ld %d syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 3000, tid, fd);
	text_line(x, "%ld %d head conn=%d pos=%ld len=29 name=%d requests=1", x->t + 3000, tid, fd,
		  at += 29, name);
	text_line(x, "%ld %d switch next=0 state=2", x->t + 3500, tid);
	x->t += 4000;
}

static void answered(struct text *x, int tid, int fd)
{
	text_line(x, "%ld 0 waking target=%d\n%ld 0 switch next=%d", x->t, tid, x->t + 100, tid);
	text_line(x, "%ld %d syscall nr=write fd=%d ret=900 count=900 dur=200", x->t + 500, tid,
		  fd);
	text_line(x, "%ld %d switch next=0 state=1", x->t + 1000, tid);
	x->t += 2 * MS;
}

/* Names of a protocol: the short requests have the first one, the long ones name. */
static sqlite3 *waiting(int protocol, const char *second, int name)
{
	struct text x = { 0 };
	int i, k, fd;

	head_of(&x, 5);
	text_line(&x, "@recorder\n2 0 info text=\"groups=core,syscalls,sched,requests\"");
	text_line(&x, "4 101 thread pid=100 state=83 comm=\"server\"");
	text_line(&x, "4 0 request_name id=1 protocol=%d name=\"GET\"", protocol);
	text_line(&x, "4 0 request_name id=2 protocol=%d name=\"%s\"", protocol, second);
	for (fd = 5; fd < 10; fd++)
		text_line(&x,
			  "35 0 connection sock=%d ino=%d conn=%d family=2 sport=80 dport=%d side=1"
			  " saddr=127.0.0.1 daddr=10.0.0.9",
			  fd, 1000 + fd, fd, 40000 + fd);
	text_line(&x, "@cpu 0");
	for (i = 0; i < ROUNDS; i++) {
		asks(&x, 101, 9, name);
		for (k = 0; k < SHORT; k++) {
			asks(&x, 100, 5 + k % 4, 1);
			x.t += 20 * MS;
			answered(&x, 100, 5 + k % 4);
		}
		answered(&x, 101, 9);
	}
	return judged(&x, NULL);
}

static void most_of_the_time_is_of_a_name(void **state)
{
	sqlite3 *db = waiting(1, "GET /events", 2);

	(void)state;
	is_verdict(db, "unchanged", "wait");
	is_number(db, FINDING_VALUE("verdict_wait", "name", "v.id"), 2);
	is_within(db, FINDING_VALUE("verdict_wait", "each", "v.number"), 390e6, 400e6);
	is_within(db, FINDING_VALUE("verdict_wait", "others", "v.number"), 19.9e6, 20.1e6);
	db_close(db);
}

static void no_name_has_it(void **state)
{
	sqlite3 *db = waiting(1, "GET /events", 1); /* all have one name */

	(void)state;
	is_verdict(db, "unchanged", "wait");
	is_number(db, FINDING_VALUE("verdict_wait", "name", "total(v.id)"), 0);
	db_close(db);
	/* what waits by design is not judged, so it is no part of the mean */
	db = waiting(4, "BLPOP", 2);
	is_verdict(db, "unchanged", "wait");
	is_within(db, FINDING_VALUE("verdict_wait", "latency", "v.number"), 19.9e6, 20.1e6);
	is_number(db, FINDING_VALUE("verdict_wait", "name", "total(v.id)"), 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_of_the_time_is_of_a_name),
		cmocka_unit_test(no_name_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
