// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/tasks/track_cpu.c: who had the CPU, and the shares, on paper. */
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"

#define START(targets)                                      \
	"@recorder\n"                                       \
	"900 0 info text=\"targets=" targets "\"\n"         \
	"901 0 info text=\"groups=core,syscalls,sched\"\n"  \
	"902 100 thread pid=100 state=83 comm=\"a\"\n"      \
	"903 101 thread pid=100 state=83 comm=\"b\"\n"      \
	"904 200 thread pid=200 state=83 comm=\"burner\"\n" \
	"905 300 thread pid=300 state=83 comm=\"other\"\n"  \
	"1000 0 info text=\"begin=1000\"\n90000 0 info text=\"stopped=90000\"\n"

/* 100 waits 2000..9000: 200 runs to 5000, 300 to 8000, then no thread. */
static const char waiting[] =
	"@cpu 0\n1500 0 switch next=200 prio=120\n@cpu 1\n2000 300 waking target=100 cpu=0 prio=120\n"
	"@cpu 0\n5000 200 switch next=300 prio=120\n8000 300 switch next=0 state=1\n"
	"9000 0 switch next=100 prio=120\n";

static void waits_are_divided_among_the_threads_that_ran(void **state)
{
	char text[4000];
	sqlite3 *db;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", START("all"), waiting);
	db = loaded(text);
	is_number(db, "SELECT woken FROM cpu_contender WHERE pid=100 AND tid=200", 3000);
	is_number(db, "SELECT woken FROM cpu_contender WHERE pid=100 AND tid=300", 3000);
	is_number(db, "SELECT woken FROM cpu_contender WHERE pid=100 AND tid=0", 1000);
	is_number(db, "SELECT longest FROM sched_stat WHERE tid=100", 7000);
	is_number(db,
		  "SELECT object IN (200,300) FROM thread_state WHERE tid=100 "
		  "AND state=1",
		  1);
	db_close(db);
}

/* A hostile recording: the latest time that a block may hold. */
static void absurd_times_stay_within_bounds(void **state)
{
	sqlite3 *db = loaded("902 100 thread pid=100 state=83 comm=\"a\"\n@cpu 0\n"
			     "1500 0 switch next=100 prio=120\n"
			     "1152921504606846976 100 switch next=0 state=1\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM sched_stat WHERE tid=100", 1);
	is_number(db, "SELECT count(*) FROM sched_stat WHERE criticality IS NULL", 0);
	is_within(db, "SELECT count(*) FROM series GROUP BY kind, tid, resource ORDER BY 1 DESC",
		  10000, 100000);
	db_close(db);
}

/* Hostile records: a thread that forks itself, twice. */
static void a_thread_is_not_its_own_child(void **state)
{
	sqlite3 *db = loaded("2000 100 fork child=100 child_pid=100 pid=100 comm=\"a\"\n"
			     "3000 100 fork child=100 child_pid=100 pid=100 comm=\"a\"\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM thread WHERE tid=100", 1);
	db_close(db);
}

/*
 * Only 100 was recorded. It leaves to 200 and comes back from 300: 200 took the CPU. It leaves to a
 * thread of the kernel, and comes back from 200; to the idle task, and comes back from the
 * kernel's.
 */
static void strangers_are_chosen_between(void **state)
{
	sqlite3 *db = loaded(
		START("100") "906 700 thread pid=700 parent=2 state=83 comm=\"kworker/0:1\"\n"
			     "@cpu 0\n1500 0 switch next=100 prio=120\n"
			     "2000 100 switch next=200 flags=1\n"
			     "6000 300 switch next=100 prio=120\n"
			     "7000 100 switch next=700 flags=1\n"
			     "9000 200 switch next=100 prio=120\n"
			     "10000 100 switch next=0\n"
			     "15000 700 switch next=100 prio=120\n");

	(void)state;
	is_number(db, "SELECT preempted FROM cpu_contender WHERE tid=200", 4000 + 2000);
	is_number(db, "SELECT preempted FROM cpu_contender WHERE tid=0", 5000);
	is_number(db, "SELECT count(*) FROM cpu_contender", 2);
	is_null(db, "SELECT fair FROM sched_stat WHERE tid=100");
	db_close(db);
}

/* Only 100 was recorded: 200 takes its CPU, 300 has it when 100 is woken there, or elsewhere. */
static void the_current_thread_of_a_wakeup_has_the_cpu(void **state)
{
	static const char fmt[] = START("100") "@cpu 0\n1500 0 switch next=100\n"
					       "2000 100 switch next=200 state=1\n@cpu %d\n"
					       "4000 300 waking target=100 cpu=0\n@cpu 0\n"
					       "9000 300 switch next=100\n";
	char text[2000];
	sqlite3 *db;
	int cpu;

	(void)state;
	for (cpu = 0; cpu < 2; cpu++) {
		snprintf(text, sizeof(text), fmt, cpu);
		db = loaded(text);
		is_number(db, "SELECT tid * 10000 + guessed FROM cpu_contender",
			  cpu ? 2005000 : 3000000);
		db_close(db);
	}
}

/* state bits say S, but the switch was a preemption: it could still run. */
static void preemption_on_the_way_to_sleep_is_no_sleep(void **state)
{
	sqlite3 *db = loaded(START("100") "@cpu 0\n1500 0 switch next=100\n"
					  "2000 100 switch next=200 state=1 flags=1\n"
					  "6000 200 switch next=100\n");

	(void)state;
	is_number(db, "SELECT preempted FROM thread WHERE tid=100", 4000);
	is_number(db, "SELECT other FROM thread WHERE tid=100", 0);
	db_close(db);
}

/*
 * Both nice 0 and runnable from 2000 on: 100 waits to 6000 while 200 runs, lags 2000 below its
 * half; then it runs to 10000 and is level.
 */
static void fair_shares_follow_the_weights(void **state)
{
	sqlite3 *db = loaded(START("all") "@cpu 0\n1500 0 waking target=200 cpu=0 prio=120\n"
					  "1500 0 switch next=200 prio=120\n"
					  "2000 200 waking target=100 cpu=0 prio=120\n"
					  "6000 200 switch next=100 prio=120 flags=1\n"
					  "10000 100 switch next=200 state=1 prio=120\n");

	(void)state;
	is_number(db, "SELECT lag FROM sched_stat WHERE tid=100", 2000);
	is_number(db, "SELECT fair FROM sched_stat WHERE tid=100", 4000);
	is_number(db, "SELECT starved FROM sched_stat WHERE tid=100", 4000);
	db_close(db);
}

/* nice 19 (weight 15) against nice 0 (1024): its fair share is nearly nothing. */
static void heavier_threads_are_due_more(void **state)
{
	sqlite3 *db = loaded(START("all") "@cpu 0\n1500 0 waking target=200 cpu=0 prio=120\n"
					  "1500 0 switch next=200 prio=120\n"
					  "2000 200 waking target=100 cpu=0 prio=139\n"
					  "12390 200 switch next=100 state=1 prio=139\n"
					  "12400 100 switch next=0 state=1\n");

	(void)state;
	/* 10390 * 15 / 1039, and the last 10 alone */
	is_number(db, "SELECT fair FROM sched_stat WHERE tid=100", 160);
	db_close(db);
}

/* cgroups have weights of their own; without recorded weights a finding states it. */
static void fair_shares_do_not_know_of_groups(void **state)
{
	sqlite3 *db =
		loaded(START("all") "904 100 thread pid=100 state=83 cgroup=7 comm=\"a\"\n"
				    "905 200 thread pid=200 state=83 cgroup=8 comm=\"burner\"\n"
				    "@cpu 0\n1500 0 switch next=200 prio=120\n");

	(void)state;
	analysed(db, "cpu");
	is_number(db,
		  "SELECT number FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		  " f.evidence='LIMIT' AND f.kind='fair_by_nice' AND v.name='cgroups'",
		  2);
	db_close(db);
	db = loaded(START("all") "@cpu 0\n1500 0 switch next=200 prio=120\n");
	analysed(db, "cpu");
	is_number(db, "SELECT count(*) FROM finding WHERE evidence='LIMIT' AND analysis='cpu'", 0);
	db_close(db);
}

/* Control groups 7 and 8 below the root 1 share as 1 to 3; 100 and 101 are in 7, 200 is in 8. */
#define GROUPED(more)                                                       \
	START("all")                                                        \
	"906 100 thread pid=100 state=83 cgroup=7 comm=\"a\"\n"             \
	"906 101 thread pid=100 state=83 cgroup=7 comm=\"b\"\n"             \
	"906 200 thread pid=200 state=83 cgroup=8 comm=\"burner\"\n"        \
	"906 300 thread pid=300 state=83 cgroup=1 comm=\"other\"\n"         \
	"907 0 cgroup id=1 path=\"/\"\n907 0 cgroup id=7 path=\"/light\"\n" \
	"907 0 cgroup id=8 path=\"/heavy\"\n"                               \
	"907 0 cgroup_weight cgroup=7 parent=1 weight=1024\n"               \
	"907 0 cgroup_weight cgroup=8 parent=1 weight=3072\n" more

/* Both runnable from 2000 on; 100 runs a quarter of each 4000. */
static const char quarters[] =
	"@cpu 0\n2000 0 waking target=100 cpu=0 prio=120\n2000 0 waking target=200 cpu=0 prio=120\n"
	"2000 0 switch next=100 prio=120\n"
	"3000 100 switch next=200 prio=120\n6000 200 switch next=100 prio=120\n"
	"7000 100 switch next=200 prio=120\n10000 200 switch next=100 prio=120\n"
	"11000 100 switch next=200 prio=120\n"
	"14000 200 switch next=100 prio=120 state=1\n14000 100 switch next=0 state=1\n";

static sqlite3 *with_quarters(const char *before)
{
	char text[6000];

	snprintf(text, sizeof(text), "%s%s", before, quarters);
	return loaded(text);
}

static void shares_of_groups_follow_their_weights(void **state)
{
	sqlite3 *db = with_quarters(GROUPED(""));

	(void)state;
	is_number(db, "SELECT run FROM thread WHERE tid=100", 3000);
	is_number(db, "SELECT fair FROM sched_stat WHERE tid=100", 3000);
	is_number(db, "SELECT fair FROM sched_stat WHERE tid=200", 9000);
	/* it gets its CPU back at 6000 and 10000, just when it is due */
	is_number(db, "SELECT lag FROM sched_stat WHERE tid=100", 0);
	is_number(db, "SELECT starved FROM sched_stat WHERE tid=100", 0);
	is_number(db, "SELECT cgroup FROM sched_stat WHERE tid=200", 8);
	db_close(db);
	/* by nice values alone, half of the CPU would be its due */
	db = with_quarters(START("all"));
	is_number(db, "SELECT fair FROM sched_stat WHERE tid=100", 6000);
	assert_in_range(asked(db, "SELECT starved FROM sched_stat WHERE tid=100"), 1, 9000);
	is_null(db, "SELECT cgroup FROM sched_stat WHERE tid=100");
	db_close(db);
}

/*
 * A group's share does not grow with its threads: 100 and 101 have a quarter between them. A
 * thread in the root (300) counts like a group, a group inside another (9 in 8, of half
 * the weight of the thread that it competes with) shares what that one gets.
 */
static void shares_go_down_the_tree(void **state)
{
	static const char all[] =
		"@cpu 0\n2000 0 waking target=100 cpu=0 prio=120\n"
		"2000 0 waking target=101 cpu=0 prio=120\n"
		"2000 0 waking target=200 cpu=0 prio=120\n2000 0 switch next=200 prio=120\n"
		"10000 200 switch next=100 prio=120\n10000 100 switch next=101 prio=120\n";
	char text[6000];
	sqlite3 *db;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", GROUPED(""), all);
	db = loaded(text);
	is_number(db, "SELECT lag FROM sched_stat WHERE tid=100", 1000);
	is_number(db, "SELECT lag FROM sched_stat WHERE tid=101", 1000);
	db_close(db);
	snprintf(text, sizeof(text),
		 "%s@cpu 0\n2000 0 waking target=100 cpu=0 prio=120\n"
		 "2000 0 waking target=101 cpu=0 prio=120\n"
		 "2000 0 waking target=200 cpu=0 prio=120\n"
		 "2000 0 waking target=300 cpu=0 prio=120\n2000 0 switch next=200 prio=120\n"
		 "12000 200 switch next=300 prio=120 state=1\n12000 300 switch next=100 prio=120\n"
		 "12000 100 switch next=101 prio=120\n",
		 GROUPED("908 101 thread pid=100 state=83 cgroup=9 comm=\"b\"\n"
			 "908 0 cgroup_weight cgroup=9 parent=8 weight=512\n"));
	db = loaded(text);
	/* 300 and /light have a fifth each, /heavy three; of these group 9 has a third */
	is_number(db, "SELECT lag FROM sched_stat WHERE tid=300", 2000);
	is_number(db, "SELECT lag FROM sched_stat WHERE tid=100", 2000);
	is_number(db, "SELECT lag FROM sched_stat WHERE tid=101", 2000);
	is_number(db, "SELECT fair FROM sched_stat WHERE tid=200", 4000);
	db_close(db);
}

/* 101 of the light group runs on CPU 1: half of the group's weight is there, 1 to 6 on CPU 0. */
static void a_group_has_one_weight_on_all_cpus(void **state)
{
	char text[6000];
	sqlite3 *db;

	(void)state;
	snprintf(text, sizeof(text),
		 "%s@cpu 1\n1900 0 waking target=101 cpu=1 prio=120\n"
		 "1900 0 switch next=101 prio=120\n"
		 "@cpu 0\n2000 0 waking target=100 cpu=0 prio=120\n"
		 "2000 0 waking target=200 cpu=0 prio=120\n2000 0 switch next=200 prio=120\n"
		 "9000 200 switch next=100 prio=120\n",
		 GROUPED(""));
	db = loaded(text);
	is_number(db, "SELECT lag FROM sched_stat WHERE tid=100", 1000);
	db_close(db);
}

/*
 * At 6000 the light group becomes as heavy as the other one, and is looked at on the next event
 * here; 200 goes to it at 10000. A new group without recorded weight has the default weight where
 * its siblings have weights.
 */
static void shares_follow_changes(void **state)
{
	char text[6000];
	sqlite3 *db;

	(void)state;
	snprintf(text, sizeof(text),
		 "%s@cpu 0\n2000 0 waking target=100 cpu=0 prio=120\n"
		 "2000 0 waking target=200 cpu=0 prio=120\n2000 0 switch next=200 prio=120\n"
		 "6000 200 switch next=100 prio=120\n6000 100 switch next=200 prio=120\n"
		 "10000 200 switch next=100 prio=120\n"
		 "10000 100 cgroup_move cgroup=7 target=200 whole=1\n"
		 "10000 100 switch next=200 prio=120\n14000 200 switch next=100 prio=120 state=1\n"
		 "14000 100 switch next=0 state=1\n",
		 GROUPED("@recorder\n5900 0 cgroup_weight cgroup=7 parent=1 weight=3072\n"));
	db = loaded(text);
	/* 1000 of 4000, then 2000, then 2000 within the group */
	is_number(db, "SELECT fair FROM sched_stat WHERE tid=100", 5000);
	is_number(db, "SELECT fair FROM sched_stat WHERE tid=200", 3000 + 2000 + 2000);
	is_number(db, "SELECT count(*) FROM cgroup_weight WHERE cgroup=7", 2);
	db_close(db);
	snprintf(text, sizeof(text),
		 "%s@cpu 0\n1500 0 cgroup_made id=10 parent=1 path=\"/brief\"\n"
		 "1600 0 cgroup_move cgroup=10 target=100 whole=1\n"
		 "2000 0 waking target=100 cpu=0 prio=120\n"
		 "2000 0 waking target=200 cpu=0 prio=120\n2000 0 switch next=200 prio=120\n"
		 "6000 200 switch next=100 prio=120\n",
		 GROUPED(""));
	db = loaded(text);
	is_number(db, "SELECT lag FROM sched_stat WHERE tid=100", 1000);
	is_number(db, "SELECT cgroup FROM sched_stat WHERE tid=100", 10);
	db_close(db);
}

/* Groups that claim to be in each other, or in themselves, are read to the end. */
static void groups_in_a_circle_do_no_harm(void **state)
{
	sqlite3 *db = with_quarters(GROUPED("908 0 cgroup_weight cgroup=7 parent=8 weight=2\n"
					    "908 0 cgroup_weight cgroup=8 parent=7 weight=0\n"
					    "908 0 cgroup_weight cgroup=9 parent=9 weight=9\n"
					    "908 300 thread pid=300 state=83 cgroup=9\n"));

	(void)state;
	assert_in_range(asked(db, "SELECT fair FROM sched_stat WHERE tid=200"), 0, 12000);
	db_close(db);
}

static void the_answer_says_which_weights_it_knows(void **state)
{
	sqlite3 *db = with_quarters(GROUPED("908 0 info text=\"autogroup=1\"\n"));

	(void)state;
	analysed(db, "cpu");
	is_number(db,
		  "SELECT sum(iif(v.name='cgroups', v.number, 10 * v.number)) FROM finding f JOIN"
		  " finding_value v ON v.finding=f.id WHERE f.kind='fair_by_weight'",
		  2);
	/* all that ran had groups with a weight */
	is_number(db, "SELECT count(*) FROM finding WHERE kind='fair_by_session'", 0);
	is_number(db,
		  "SELECT value * 100 FROM metric WHERE name='fair' AND"
		  " subject='a[100]'",
		  100);
	db_close(db);
	db = with_quarters(START("all") "908 0 info text=\"autogroup=1\"\n");
	analysed(db, "cpu");
	is_number(db,
		  "SELECT number FROM finding f JOIN finding_value v ON v.finding=f.id"
		  " WHERE f.kind='fair_by_session'",
		  2);
	db_close(db);
}

/* 0.2 ms in the queue of CPU 0 while CPU 1 is idle all the time. */
#define IDLE_BESIDE(more)                                     \
	START("all")                                          \
	"90000 0 info text=\"stopped=900000\"\n"              \
	"@cpu 0\n1500 0 switch next=200 prio=120\n"           \
	"@cpu 1\n1600 300 switch next=0 state=1\n" more       \
	"@cpu 0\n2000 200 waking target=100 cpu=0 prio=120\n" \
	"202000 200 switch next=100 state=1 prio=120\n"

static void idle_cpus_during_long_waits_are_reported(void **state)
{
	sqlite3 *db = loaded(IDLE_BESIDE(""));

	(void)state;
	is_number(db, "SELECT idle_elsewhere FROM sched_stat WHERE tid=100", 200000);
	db_close(db);
}

static void idle_cpus_do_not_count_for_threads_bound_to_another(void **state)
{
	sqlite3 *db = loaded(IDLE_BESIDE("@recorder\n906 100 thread pid=100 state=83 bound=1\n"));

	(void)state;
	is_number(db, "SELECT idle_elsewhere FROM sched_stat WHERE tid=100", 0);
	db_close(db);
}

/* 203: sched_setaffinity. To which CPUs is not recorded. */
static void idle_cpus_are_unknown_for_threads_bound_during_the_wait(void **state)
{
	sqlite3 *db = loaded(IDLE_BESIDE("1700 300 syscall_args dur=10 nr=203 arg0=100 ret=0\n"));

	(void)state;
	is_null(db, "SELECT idle_elsewhere FROM sched_stat WHERE tid=100");
	db_close(db);
}

/* 100 alone 2000..4000, with 101 4000..8000 (both on a CPU): 2000 + 4000 / 2 and 4000 / 2. */
static void criticality_is_divided_by_the_active(void **state)
{
	sqlite3 *db = loaded(
		START("all") "@cpu 0\n2000 0 waking target=100 cpu=0\n2000 0 switch next=100\n"
			     "@cpu 1\n4000 0 waking target=101 cpu=1\n4000 0 switch next=101\n"
			     "8000 101 switch next=0 state=1\n"
			     "@cpu 0\n8000 100 switch next=0 state=1\n");

	(void)state;
	is_number(db, "SELECT criticality FROM sched_stat WHERE tid=100", 4000);
	is_number(db, "SELECT exclusive FROM sched_stat WHERE tid=100", 2000);
	is_number(db, "SELECT criticality FROM sched_stat WHERE tid=101", 2000);
	analysed(db, "cpu");
	assert_in_range(
		asked(db, "SELECT value FROM metric WHERE subject_id=100 AND name='exclusive CPU'"),
		33, 34);
	/* two thirds, of two threads, is not yet one that holds up the other */
	is_number(db, "SELECT count(*) FROM finding WHERE kind='little_parallel'", 0);
	db_close(db);
	db = loaded(START(
		"all") "@cpu 0\n2000 0 waking target=100 cpu=0\n2000 0 switch next=100\n"
		       "@cpu 1\n7000 0 waking target=101 cpu=1\n7000 0 switch next=101\n"
		       "8000 101 switch next=0 state=1\n@cpu 0\n8000 100 switch next=0 state=1\n");
	analysed(db, "cpu");
	is_number(db,
		  "SELECT round(number) FROM finding f JOIN finding_value v ON"
		  " v.finding=f.id WHERE f.kind='little_parallel' AND f.subject=100"
		  " AND f.subject_kind='thread' AND v.name='criticality'",
		  92);
	db_close(db);
	/* a process of one thread delays no other */
	db = loaded(START("all") "@cpu 0\n2000 0 waking target=200 cpu=0\n2500 0 switch next=200\n"
				 "8000 200 switch next=0 state=1\n");
	analysed(db, "cpu");
	is_number(db,
		  "SELECT count(*) FROM metric WHERE subject='burner[200]' AND"
		  " name='runq' AND value IS NOT NULL",
		  1);
	is_number(db,
		  "SELECT count(*) FROM metric WHERE subject='burner[200]' AND"
		  " name IN ('exclusive CPU','criticality') AND value IS NOT NULL",
		  0);
	db_close(db);
}

/*
 * 100 runs 2000..3000 and from 4000 on; the switch away from it is not recorded, and 200 leaves the
 * CPU at 8000; later 100 leaves a CPU that it was not seen to get. What is not known is not alone.
 */
static void time_that_is_not_known_is_not_alone(void **state)
{
	sqlite3 *db = loaded(START("all") "@cpu 0\n2000 0 switch next=100 prio=120\n"
					  "3000 100 switch next=0 state=1\n"
					  "4000 0 waking target=100 cpu=0 prio=120\n"
					  "4000 0 switch next=100 prio=120\n"
					  "8000 200 switch next=0 state=1\n"
					  "9000 100 switch next=0 state=1\n");

	(void)state;
	is_number(db, "SELECT run FROM thread WHERE tid=100", 1000);
	is_number(db, "SELECT exclusive FROM sched_stat WHERE tid=100", 1000);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(waits_are_divided_among_the_threads_that_ran),
		T(absurd_times_stay_within_bounds),
		T(a_thread_is_not_its_own_child),
		T(strangers_are_chosen_between),
		T(the_current_thread_of_a_wakeup_has_the_cpu),
		T(preemption_on_the_way_to_sleep_is_no_sleep),
		T(fair_shares_follow_the_weights),
		T(heavier_threads_are_due_more),
		T(fair_shares_do_not_know_of_groups),
		T(shares_of_groups_follow_their_weights),
		T(shares_go_down_the_tree),
		T(a_group_has_one_weight_on_all_cpus),
		T(shares_follow_changes),
		T(groups_in_a_circle_do_no_harm),
		T(the_answer_says_which_weights_it_knows),
		T(idle_cpus_during_long_waits_are_reported),
		T(idle_cpus_do_not_count_for_threads_bound_to_another),
		T(idle_cpus_are_unknown_for_threads_bound_during_the_wait),
		T(criticality_is_divided_by_the_active),
		T(time_that_is_not_known_is_not_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
