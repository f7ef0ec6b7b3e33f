// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_say.c: who keeps the thread of a pause off the CPU, a quota or a
 * thread.
 */
#include "tests/lib/pausing.h"

/* Thread 300 has the CPU for 300 ms while 100 has a request; the quota stopped its cgroup for so
 * long. */
static sqlite3 *preempted(const char *throttled)
{
	struct text x = { 0 };
	sqlite3 *db;

	head_in_cgroup(&x, "neighbour");
	text_line(&x, "36 0 throttle cgroup=7 quota=1000000 period=100000000\n@cpu 0");
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x.t, x.t + 1000);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t + 3000);
	text_line(&x, "%ld 100 switch next=300", x.t + 10000);
	x.t += 300 * MS;
	text_line(&x, "%ld 300 switch next=100 state=1", x.t);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t + 2000);
	text_line(&x, "%ld 100 switch next=0 state=1", x.t + 4000);
	x.t += MS;
	many(&x, 100, 600, MS);
	text_line(&x,
		  "@recorder\n%ld 0 throttle cgroup=7 quota=1000000 period=100000000 periods=15%s",
		  x.t - MS, throttled);
	db = answered(&x);
	analysed(db, "verdict");
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a CPU");
	return db;
}

static void a_quota_that_stopped_the_thread_is_named(void **state)
{
	sqlite3 *db = preempted(" throttled=4 time=290000000");

	(void)state;
	is_number(db, CAUSE_VALUE("v.id", "quota"), 7);
	is_number(db, CAUSE_VALUE("v.number", "throttled"), 4);
	is_number(db, CAUSE_VALUE("total(v.id)", "contender"), 0);
	is_text(db, "SELECT evidence FROM finding WHERE kind='pause_cause'", "OVERLAP");
	db_close(db);
}

/* Never, or for a tenth of the time in which the neighbour ran. */
static void a_quota_that_stopped_it_little_is_not(void **state)
{
	static const char *const cases[] = { "", " throttled=1 time=30000000" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sqlite3 *db = preempted(cases[i]);

		is_number(db, CAUSE_VALUE("total(v.id)", "quota"), 0);
		is_number(db, CAUSE_VALUE("v.id", "contender"), 300);
		is_text(db, "SELECT evidence FROM finding WHERE kind='pause_cause'", "OBSERVED");
		db_close(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_that_stopped_the_thread_is_named),
		cmocka_unit_test(a_quota_that_stopped_it_little_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
