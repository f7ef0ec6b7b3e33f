// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_quota.c: since when a quota makes requests slow. */
#include "tests/lib/pausing.h"
#include "tests/lib/unit.h"

#include <stdlib.h>

static void computed(struct text *x, int n, long work)
{
	int i;

	for (i = 0; i < n; i++, x->t += 2 * MS)
		request(x, 100, 5, work - rand() % (work / 2));
}

/* Requests, in a fourth of which the thread waits for so long while its cgroup is stopped. */
static void stopped(struct text *x, int n, long wait, long dearer)
{
	int i;

	for (i = 0; i < n; i++, x->t += MS) {
		long w = wait - rand() % (wait / 2);

		if (rand() % 4) {
			computed(x, 1, dearer);
			continue;
		}
		text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t,
			  x->t + 1000);
		text_line(x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x->t + 3000);
		text_line(x, "%ld 100 switch next=300", x->t + 10000);
		x->t += w;
		text_line(x, "%ld 300 switch next=100 state=1", x->t);
		text_line(x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x->t + 2000);
		text_line(x, "%ld 100 switch next=0 state=1", x->t + 4000);
	}
}

/* Some requests, dearer ones, then those that the quota stops; ret_stopped: since when. */
static sqlite3 *slower(long dearer, bool early, long *ret_dearer, long *ret_stopped)
{
	struct text x = { 0 };
	long before, periods;
	sqlite3 *db;

	srand(3);
	head_in_cgroup(&x, "neighbour");
	text_line(&x, "36 0 throttle cgroup=7 quota=%d period=100000000\n@cpu 0",
		  early ? 1000000 : 0);
	computed(&x, 800, 100000);
	*ret_dearer = x.t;
	computed(&x, 800, dearer);
	*ret_stopped = before = x.t;
	stopped(&x, 1500, 12 * MS, dearer);
	text_line(&x, "@recorder\n%ld 0 throttle cgroup=7 quota=%d period=100000000%s", before,
		  early ? 1000000 : 0, early ? " periods=30 throttled=20 time=900000000" : "");
	periods = (x.t - before) / (100 * MS);
	text_line(&x,
		  "%ld 0 throttle cgroup=7 quota=1000000 period=100000000 periods=%ld throttled=%ld"
		  " time=5000000000",
		  x.t - MS, periods, periods);
	db = answered(&x);
	analysed(db, "verdict");
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problemslower");
	return db;
}

static void the_quota_is_no_reason_before_it_throttles(void **state)
{
	long dearer, stop;
	sqlite3 *db = slower(600000, false, &dearer, &stop);
	double start = asked(db, "SELECT start FROM verdict");

	(void)state;
	assert_true(start > (double)stop - 20 * MS && start < (double)stop + 100 * MS);
	is_above(db, "SELECT slow FROM verdict", 2e6);
	db_close(db);
}

/* What is slow before is a problem of its own; or the quota throttled then as well. */
static void what_was_slow_before_starts_earlier(void **state)
{
	long dearer, stop;
	sqlite3 *db = slower(3 * MS, false, &dearer, &stop);
	double start = asked(db, "SELECT start FROM verdict");

	(void)state;
	assert_true(start < (double)stop - 500 * MS);
	db_close(db);
	db = slower(600000, true, &dearer, &stop);
	start = asked(db, "SELECT start FROM verdict");
	assert_true(start < (double)stop - 500 * MS);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_quota_is_no_reason_before_it_throttles),
		T(what_was_slow_before_starts_earlier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
