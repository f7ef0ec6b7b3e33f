// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/causes/kinds/causes_load_name.c: requests of which name need the added CPU time. */
#include "tests/lib/asking.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS    1000000L
#define SLOW  6000 /* ms: from then on */
#define PIPED 100  /* requests of one exchange */

enum with {
	OTHER_RUNS, /* a sample of each request of the other name */
	FIRST_RUNS, /* the same samples, of the first name */
	PIPES_RUN,  /* instead of the other name, exchanges that end with one of it */
	PIPES_TOO,  /* OTHER_RUNS, and such exchanges */
};

/* Requests of one name and one of another, in one exchange. */
static void ask_many(struct buf *b, long ts, long end)
{
	static long pos;
	struct err e = { 0 };

	pos += 10;
	buf_printf(b, &e, "%ld 0 segment conn=3 pos=%ld len=10 unread=0\n", ts, pos);
	buf_printf(b, &e, "%ld 103 syscall nr=read fd=7 dur=1 ret=10\n", ts + 20000);
	buf_printf(b, &e,
		   "%ld 103 head conn=3 pos=%ld len=10 name=3 requests=%d flags=2\n"
		   "%ld 103 head_more conn=3 pos=%ld name=4 requests=1\n",
		   ts + 20000, pos, PIPED, ts + 20000, pos + 9);
	buf_printf(b, &e, "%ld 103 syscall nr=write fd=7 dur=1 ret=20\n", end);
}

/*
 * Requests of 2 ms of a name every 20 ms. From 6 s on those of another one come as well, on a
 * thread of their own, and the first ones take 8 ms longer on their CPU.
 */
static sqlite3 *more_of(enum with with)
{
	static const int runs[] = { 104, 100, 103, 104 };
	struct buf b = { 0 };
	struct err e = { 0 };
	long t;

	begin_host(&b);
	for (t = 20; t < SECONDS * 1000 - 200; t += 20) {
		long end = t * MS + (t > SLOW ? 10 : 2) * MS;

		ask(&b, 1, 100, t * MS, t * MS + 20000, end);
		if (t % 100 == 0)
			buf_printf(&b, &e, "%ld 100 sample pid=100 weight=1000000\n", t * MS + MS);
		if (t <= SLOW)
			continue;
		if (with != PIPES_RUN)
			ask(&b, 4, 104, t * MS, t * MS + 20000, end);
		if (with >= PIPES_RUN)
			ask_many(&b, t * MS, end);
		buf_printf(&b, &e, "%ld %d sample pid=100 weight=10000000\n", t * MS + MS,
			   runs[with]);
	}
	return analysed(loaded_buf(&b), NULL);
}

static void the_name_with_the_added_cpu_time_is_named(void **state)
{
	sqlite3 *db = more_of(OTHER_RUNS);

	(void)state;
	is_number(db, FINDING_VALUE("load_name", "name", "v.id"), 4);
	is_within(db, FINDING_VALUE("load_name", "part", "v.number"), 90, 100);
	is_within(db, FINDING_VALUE("load_name", "rate", "v.number"), 49, 51);
	is_number(db, FINDING_VALUE("load_name", "before", "v.number"), 0);
	db_close(db);
	/* as many of them, but others need the CPU time */
	db = more_of(FIRST_RUNS);
	is_number(db, FINDING_VALUE("load_name", "name", "v.id"), 1);
	is_within(db, FINDING_VALUE("load_name", "before", "v.number"), 49, 51);
	db_close(db);
}

/* Which request of an exchange needs its CPU time is not known, nor how many have one name. */
static void exchanges_of_several_requests_have_no_name(void **state)
{
	sqlite3 *db = more_of(PIPES_RUN);

	(void)state;
	is_number(db, "SELECT count(*) FROM finding WHERE kind IN ('load_more', 'load_dearer')", 1);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='load_name'", 0);
	db_close(db);
	/* it has the CPU time itself, but some of these exchanges may have more of it */
	db = more_of(PIPES_TOO);
	is_number(db, FINDING_VALUE("load_name", "name", "v.id"), 4);
	is_within(db, FINDING_VALUE("load_name", "part", "v.number"), 90, 100);
	is_number(db,
		  "SELECT count(*) FROM finding_value v JOIN finding f ON f.id=v.finding WHERE"
		  " f.kind='load_name' AND v.name IN ('rate', 'before')",
		  0);
	is_like(db, "SELECT sentence(id) FROM finding WHERE kind='load_name'",
		"KEYS has % of the added CPU time (n = 188 samples).%");
	db_close(db);
}

/*
 * Requests of a name need the same CPU time all the time. From 1 s to 4.5 s those of KEYS come as
 * well, on a thread of their own, and the first ones take longer. At 3.9 s another process has so
 * many samples.
 */
static sqlite3 *sampled(int n)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long t;
	int i;

	begin_host(&b);
	for (t = 20; t < SECONDS * 1000 - 200; t += 20) {
		bool slow = t > 1000 && t < 4500;
		long end = t * MS + (slow ? 10 : 2) * MS;

		ask(&b, 1, 100, t * MS, t * MS + 20000, end);
		buf_printf(&b, &e, "%ld 100 sample pid=100 weight=4000000\n", t * MS + MS);
		if (slow) {
			ask(&b, 4, 104, t * MS, t * MS + 20000, end);
			buf_printf(&b, &e, "%ld 104 sample pid=100 weight=2000000\n", t * MS + MS);
		}
		for (i = 0; t == 3900 && i < n; i += 1000)
			buf_printf(&b, &e,
				   "@block\n@cpu 1\n@times 1000 1 0\n%ld 200 sample pid=200"
				   " weight=1\n@cpu 0\n",
				   t * MS + 11 * MS + i);
	}
	return analysed(loaded_buf(&b), "causes");
}

/* Of 500,000 samples the request is looked for: the time after them is not compared. */
static void time_without_requests_of_samples_is_no_baseline(void **state)
{
	sqlite3 *db = sampled(500000);

	(void)state;
	is_within(db,
		  "SELECT CAST(value AS INT) FROM recording WHERE key='sample_requests_until_ns'",
		  3.9e9, 4e9);
	is_number(db, FINDING_VALUE("load_name", "name", "v.id"), 4);
	is_within(db, FINDING_VALUE("load_name", "part", "v.number"), 90, 100);
	is_within(db, FINDING_VALUE("load_name", "samples", "v.number"), 135, 145);
	is_within(db, FINDING_VALUE("load_name", "rate", "v.number"), 49, 51);
	is_number(db, FINDING_VALUE("load_name", "before", "v.number"), 0);
	db_close(db);
	/* all have it */
	db = sampled(1000);
	is_number(db, "SELECT count(*) FROM recording WHERE key='sample_requests_until_ns'", 0);
	is_number(db, FINDING_VALUE("load_name", "name", "v.id"), 4);
	is_within(db, FINDING_VALUE("load_name", "samples", "v.number"), 170, 175);
	db_close(db);
}

/*
 * From 6 s on, requests wait 8 ms for a futex, in this function, while a request of another name is
 * on the CPU.
 */
static sqlite3 *waits_in(const char *function)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	long t, at, end;

	begin_host(&b);
	buf_printf(&b, &e,
		   "@recorder\n9 0 info text=\"stack_threshold=1000000\"\n"
		   "9 0 module id=1 kind=3 path=\"/usr/bin/python3\"\n"
		   "9 0 frame id=1 module=1 address=1\n9 0 frame id=2 module=1 address=2\n"
		   "9 0 stack id=2 frame=1\n9 0 stack id=3 caller=2 frame=2\n"
		   "9 0 symbol frame=1 text=\"main\"\n9 0 symbol frame=2 text=\"%s\"\n@cpu 0\n",
		   function);
	for (t = 20; t < SECONDS * 1000 - 200; t += 20) {
		at = t * MS;
		end = at + (t > SLOW ? 10 : 2) * MS;
		ask(&b, 1, 100, at, at + 20000, end);
		if (t <= SLOW)
			continue;
		buf_printf(&b, &e, "%ld 100 offcpu pid=100 dur=%ld user_stack=3 state=1\n",
			   at + 9 * MS, 8 * MS);
		buf_printf(&b, &e, "%ld 100 switch next=104 state=1\n", at + MS);
		ask(&b, 4, 104, at, at + MS + 20000, at + 8 * MS);
		buf_printf(&b, &e, "%ld 104 sample pid=100 weight=10000000 user_stack=2\n",
			   at + 2 * MS);
		buf_printf(&b, &e, "%ld 104 waking target=100 context=1\n", at + 9 * MS - 1000);
		buf_printf(&b, &e, "%ld 104 switch next=100 state=1\n", at + 9 * MS);
		buf_printf(&b, &e, "%ld 100 syscall_args nr=futex arg0=4096 dur=%ld\n",
			   at + 9 * MS + 1000, 8 * MS + 5000);
	}
	return analysed(loaded_buf(&b), NULL);
}

/* Threads have an interpreter's lock while they compute; another lock they may have asleep. */
static void who_computes_has_the_lock_of_the_interpreter(void **state)
{
	static const char said[] =
		"SELECT count(*) FROM cause c JOIN finding f ON f.parent=c.finding"
		" WHERE c.rank=1 AND f.kind='load_name'";
	sqlite3 *db = waits_in("PyEval_RestoreThread");

	(void)state;
	is_text(db, "SELECT category FROM cause WHERE rank=1", "futex");
	is_text(db, "SELECT path FROM cause WHERE rank=1",
		"main > PyEval_RestoreThread (waits for Python's interpreter lock)");
	is_number(db, said, 1);
	is_number(db, FINDING_VALUE("load_name", "name", "v.id"), 4);
	is_text(db, FINDING_VALUE("load_name", "holds", "v.text"), "the lock");
	db_close(db);
	db = waits_in("PyThread_acquire_lock");
	is_text(db, "SELECT category FROM cause WHERE rank=1", "futex");
	is_number(db, said, 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_computes_has_the_lock_of_the_interpreter),
		T(the_name_with_the_added_cpu_time_is_named),
		T(exchanges_of_several_requests_have_no_name),
		T(time_without_requests_of_samples_is_no_baseline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
