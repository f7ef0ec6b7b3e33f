// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/causes/kinds/causes_queue.c: time of an event loop that is of no request. */
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

#define LATE 4 /* connection of the request that waits for the thread */
#define MS   1000000L

/* Where the loop has its long time. */
enum place { BEFORE_ANSWERS, IN_A_HANDLER, IN_A_TASK, FOR_EACH };

struct loop {
	struct script s;
	long t, pos[LATE + 1];
};

static void arrives(struct loop *l, int conn, long ts)
{
	l->pos[conn] += 10;
	script_line(&l->s, 1, "%ld 0 segment conn=%d pos=%ld len=10 unread=0", ts, conn,
		    l->pos[conn]);
}

static void reads(struct loop *l, int conn)
{
	l->t += 5000;
	script_line(&l->s, 0, "%ld 100 syscall nr=read fd=%d dur=1000 ret=10", l->t, 7 + conn);
}

static void answers(struct loop *l, int conn)
{
	l->t += 5000;
	script_line(&l->s, 0, "%ld 100 syscall nr=write fd=%d dur=1000 ret=10", l->t, 7 + conn);
}

/* One round of the loop with k requests; nth: which of them takes long, if one does. */
static void round_of(struct loop *l, int k, int nth, enum place place, long takes)
{
	int c;

	for (c = 1; c <= k; c++)
		arrives(l, c, l->t);
	script_line(&l->s, 0, "%ld 0 waking target=100 cpu=0 context=1", l->t);
	script_line(&l->s, 0, "%ld 0 switch next=100", l->t + 1000);
	script_line(&l->s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=1000 ret=%d",
		    l->t + 2000, k);
	if (takes)
		arrives(l, LATE, l->t + 300000);
	for (c = 1; c <= k; c++) {
		reads(l, c);
		l->t += place == IN_A_HANDLER && c == nth ? takes : 0;
	}
	l->t += place == BEFORE_ANSWERS ? takes : place == FOR_EACH ? k * takes : 0;
	for (c = 1; c <= k; c++) {
		l->t += place == IN_A_TASK && c == nth ? takes : 0;
		answers(l, c);
	}
	if (takes) {
		reads(l, LATE);
		answers(l, LATE);
	}
	script_line(&l->s, 0, "%ld 100 switch next=0 state=1", l->t + 5000);
}

/* The finding of the cause that requests wait for the thread. */
static void waits_are(enum place place, const char *kind)
{
	struct loop l = {
		.s = { .facts = "112 0 info text=\"groups=core,syscalls,sched,requests\"\n" }
	};
	sqlite3 *db;
	long i;
	int c;

	for (c = 1; c <= LATE; c++) {
		script_line(&l.s, 3,
			    "%d 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2"
			    " socktype=1 sport=80 dport=%d saddr=127.0.0.1 daddr=10.0.0.9",
			    900 + c, 7 + c, 90 + c, 4000 + c);
		script_line(&l.s, 3, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1",
			    910 + c, c, 90 + c, c);
	}
	for (i = 0; i < REQUESTS; i++) {
		int k = 1 + (int)(i % 3);

		l.t = BEGIN + i * 2 * PERIOD;
		round_of(&l, k, 1 + (int)(i / 3 % k), place,
			 i < REQUESTS / 2    ? 0
			 : place == FOR_EACH ? MS
					     : 2 * MS);
	}
	db = script_play(&l.s, "all", BEGIN + REQUESTS * 2L * PERIOD, NULL);
	is_text(db,
		"SELECT f.kind FROM cause c JOIN finding f ON f.id=c.finding WHERE c.kind='queue'",
		kind);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='load_between'",
		  strcmp(kind, "cause_between") == 0);
	is_number(db, "SELECT count(*) FROM cause WHERE kind='queue' AND object_kind='request'",
		  strcmp(kind, "cause_queue") == 0);
	db_close(db);
}

static void time_before_all_answers_is_of_no_request(void **state)
{
	(void)state;
	waits_are(BEFORE_ANSWERS, "cause_between");
}

/* In the function that reads it, in one that is called later, or the same for each. */
static void time_of_requests_is_theirs(void **state)
{
	(void)state;
	waits_are(IN_A_HANDLER, "cause_queue");
	waits_are(IN_A_TASK, "cause_queue");
	waits_are(FOR_EACH, "cause_queue");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(time_before_all_answers_is_of_no_request),
		T(time_of_requests_is_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
