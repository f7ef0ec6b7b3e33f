// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel counts, on paper: parts of the time on a CPU, CPU times, PSI, memory, reclaim,
 * holders of locks.
 */
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"

#define HOST                                               \
	"@recorder\n"                                      \
	"900 0 info text=\"targets=all\"\n"                \
	"901 0 info text=\"groups=core,syscalls,sched\"\n" \
	"902 100 thread pid=100 state=83 comm=\"a\"\n"     \
	"903 101 thread pid=100 state=83 comm=\"b\"\n"     \
	"904 200 thread pid=200 state=83 comm=\"c\"\n"
#define BEGIN "1000 0 info text=\"begin=1000\"\n"
#define END   "90000 0 info text=\"stopped=90000\"\n"
#define PARTS "905 0 info text=\"switch_parts=away,softirq,irq,stolen,throttled\"\n"

/* 100 runs 2000..6000 and 8000..9000: 5000. */
#define RUNS                                                                         \
	"@cpu 0\n2000 0 switch next=100\n"                                           \
	"6000 100 switch next=200 flags=5 away=350 stolen=300 softirq=1000 irq=50\n" \
	"8000 200 switch next=100 away=11 softirq=7\n"                               \
	"9000 100 switch next=0 state=1 away=-20 stolen=0 softirq=200 irq=0\n"

static void time_on_a_cpu_has_parts(void **state)
{
	sqlite3 *db = loaded(HOST PARTS BEGIN END RUNS);

	(void)state;
	is_number(db, "SELECT run FROM thread WHERE tid=100", 5000);
	is_number(db, "SELECT exec FROM thread WHERE tid=100", 5000 - 350 + 20);
	is_number(db, "SELECT stolen FROM thread WHERE tid=100", 300);
	is_number(db, "SELECT softirq FROM thread WHERE tid=100", 1200);
	is_number(db, "SELECT irq FROM thread WHERE tid=100", 50);
	is_number(db, "SELECT throttled FROM thread WHERE tid=100", 1);
	is_number(db, "SELECT throttled FROM thread WHERE tid=200", 0);
	is_number(db, "SELECT softirq FROM thread WHERE tid=200", 7);
	db_close(db);
}

static void findings_name_the_parts(void **state)
{
	sqlite3 *db =
		loaded(HOST PARTS BEGIN END RUNS "70000 100 reclaim dur=2000 kind=1 pages=9\n"
						 "80000 100 reclaim dur=500 kind=0 pages=1\n");

	(void)state;
	analysed(db, "cpu");
	is_number(db, FINDING_VALUE("cpu_parts", "softirq", "round(1000 * number)"),
		  24000); /* 1200 of 5000 */
	is_number(db,
		  "SELECT count(*) FROM finding f JOIN finding_value v ON"
		  " v.finding=f.id WHERE f.kind='cpu_reclaim' AND f.subject=100"
		  " AND (v.name='n' AND v.number=2 OR v.name='time' AND number=2500"
		  " OR v.name='limited' AND number=1)",
		  3);
	db_close(db);
}

/* Nothing is known where the recorder, or its kernel, did not say that it measures. */
static void unmeasured_parts_are_null(void **state)
{
	sqlite3 *db = loaded(HOST BEGIN END RUNS);

	(void)state;
	is_number(db,
		  "SELECT count(*) FROM thread WHERE tid=100 AND exec IS NULL AND"
		  " stolen IS NULL AND softirq IS NULL AND throttled IS NULL",
		  1);
	db_close(db);
	db = loaded(HOST "905 0 info text=\"switch_parts=away,softirq,irq\"\n" BEGIN END RUNS);
	is_number(db,
		  "SELECT count(*) FROM thread WHERE tid=100 AND softirq=1200 AND"
		  " stolen IS NULL AND throttled IS NULL",
		  1);
	db_close(db);
}

static void parts_are_not_larger_than_the_whole(void **state)
{
	sqlite3 *db = loaded(HOST PARTS BEGIN END
			     "@cpu 0\n2000 0 switch next=100\n6000 100 switch next=0 state=1 "
			     "away=2000000000 stolen=4000000000 softirq=4000000000 irq=5\n");

	(void)state;
	is_number(db, "SELECT exec FROM thread WHERE tid=100", 0);
	is_number(db, "SELECT stolen FROM thread WHERE tid=100", 4000);
	is_number(db, "SELECT softirq FROM thread WHERE tid=100", 4000);
	db_close(db);
}

#define READINGS                                                                               \
	"1100 0 cpu_time cpu=1 user=1000 system=500 idle=70 steal=5\n"                         \
	"1110 0 psi resource=0 some=10000 full=0\n"                                            \
	"1120 0 psi resource=2 cgroup=7 some=100 full=50 path=\"/a/b\"\n"                      \
	"1130 0 host_memory total=1000 available=400 swap_total=50 swap_free=50 stalls=3\n"    \
	"1140 0 cgroup_memory cgroup=9 current=100 max=200 hit_high=4 hit_max=5 path=\"/m\"\n" \
	"2100 0 cpu_time cpu=1 user=1600 system=700 idle=70 steal=35\n"                        \
	"2110 0 psi resource=0 some=10400 full=0\n"                                            \
	"2120 0 psi resource=2 cgroup=7 some=160 full=70 path=\"/a/b\"\n"                      \
	"2130 0 host_memory total=1000 available=300 swap_total=50 swap_free=40 stalls=8\n"    \
	"2140 0 cgroup_memory cgroup=9 current=150 max=200 hit_high=14 hit_max=5 path=\"/m\"\n"

static void readings_become_differences(void **state)
{
	sqlite3 *db = loaded(HOST BEGIN READINGS END "@cpu 0\n2000 0 switch next=100\n");

	(void)state;
	is_number(db,
		  "SELECT count(*) FROM cpu_time WHERE ts=100 AND dur=1000 AND"
		  " cpu=1 AND user=600 AND system=200 AND idle=0 AND steal=30",
		  1);
	is_number(db,
		  "SELECT count(*) FROM psi WHERE cgroup IS NULL AND"
		  " resource='cpu' AND some=400 AND path IS NULL",
		  1);
	is_number(db,
		  "SELECT count(*) FROM psi WHERE cgroup=7 AND path='/a/b' AND"
		  " resource='memory' AND some=60 AND full=20",
		  1);
	is_number(db,
		  "SELECT count(*) FROM memory WHERE cgroup IS NULL AND used=700"
		  " AND swap=10 AND max=1000 AND hit_max=5",
		  1);
	is_number(db,
		  "SELECT count(*) FROM memory WHERE cgroup=9 AND used=150 AND"
		  " max=200 AND high IS NULL AND hit_high=10 AND hit_max=0",
		  1);
	is_number(db,
		  "SELECT (SELECT count(*) FROM cpu_time) + (SELECT count(*) FROM"
		  " psi) + (SELECT count(*) FROM memory)",
		  5);
	db_close(db);
}

/* A reclaim that began before the recording counts from its begin. */
static void reclaim_has_thread_and_length(void **state)
{
	sqlite3 *db = loaded(HOST BEGIN END "@cpu 0\n2000 0 switch next=100\n"
					    "2500 100 reclaim dur=9000 kind=0 pages=3\n"
					    "5000 100 reclaim dur=2000 kind=1 pages=32\n");

	(void)state;
	is_number(db,
		  "SELECT count(*) FROM reclaim WHERE tid=100 AND ts=2000 AND"
		  " dur=2000 AND kind=1 AND pages=32",
		  1);
	is_number(db, "SELECT dur FROM reclaim WHERE ts=0", 1500);
	db_close(db);
}

/* 8 bytes after a word that is no glibc mutex stands anything: 200 is no thread of the process. */
static void holder_is_a_thread_of_the_process(void **state)
{
	sqlite3 *db =
		loaded(HOST BEGIN END
		       "@cpu 0\n2000 100 futex_wait address=0x1000 value=2 holder=101 own=100\n"
		       "2100 100 futex_wait address=0x1000 value=2 holder=200 own=100\n"
		       "2200 100 futex_wait address=0x1000 value=2 holder=100 own=100\n"
		       "2300 100 futex_wait address=0x1000 value=2 own=100\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM futex_holder", 4);
	is_number(db, "SELECT holder FROM futex_holder WHERE ts=1000", 101);
	is_number(db, "SELECT count(*) FROM futex_holder WHERE holder IS NULL", 3);
	is_number(db, "SELECT count(DISTINCT futex) FROM futex_holder", 1);
	db_close(db);
}

/* In a container 101 is 2 and 100 is 1; 100 becomes known by its own wait. */
static void holder_in_a_container_is_translated(void **state)
{
	sqlite3 *db = loaded(HOST BEGIN END
			     "@cpu 0\n2000 101 futex_wait address=0x1000 value=2 holder=1 own=2\n"
			     "3000 100 futex_wait address=0x2000 value=2 holder=2 own=1\n"
			     "4000 101 futex_wait address=0x1000 value=2 holder=1 own=2\n"
			     "5000 200 futex_wait address=0x1000 value=2 holder=2 own=1\n");

	(void)state;
	is_null(db, "SELECT holder FROM futex_holder WHERE ts=1000");
	is_number(db, "SELECT holder FROM futex_holder WHERE ts=2000", 101);
	is_number(db, "SELECT holder FROM futex_holder WHERE ts=3000", 100);
	is_null(db, "SELECT holder FROM futex_holder WHERE ts=4000");
	db_close(db);
}

/* Times that a recording claims can exceed 63 bits in sum. */
static void sums_of_throttling_do_not_overflow(void **state)
{
	sqlite3 *db = loaded(
		"@recorder\n900 0 info text=\"targets=all\"\n"
		"901 0 info text=\"groups=core,syscalls,sched\"\n"
		"902 0 cgroup id=7 path=\"/q\"\n"
		"903 100 thread pid=100 state=83 cgroup=7 comm=\"a\"\n" BEGIN
		"1100 0 throttle cgroup=7 periods=1 throttled=1 time=0 quota=5 period=9\n"
		"1200 0 throttle cgroup=7 periods=2 throttled=2 time=9000000000000000000 quota=5 period=9\n"
		"1300 0 throttle cgroup=7 periods=3 throttled=3 time=18000000000000000000 quota=5 period=9\n" END
		"@cpu 0\n2000 0 switch next=100\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM throttle", 2);
	analysed(db, "cpu");
	is_number(db,
		  FINDING_VALUE("quota_throttled", "stopped", "count(*)") " AND v.number > 1.7e19",
		  1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_on_a_cpu_has_parts),
		cmocka_unit_test(findings_name_the_parts),
		cmocka_unit_test(unmeasured_parts_are_null),
		cmocka_unit_test(parts_are_not_larger_than_the_whole),
		cmocka_unit_test(readings_become_differences),
		cmocka_unit_test(reclaim_has_thread_and_length),
		cmocka_unit_test(holder_is_a_thread_of_the_process),
		cmocka_unit_test(holder_in_a_container_is_translated),
		cmocka_unit_test(sums_of_throttling_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
