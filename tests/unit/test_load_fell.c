// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/verdict/verdict_load.c: fewer requests, with as many late ones per second as
 * before, and what is a problem next to them.
 */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

#define MS    1000000L
#define UNTIL (SECONDS * 1000 - 300)
#define FELL  6000 /* ms */

/* A connection of requests of one name, each at so many ms after the last. */
struct load {
	int conn, name;
	long took, every, then; /* ms; from FELL on */
};

static void put_load(struct buf *b, const struct load *l)
{
	struct err e = { 0 };
	long t;

	buf_printf(b, &e, "@cpu %d\n", l->conn);
	for (t = 20; t < UNTIL; t += t < FELL ? l->every : l->then)
		ask_on(b, l->conn, l->name, 100 + l->conn, 100 + l->conn, t * MS, t * MS + 20000,
		       t * MS + l->took * MS + t * 137 % 50000);
}

/* Long requests of a name with quick ones, next to another name or none. */
static sqlite3 *played(long quick_then, long late_then, int others)
{
	const struct load loads[] = { { 1, 1, 2, 10, quick_then },
				      { 2, 1, 100, 250, late_then },
				      { 3, 3, 2, 40, 40 } };
	struct buf b = { 0 };
	int i;

	begin_host(&b);
	for (i = 0; i < 2 + others; i++)
		put_load(&b, &loads[i]);
	return analysed(loaded_buf(&b), NULL);
}

static void is_status(sqlite3 *db, const char *want)
{
	is_text(db, "SELECT iif(status='problem', kind, 'silent') FROM verdict WHERE rank=1", want);
	db_close(db);
}

/* 100 and 4 per second, then 5 and 4: the mean is far higher, of all and of the name. */
static void as_many_late_ones_per_second_are_no_change(void **state)
{
	(void)state;
	is_status(played(200, 250, 0), "silent");
	is_status(played(200, 250, 1), "silent");
}

/* Far fewer quick ones, and more late ones per second. */
static void more_late_ones_per_second_are_a_change(void **state)
{
	(void)state;
	is_status(played(100, 110, 0), "slower");
}

/* One client that asks again when it has its answer: it asks less, and all are late. */
static void a_closed_loop_that_is_slow_is_a_change(void **state)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long t, took;

	(void)state;
	begin_host(&b);
	buf_printf(&b, &e, "@cpu 1\n");
	for (t = 20 * MS; t < UNTIL * MS; t += took + 10000) {
		took = (t < FELL * MS ? 4 : 30) * MS + t % 7 * 100000;
		ask(&b, 1, 101, t, t + 20000, t + took);
	}
	is_status(analysed(loaded_buf(&b), NULL), "slower");
}

/* Another server answers late. */
static long waits(struct script *s, long t, long ns)
{
	script_line(s, 0, "%ld 100 syscall nr=write fd=6 dur=2000 ret=20", t - 2000);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_line(s, 1, "%ld 0 waking target=100 cpu=0 context=1", t + ns);
	script_line(s, 0, "%ld 0 switch next=100", t + ns + 1000);
	script_line(s, 0, "%ld 100 syscall nr=read fd=6 dur=%ld ret=30", t + ns + 5000, ns + 5000);
	return t + ns + 5000;
}

static long late_before(struct script *s, long t)
{
	return waits(s, t, 3 * MS);
}

static long late_then(struct script *s, long t)
{
	return waits(s, t, 47 * MS / 10);
}

/* Each so many-th request is late; then requests come so many times as rarely. */
static sqlite3 *tails(int late, int then, int rarer)
{
	struct script s = { 0 };
	long i, t = BEGIN;

	for (i = 0; i < 1800; i++) {
		bool fell = i >= 1200, is_late = i % (fell ? then : late) == 2;

		script_request(&s, t, !is_late ? NULL : fell ? late_then : late_before);
		t += (fell ? rarer : 1) * (long)PERIOD;
	}
	return analysed(script_play(&s, "all", t, NULL), NULL);
}

static void as_many_late_ones_per_second_are_no_tail(void **state)
{
	(void)state;
	is_status(tails(20, 5, 4), "silent");
}

static void twice_as_many_late_ones_per_second_are_a_tail(void **state)
{
	(void)state;
	is_status(tails(25, 5, 2), "tail");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(as_many_late_ones_per_second_are_no_change),
		T(more_late_ones_per_second_are_a_change),
		T(a_closed_loop_that_is_slow_is_a_change),
		T(as_many_late_ones_per_second_are_no_tail),
		T(twice_as_many_late_ones_per_second_are_a_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
