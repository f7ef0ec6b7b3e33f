// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/pauses/pause_open.c: a request that pauses begin and end with, of a server whose
 * tasks are no threads; and requests that are first by chance.
 */
#include "tests/lib/pausing.h"

#define OPEN	    "SELECT count(*) FROM finding WHERE kind='pause_open'"
#define VALUE(name) FINDING_VALUE("pause_open", name, "v.number")

/* Of GET /price: each ends as it is read; or those that wait, all at once. */
static long position[10];

static void arrives(struct text *x, int fd, long ts)
{
	position[fd] += 10;
	text_line(x, "%ld 0 segment conn=%d pos=%ld len=10 unread=0", ts, fd, position[fd]);
}

static void reads(struct text *x, int fd, int name, long ts)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", ts, ts + 1000);
	text_line(x, "%ld 100 syscall_args nr=futex arg0=0x1000 dur=2000 ret=0", ts + 4000);
	text_line(x, "%ld 100 syscall nr=read fd=%d dur=1 ret=10", ts + 5000, fd);
	text_line(x, "%ld 100 head conn=%d pos=%ld len=10 name=%d requests=1", ts + 5000, fd,
		  position[fd], name);
}

static void writes(struct text *x, int fd, long ts)
{
	text_line(x, "%ld 100 syscall nr=write fd=%d dur=1 ret=20", ts, fd);
}

static void rests(struct text *x, long ts)
{
	text_line(x, "%ld 100 switch next=0 state=1", ts);
}

static void usual(struct text *x, int n, int every)
{
	int i, name;

	for (i = 0; i < n; i++, x->t += 5 * MS) {
		name = every && i % every == 0 ? 2 : 1;
		arrives(x, 5, x->t - 3000);
		reads(x, 5, name, x->t);
		writes(x, 5, x->t + 20000);
		rests(x, x->t + 21000);
	}
}

/*
 * A GET /ping arrives in each pause but the last before the third request, and has its answer at
 * once, or waits as well. Slow ones arrive 35 ms before that answer, and never come otherwise.
 */
static enum { NO_PINGS, PINGS, PINGS_WAIT, PINGS_SLOW } pings;

static void ping(struct text *x, long t, bool waits)
{
	arrives(x, 5, t - 3000);
	reads(x, 5, 3, t);
	if (!waits)
		writes(x, 5, t + 20000);
	rests(x, t + 21000);
}

static void slow_ping(struct text *x, long t)
{
	ping(x, t, true);
	t += 35 * MS;
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	writes(x, 5, t + 20000);
	rests(x, t + 21000);
}

/* Requests of these names arrive one after the other, and are answered after 300 ms. */
static void pause_of(struct text *x, int first, bool last)
{
	long end = x->t + 300 * MS, t = x->t;
	int fd;

	for (fd = 6; fd < 9; fd++, t += 10 * MS) {
		if (fd == 8 && pings) {
			if (!last && pings == PINGS_SLOW)
				slow_ping(x, x->t + 25 * MS);
			else if (!last)
				ping(x, x->t + 60 * MS, pings == PINGS_WAIT);
			t = x->t + 70 * MS;
		}
		arrives(x, fd, t - 3000);
		reads(x, fd, fd == 6 ? first : 1, t);
		rests(x, t + 9000);
	}
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", end - 3000,
		  end - 2000);
	text_line(x, "%ld 100 syscall_args nr=futex arg0=0x1000 dur=270000000 ret=0", end - 1000);
	for (fd = 6; fd < 9; fd++)
		writes(x, fd, end + 1000 * fd);
	if (pings == PINGS_WAIT && !last)
		writes(x, 5, end + 9000);
	rests(x, end + 20000);
	x->t = end + 5 * MS;
}

/* One that is open for 200 ms while others are answered. */
static void long_one(struct text *x, int name)
{
	arrives(x, 8, x->t - 3000);
	reads(x, 8, name, x->t);
	rests(x, x->t + 9000);
	x->t += 5 * MS;
	usual(x, 40, 0);
	reads(x, 5, 1, x->t); /* it has read nothing of a new request: it wakes */
	writes(x, 8, x->t + 20000);
	rests(x, x->t + 21000);
	x->t += 5 * MS;
}

/* Four pauses that begin with a request of a name; every: so many are of name 2 otherwise. */
static sqlite3 *paused(int first, int every, bool other)
{
	struct text x = { 0 };
	sqlite3 *db;
	int i;

	memset(position, 0, sizeof(position));
	head(&x);
	text_line(&x, "@recorder\n26 0 request_name id=1 protocol=1 name=\"GET /price\"");
	text_line(&x, "26 0 request_name id=2 protocol=1 name=\"GET /reload\"");
	text_line(&x, "26 0 request_name id=3 protocol=1 name=\"GET /ping\"");
	text_line(&x, "27 0 info text=\"groups=core,syscalls,sched,requests\"");
	for (i = 5; i < 9; i++)
		text_line(&x, "40 0 connection sock=%d ino=%d conn=%d family=2 side=1", i,
			  100000 + i, i);
	text_line(&x, "@cpu 0");
	usual(&x, 100, every);
	for (i = 0; i < 4; i++) {
		pause_of(&x, first, i == 3);
		usual(&x, 60, every);
		if (pings && pings != PINGS_SLOW)
			ping(&x, x.t, false);
		x.t += pings ? 5 * MS : 0;
		if (other)
			long_one(&x, 2);
	}
	text_line(&x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x.t, x.t);
	db = changed(loaded_buf(&x.b),
		     "UPDATE process SET green='goroutine'; UPDATE thread SET green=1");
	db = analysed(analysed(db, "pauses"), "verdict");
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
	is_within(db, "SELECT count(*) FROM pause WHERE counts", 4, pings == PINGS_SLOW ? 8 : 4);
	return db;
}

static void the_name_that_pauses_begin_and_end_with(void **state)
{
	sqlite3 *db = paused(2, 0, false);

	(void)state;
	is_number(db, OPEN, 1);
	is_text(db,
		FINDING_VALUE("pause_open", "name",
			      "(SELECT name FROM request_name n WHERE n.id=v.id)"),
		"GET /reload");
	is_number(db, VALUE("same"), 4);
	is_number(db, VALUE("count"), 4);
	is_number(db, VALUE("n"), 4);
	is_number(db, VALUE("of"), 352);
	db_close(db);
}

/* Half of all requests have the name; or one is open for most of the time, without harm. */
static void not_one_that_is_first_by_chance(void **state)
{
	sqlite3 *db = paused(2, 2, false);

	(void)state;
	is_number(db, OPEN, 0);
	db_close(db);
	db = paused(1, 20, false);
	is_number(db, OPEN, 0);
	db_close(db);
	db = paused(2, 0, true);
	is_number(db, OPEN, 0);
	db_close(db);
}

#define COUNTED "SELECT count(*) || ' ' || max(name) FROM pause WHERE counts"

/*
 * Answers of a name that is asked rarely cut three of four pauses in two, one part longer than
 * half; in the last one nothing else is asked. All are of the name that waits.
 */
static void pauses_that_others_cut_are_of_the_name(void **state)
{
	sqlite3 *db;

	(void)state;
	pings = PINGS;
	db = paused(2, 0, false);
	is_text(db, COUNTED, "4 1");
	is_within(db, "SELECT min(dur) FROM pause WHERE counts", 289e6, 301e6);
	is_number(db, VALUE("same"), 4);
	db_close(db);
	/* the other name waits as well */
	pings = PINGS_WAIT;
	db = paused(2, 0, false);
	is_text(db, COUNTED, "4 0");
	db_close(db);
	/* it is slow itself: it may be what the others wait for */
	pings = PINGS_SLOW;
	db = paused(2, 0, false);
	is_number(db, "SELECT max(name) FROM pause WHERE counts", 0);
	db_close(db);
	pings = NO_PINGS;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_name_that_pauses_begin_and_end_with),
		T(not_one_that_is_first_by_chance),
		T(pauses_that_others_cut_are_of_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
