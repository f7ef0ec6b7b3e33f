// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests without an answer at the end, while the thread waits in poll: overdue if such requests
 * had answers before. What waits by design is none.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

#define MS	1000000L
#define VERDICT "SELECT status || ' ' || kind FROM verdict WHERE rank=1"
#define FIFTH	5 /* a name of the test */

/* At the end, from `since` on, so many requests wait; `before` had answers. */
struct waiting {
	const char *name; /* fields of event request_name */
	int before, requests;
	long since;
	const char *head; /* further fields of heads of those that wait; NULL: none */
};

static void put(struct buf *x, long ts, int conn, int name, const char *more)
{
	static long at = 1 << 20;
	struct err e = { 0 };

	at += 10;
	buf_printf(x, &e, "%ld 0 segment conn=%d pos=%ld len=10 unread=0\n", ts - 9000, conn, at);
	buf_printf(x, &e, "%ld 100 syscall nr=read fd=%d dur=1 ret=10\n", ts, 4 + conn);
	buf_printf(x, &e, "%ld 100 head conn=%d pos=%ld len=10 name=%d requests=1 %s\n", ts, conn,
		   at, name, more);
}

/* The thread waits in poll from ts until shortly before the end. */
static void polls(struct buf *x, long ts)
{
	const long end = SECONDS * 1000 * MS - 10000;
	struct err e = { 0 };

	buf_printf(x, &e, "%ld 100 switch next=0 state=1\n%ld 0 waking target=100 context=1\n", ts,
		   end);
	buf_printf(x, &e, "%ld 0 switch next=100\n", end + 1000);
	buf_printf(x, &e, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=500 dur=%ld ret=0\n",
		   end + 2000, end - ts + 3000);
}

/* 1000 requests of a name with answers, and those that wait. */
static sqlite3 *at_the_end(struct waiting w)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;
	int i = 0;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "120 0 request_name id=%d %s\n", FIFTH, w.name);
	ask(&x, 2, 100, 10 * MS, 10 * MS + 10000, 10 * MS + 100000);
	ask(&x, 3, 100, 11 * MS, 11 * MS + 10000, 11 * MS + 100000);
	for (t = 20 * MS; t < w.since; t += 5 * MS, i++) {
		ask(&x, 1, 100, t, t + 10000, t + 100000 + rand() % 9000);
		if (i >= w.before)
			continue;
		put(&x, t + MS, 2, FIFTH, "");
		buf_printf(&x, &e, "%ld 100 syscall nr=write fd=6 dur=1 ret=20\n", t + MS + 90000);
	}
	for (i = 0; i < w.requests; i++)
		put(&x, w.since + 20000 + i * 1000, 2 + i, FIFTH, w.head ? w.head : "");
	polls(&x, w.since + 50000);
	return analysed(loaded_buf(&x), NULL);
}

static void requests_whose_name_had_answers_are_overdue(void **state)
{
	struct waiting w = { "protocol=7 name=\"COMMIT\"", 400, 2, 7000 * MS, NULL };
	sqlite3 *db = at_the_end(w);

	(void)state;
	is_number(db, "SELECT count(*) FROM unanswered WHERE name NOT NULL", 2);
	is_text(db, VERDICT, "problem pauses");
	is_within(db, "SELECT start FROM verdict", 6990e6, 7010e6);
	db_close(db);
}

static void what_waits_by_design_is_not_overdue(void **state)
{
	struct waiting w = { "protocol=4 name=\"BLPOP\"", 400, 2, 7000 * MS, NULL };
	sqlite3 *db = at_the_end(w);

	(void)state;
	is_number(db, "SELECT count(*) FROM unanswered WHERE name NOT NULL", 2);
	is_text(db, VERDICT, "none ");
	db_close(db);
	/* never answered yet: it may always take so long */
	w = (struct waiting){ "protocol=1 name=\"GET /events\"", 0, 2, 7000 * MS, NULL };
	db = at_the_end(w);
	is_text(db, VERDICT, "none ");
	db_close(db);
	/* their clients did not send all of it */
	w = (struct waiting){ "protocol=7 name=\"COMMIT\"", 400, 2, 7000 * MS, "rest=9" };
	db = at_the_end(w);
	is_text(db, VERDICT, "none ");
	db_close(db);
	/* one connection */
	w = (struct waiting){ "protocol=7 name=\"COMMIT\"", 400, 1, 7000 * MS, NULL };
	db = at_the_end(w);
	is_text(db, VERDICT, "none ");
	db_close(db);
	/* the recording ends soon after they were read */
	w = (struct waiting){ "protocol=7 name=\"COMMIT\"", 400, 2, 9999 * MS, NULL };
	db = at_the_end(w);
	is_text(db, VERDICT, "none ");
	db_close(db);
}

/* Whom the process asked: 9 answered once, 10 never does, as a log server. */
static sqlite3 *asked_others(bool answers)
{
	struct buf x = { 0 };
	struct err e = { 0 };
	long t;
	int fd;

	srand(5);
	begin_host(&x);
	buf_printf(&x, &e, "@recorder\n");
	for (fd = 9; fd < 11; fd++)
		buf_printf(&x, &e,
			   "5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=3 socktype=1"
			   " sport=%d dport=%d saddr=10.0.0.1 daddr=10.0.1.%d\n",
			   fd, 80 + fd, 50000 + fd, 5000 + fd, fd);
	buf_printf(&x, &e, "@cpu 0\n");
	for (t = 20 * MS; t < 7000 * MS; t += 5 * MS) {
		ask(&x, 1, 100, t, t + 10000, t + 100000 + rand() % 9000);
		ask(&x, 2, 100, t + MS, t + MS + 10000, t + MS + 100000 + rand() % 9000);
	}
	buf_printf(&x, &e, "%ld 100 syscall nr=write fd=9 dur=1 ret=20\n", t + 1000);
	buf_printf(&x, &e, "%ld 100 syscall nr=read fd=9 dur=1 ret=20\n", t + 2000);
	for (fd = 1; fd < 3; fd++)
		put(&x, t + 9000 + fd * 1000, fd, fd, "");
	if (answers)
		buf_printf(&x, &e, "%ld 100 syscall nr=write fd=9 dur=1 ret=20\n", t + 20000);
	buf_printf(&x, &e, "%ld 100 syscall nr=write fd=10 dur=1 ret=20\n", t + 30000);
	polls(&x, t + 50000);
	return analysed(loaded_buf(&x), NULL);
}

static void who_was_asked_without_an_answer_is_named(void **state)
{
	static const char upstream[] =
		"SELECT group_concat(v.text) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		" f.analysis='verdict' AND v.name='upstream' AND v.text <> ''";
	sqlite3 *db = asked_others(true);

	(void)state;
	is_text(db, VERDICT, "problem pauses");
	is_text(db, upstream, "10.0.1.9:5009");
	db_close(db);
	/* what was sent to a server that never answers asks for no answer */
	db = asked_others(false);
	is_text(db, VERDICT, "problem pauses");
	is_null(db, upstream);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(requests_whose_name_had_answers_are_overdue),
		T(what_waits_by_design_is_not_overdue),
		T(who_was_asked_without_an_answer_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
