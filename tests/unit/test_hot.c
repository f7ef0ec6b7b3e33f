// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/replay/requests/track_counted.c, call_stats.c, analyses/functions.c, stats/hist.c: calls
 * of functions that were counted in histograms, together with calls with events.
 */
#include "tests/lib/unit.h"

#include "analyze/analyses/analysis.h"
#include "analyze/stats/hist.h"
#include "tests/lib/loaded.h"

#define START                                                                                  \
	"@recorder\n900 0 info text=\"targets=100\"\n902 0 info text=\"groups=core,uprobe\"\n" \
	"904 0 clock monotonic=904 realtime=1700000000000000000 boottime=904\n"                \
	"905 100 thread pid=100 state=S comm=\"server\"\n"                                     \
	"910 0 site id=0 flags=3 text=\"/bin/x:f\"\n"                                          \
	"911 0 site id=1 flags=1 text=\"/bin/x:g\"\n"                                          \
	"912 0 site id=2 flags=3 text=\"/bin/x:seldom\"\n"                                     \
	"1000 0 info text=\"begin=1000\"\n"

/* Two calls with events, then 1000 that are counted: 900 of 100 ns, 100 of 1000 ns. */
#define COUNTED                                                                          \
	START "500000 0 call_mode site=0 rate=300000 limit=100000 mode=1\n"              \
	      "900000 100 call_count site=0 dur=400000 entries=1001 n=1000 wall=190000 " \
	      "cpu=95000 longest=1010 longest_cpu=900 migrated=3\n"                      \
	      "900000 100 call_bucket site=0 low=100 high=102 n=900\n"                   \
	      "900000 100 call_bucket site=0 low=992 high=1024 n=100\n"                  \
	      "900000 100 call_bucket site=0 low=90 high=92 n=1000 what=1\n"             \
	      "900000 101 call_count site=1 dur=400000 entries=70\n"                     \
	      "950000 0 call_mode site=0 rate=9 limit=100000 mode=2\n"                   \
	      "@cpu 0\n2000 100 call site=0 sp=900\n2500 100 return site=0 sp=900\n"     \
	      "3000 100 call site=0 sp=900\n3700 100 return site=0 sp=900\n"             \
	      "4000 100 call site=1 sp=900\n4100 100 call site=2 sp=800\n"               \
	      "4200 100 return site=2 sp=800\n"                                          \
	      "960000 0 counters group=uprobe seen=2078 emitted=7 counted=2071\n"

static void counted_calls_stand_beside_events(void **state)
{
	sqlite3 *db = loaded(COUNTED);

	(void)state;
	is_number(db, "SELECT count(*) FROM call WHERE site=0", 2);
	is_number(db, "SELECT n FROM call_stat WHERE site=0", 2);
	is_number(db, "SELECT total FROM call_stat WHERE site=0", 1200);
	is_number(db, "SELECT counted FROM call_stat WHERE site=0", 1001);
	is_number(db, "SELECT timed FROM call_stat WHERE site=0", 1000);
	is_number(db, "SELECT timed_total FROM call_stat WHERE site=0", 190000);
	is_number(db, "SELECT timed_cpu FROM call_stat WHERE site=0", 95000);
	is_number(db, "SELECT longest FROM call_stat WHERE site=0", 1010);
	is_number(db, "SELECT sum(n) FROM latency WHERE kind='call' AND item=0", 1002);
	is_number(db, "SELECT n FROM latency WHERE kind='call' AND item=0 AND low=100", 900);
	is_number(db, "SELECT sum(n) FROM latency WHERE kind='call_cpu' AND item=0", 1000);
	is_number(db, "SELECT counted FROM coverage WHERE grp='uprobe'", 2071);
	db_close(db);
}

static void intervals_and_switches_are_rows(void **state)
{
	sqlite3 *db = loaded(COUNTED);

	(void)state;
	is_number(db, "SELECT ts FROM call_count WHERE site=0", 499000);
	is_number(db, "SELECT dur FROM call_count WHERE site=0", 400000);
	is_number(db, "SELECT migrated FROM call_count WHERE site=0", 3);
	is_number(db, "SELECT tid FROM call_count WHERE site=1", 101);
	is_number(db, "SELECT count(*) FROM call_mode", 2);
	is_number(db, "SELECT ts FROM call_mode WHERE counted", 499000);
	is_number(db, "SELECT rate FROM call_mode WHERE NOT counted", 9);
	db_close(db);
}

#define METRIC(name, function)                                                            \
	"SELECT m.value FROM metric m JOIN site s ON s.id=m.subject_id WHERE m.analysis=" \
	"'functions' AND m.name='" name "' AND s.function='" function "' ORDER BY m.rowid LIMIT 1"

static void functions_counts_all_calls_once(void **state)
{
	sqlite3 *db = loaded(COUNTED);

	(void)state;
	analysed(db, "functions");
	/* calls that f and g counted may be in the time of seldom */
	is_number(db, "SELECT count(*) FROM metric WHERE name='own' AND value IS NOT NULL", 0);
	is_number(db, METRIC("calls", "f"), 1002);
	is_within(db, METRIC("mean", "f"), 190.8, 190.9);
	is_within(db, METRIC("p50", "f"), 100, 102);
	is_within(db, METRIC("p99", "f"), 992, 1024);
	is_number(db, METRIC("max", "f"), 1010);
	is_number(db, METRIC("open", "f"), 1);
	is_number(db, METRIC("counted", "f"), 1001);
	is_number(db, METRIC("calls", "g"), 71); /* whose returns are not recorded */
	is_number(db, METRIC("calls", "seldom"), 1);
	is_number(db, METRIC("counted", "seldom"), 0);
	is_number(db, FINDING_VALUE("calls_counted", "counted", "number") " ORDER BY f.id LIMIT 1",
		  1000);
	db_close(db);
}

/* Its calls have no times of their own: a part of them is no rate. */
static void a_counted_function_is_no_service(void **state)
{
	sqlite3 *db = loaded(COUNTED);

	(void)state;
	is_number(db, "SELECT count(*) FROM service WHERE kind='function'", 1);
	is_number(db, "SELECT port FROM service WHERE kind='function'", 2);
	db_close(db);
}

static void hostile_counts_saturate(void **state)
{
	sqlite3 *db = loaded(
		START
		"900000 100 call_count site=0 dur=0xffffffffffffffff entries=0xffffffffffffffff "
		"n=0xffffffffffffffff wall=0xffffffffffffffff cpu=0xffffffffffffffff "
		"longest=0xffffffffffffffff\n"
		"900000 100 call_count site=0 entries=5 n=5 wall=5 cpu=5\n"
		"900000 100 call_bucket site=0 low=0xffffffffffffffff n=0xffffffff\n"
		"900000 100 call_bucket site=0 low=0xffffffffffffffff n=0xffffffff\n"
		"900000 100 call_bucket site=0xffffffff low=7 n=1 what=9\n");

	(void)state;
	is_number(db, "SELECT counted = timed AND timed = timed_total FROM call_stat WHERE site=0",
		  1);
	is_number(db, "SELECT n FROM latency WHERE kind='call' AND item=0", 4294967295);
	is_number(db, "SELECT ts FROM call_count LIMIT 1", 0);
	analysed(db, "functions");
	db_close(db);
}

static void times_add_up(void **state)
{
	struct hist h = { 0 };

	(void)state;
	hist_add_times(&h, 40, 0);
	assert_int_equal(h.n, 0);
	hist_add_times(&h, 40, 1000);
	hist_add(&h, 50);
	assert_int_equal(h.n, 1001);
	assert_int_equal(h.sum, 40050);
	assert_int_equal(h.min, 40);
	assert_int_equal(h.max, 50);
	hist_add_times(&h, UINT64_MAX, UINT64_MAX);
	assert_true(h.n == UINT64_MAX && h.sum == UINT64_MAX);
	hist_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counted_calls_stand_beside_events),
		cmocka_unit_test(intervals_and_switches_are_rows),
		cmocka_unit_test(functions_counts_all_calls_once),
		cmocka_unit_test(a_counted_function_is_no_service),
		cmocka_unit_test(hostile_counts_saturate),
		cmocka_unit_test(times_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
