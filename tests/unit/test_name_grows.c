// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_name_grows.c: a queue inside of a server, of requests that were
 * read, grows until the recording ends; one that drains, and one request that hangs.
 */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

#define FDS   120
#define HALF  5000 /* ms */
#define END   10000
#define EVERY 17 /* ms, of a GET /thumb */
#define SLOTS 8

static void reads(struct text *x, int fd, int name, long at)
{
	static long position[FDS + 5];

	text_line(x, "%ld 0 segment conn=%d pos=%ld len=29 unread=0", at - 9000, fd, position[fd]);
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", at, fd);
	text_line(x, "%ld 100 head conn=%d pos=%ld len=29 name=%d requests=1", at, fd, position[fd],
		  name);
	position[fd] += 29;
}

static void writes(struct text *x, int fd, long at)
{
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=200", at, fd);
}

static void begin(struct text *x)
{
	int fd;

	head_of(x, FDS);
	text_line(x, "@recorder\n34 0 request_name id=1 protocol=1 name=\"GET /ping\"");
	text_line(x, "34 0 request_name id=2 protocol=1 name=\"GET /thumb\"");
	for (fd = 5; fd < 5 + FDS; fd++)
		text_line(x, "35 0 connection sock=%d ino=%d conn=%d family=2 side=1", fd,
			  1000 + fd, fd);
	text_line(x, "@cpu 0\n90 0 switch next=100");
}

/* Of SLOTS, the first that is free. */
static long *free_slot(long *slots, int n)
{
	int i, first = 0;

	for (i = 1; i < n; i++)
		first = slots[i] < slots[first] ? i : first;
	return &slots[first];
}

/* Each takes 45 ms in one of 8 slots, from the middle until a time, ms, of 2. hangs: one does. */
static sqlite3 *queued(long until, bool hangs)
{
	struct text x = { 0 };
	long slots[SLOTS] = { 0 }, t;
	int i;

	srand(3);
	begin(&x);
	for (t = 20, i = 0; t < END; t += EVERY, i++) {
		long at = t * MS + rand() % MS,
		     *slot = free_slot(slots, t >= HALF && t < until ? 2 : SLOTS);

		reads(&x, 5, 1, at);
		writes(&x, 5, at + 300000 + rand() % 50000);
		reads(&x, 6 + i % (FDS - 1), 2, at);
		*slot = (*slot > at ? *slot : at) + 45 * MS + rand() % MS;
		if (*slot < END * MS && !(hangs && i == 300))
			writes(&x, 6 + i % (FDS - 1), *slot);
	}
	x.t = END * MS;
	return judged(&x, NULL);
}

#define GROWS(what) FINDING_VALUE("verdict_name_grows", what, "v.number")

static void a_queue_that_grows_is_a_change(void **state)
{
	sqlite3 *db = queued(END, false);

	(void)state;
	is_verdict(db, "problem", "slower");
	is_within(db, FINDING_VALUE("verdict_names", "start", "v.number"), 4.9e9, 5.2e9);
	is_number(db, FINDING_VALUE("verdict_names", "end", "count(v.number)"), 0);
	is_within(db, GROWS("asked"), 57, 60);
	is_within(db, GROWS("answered"), 41, 46);
	is_within(db, GROWS("n"), 65, 85);
	is_within(db, GROWS("age"), 1.1e9, 1.5e9);
	db_close(db);
}

static void others_do_not_grow(void **state)
{
	sqlite3 *db = queued(HALF + 1500, false); /* it drains */

	(void)state;
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_name_grows'", 0);
	db_close(db);
	db = queued(0, true); /* one request, next to others that are quick */
	is_number(db, "SELECT count(*) FROM verdict WHERE status='problem'", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_queue_that_grows_is_a_change),
		T(others_do_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
