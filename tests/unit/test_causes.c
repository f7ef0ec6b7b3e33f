// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/causes/causes*.c: recordings of a server whose requests become slow for one known
 * reason. The slow ones are those from REQUESTS / 2 on.
 */
#include "analyze/analyses/analysis.h"
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"

static void locks_name_the_waker_and_its_wait(void **state)
{
	sqlite3 *db = slowed(held_lock, 0, "all", NULL);

	(void)state;
	is_number(db, "SELECT count(*) FROM cause", 1);
	first_is(db, "lock", "housekeeper[100/300]",
		 "evidence='OBSERVED' AND contribution > 0.9 AND end_kind='thread' AND end_id=300"
		 " AND end_state='timer' AND end_call='nanosleep' AND end_part > 0.9"
		 " AND object_kind='futex' AND subject_kind='service' AND unit_kind='request'"
		 " AND basis='change' AND slow > 5 * baseline AND own=0");
}

/* As held_lock, but another thread lets go each time. */
static long held_by_many(struct script *s, long t)
{
	static const int holders[] = { 101, 200, 300, 400, 500, 600, 700 };
	int holder = holders[t / PERIOD % 7];

	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_line(s, 1, "%ld 0 switch next=%d", t + 1000000, holder);
	script_wake(s, 1, holder, t + 2010000);
	script_line(s, 1, "%ld %d switch next=0 state=1", t + 2020000, holder);
	script_resume(s, t + 2013000, t + 2015000, 2020000);
	return t + 2030000;
}

/* The first of seven that did about a seventh each is not the one to blame. */
static void a_seventh_is_no_offender(void **state)
{
	sqlite3 *db = slowed(held_by_many, 0, "all", NULL);

	(void)state;
	first_is(db, "handoff", "", "offender_kind='none' AND offender_part < 0.25");
}

/* Another thread answers one request from the first slow request to the last: asleep, by a timer.
 */
static void units_as_long_as_the_whole_are_excluded(void **state)
{
	long i, from = BEGIN + REQUESTS / 2 * (long)PERIOD,
		to = BEGIN + (REQUESTS - 1) * (long)PERIOD;
	struct script s = { 0 };
	sqlite3 *db;

	(void)state;
	for (i = 0; i < REQUESTS; i++)
		script_request(&s, BEGIN + i * (long)PERIOD, i >= REQUESTS / 2 ? held_lock : NULL);
	script_line(&s, 2,
		    "2000 100 fd pid=100 fd=8 mode=0140000 ino=108 family=2 role=2 sport=80 "
		    "saddr=127.0.0.1");
	script_line(&s, 2, "%ld 0 waking target=101 cpu=2 context=1 prio=120", from);
	script_line(&s, 2, "%ld 0 switch next=101 prio=120", from + 1000);
	script_line(&s, 2, "%ld 101 syscall nr=read fd=8 dur=1000 ret=10", from + 5000);
	script_line(&s, 2, "%ld 101 switch next=0 state=1", from + 9000);
	script_timer(&s, 2, 101, to);
	script_line(&s, 2, "%ld 101 syscall_args nr=nanosleep dur=%ld", to + 2000,
		    to - from - 5000);
	script_line(&s, 2, "%ld 101 syscall nr=write fd=8 dur=1000 ret=10", to + 5000);
	script_line(&s, 2, "%ld 101 switch next=0 state=1", to + 9000);
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	is_above(db, "SELECT max(dur) FROM request", 9000000);
	is_number(db, "SELECT count(*) FROM cause", 1);
	is_number(db, FINDING_VALUE("caveat_excluded", "thread", "v.id"), 101);
	first_is(db, "lock", "housekeeper[100/300]",
		 CHILD("caveat_excluded", "v.name='n' AND v.number=1") " AND " CHILD(
			 "caveat_excluded", "v.name='length' AND v.low=v.high AND v.low > 59e7"));
}

/* Two of three wait for who waits for the disk, one for the disk itself: it is the disk. */
static void a_chain_that_ends_in_the_disk_is_the_disks(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < REQUESTS; i++)
		script_request(&s, BEGIN + i * (long)PERIOD,
			       i < REQUESTS / 2 ? NULL
			       : i % 3		? held_for_disk
						: slow_disk);
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	is_text(db, "SELECT kind FROM cause WHERE rank=2", "lock");
	is_above(db, "SELECT contribution FROM cause WHERE rank=2", 0.6);
	first_is(db, "disk", NULL,
		 "contribution > 0.9 AND " CHILD("cause_through", "v.number > 60"));
}

static void chains_go_on_after_locks(void **state)
{
	(void)state;
	first_is(slowed(held_fsync, 0, "all", NULL), "lock", "housekeeper[100/300]", "end_id=500");
}

static void workers_of_the_kernel_end_chains(void **state)
{
	(void)state;
	first_is(slowed(held_fsync, 0, "100", NULL), "lock", "housekeeper[100/300]",
		 "end_id=300 AND end_state='blocked' AND " CHILD("cause_end",
								 "v.name='by' AND v.id=500"));
}

static void handoffs_are_no_locks(void **state)
{
	(void)state;
	first_is(slowed(handed_over, 0, "all", NULL), "handoff", "helper[100/101]",
		 "end_id=101 AND end_state='run'");
}

static void the_last_waker_counts(void **state)
{
	(void)state;
	first_is(slowed(woken_in_vain, 0, "all", NULL), "lock", "housekeeper[100/300]", NULL);
}

static void cpu_contenders_are_named(void **state)
{
	sqlite3 *db = slowed(preempted, 0, "all", NULL);

	(void)state;
	first_is(
		db, "cpu_contender", "burner[200]",
		"offender_kind='process' AND offender=200 AND evidence='OBSERVED' AND category='runq'");
	/* it leaves to 200 and comes back from 400: who was between is not recorded */
	db = slowed(preempted_by_two, 0, "100", NULL);
	first_is(db, "cpu_contender", "burner[200]",
		 "evidence='OVERLAP' AND " CHILD("caveat_guessed", "v.number >= 10"));
}

/*
 * From the second half on 200 has the CPU when the server is woken; it then finds eight requests
 * where before it found one, each a slice of 200 us, at the same rate: seven wait for those in
 * front.
 */
static void neighbours_delay_before_the_receive(void **state)
{
	struct script s = { 0 };
	long t, i, k, n, at;

	for (i = 8; i < 16; i++)
		script_line(&s, 3,
			    "%ld 100 fd pid=100 fd=%ld mode=0140000 ino=%ld family=2 role=2 "
			    "sport=80 saddr=127.0.0.1",
			    2000 + i, i, 100 + i);
	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * PERIOD;
		n = i < REQUESTS / 2 ? 1 : i % 8 ? 0 : 8;
		if (!n)
			continue;
		script_line(&s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
		at = t + (n == 1 ? 1000 : 4000000);
		if (n > 1)
			script_line(&s, 0, "%ld 0 switch next=200 prio=120", t - 500);
		script_line(&s, 0, "%ld %d switch next=100 prio=120 flags=1", at, n > 1 ? 200 : 0);
		script_line(&s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=%ld ret=%ld",
			    at + 1000, at - t + 20000, n);
		for (k = 0; k < n; k++)
			script_line(&s, 0, "%ld 100 syscall nr=read fd=%ld dur=1000 ret=10",
				    at + 5000 + 200000 * k, 8 + k);
		for (k = 0; k < n; k++)
			script_line(&s, 0, "%ld 100 syscall nr=write fd=%ld dur=1000 ret=10",
				    at + 5000 + 200000 * n + 1000 * k, 8 + k);
		script_line(&s, 0, "%ld 100 switch next=0 state=1", at + 20000 + 200000 * n);
	}
	(void)state;
	first_is(script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL), "cpu_contender",
		 "burner[200]", "(SELECT count(*) FROM cause WHERE kind='self')=0");
}

/* Workers of one leader with the same name answer in turn: one server, with one cause. */
static void workers_are_one_server(void **state)
{
	struct script s = {
		.facts = "112 600 thread pid=600 parent=100 state=83 comm=\"server\"\n"
			 "113 601 thread pid=601 parent=100 state=83 comm=\"server\"\n"
			 "114 600 fd pid=600 fd=5 mode=0140000 ino=80 family=2 role=2 sport=80 "
			 "saddr=127.0.0.1\n"
			 "115 601 fd pid=601 fd=5 mode=0140000 ino=81 family=2 role=2 sport=80 "
			 "saddr=127.0.0.1\n",
	};
	sqlite3 *db;
	long i, t;

	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * PERIOD;
		script_line(&s, 0, "%ld 0 switch next=%ld prio=120", t, 600 + i % 2);
		script_line(&s, 0, "%ld %ld syscall nr=read fd=5 dur=1000 ret=10", t + 5000,
			    600 + i % 2);
		t += i < REQUESTS / 2 ? 0 : 500000;
		script_line(&s, 0, "%ld %ld syscall nr=write fd=5 dur=1000 ret=10", t + 50000,
			    600 + i % 2);
		script_line(&s, 0, "%ld %ld switch next=0 state=1", t + 60000, 600 + i % 2);
	}
	(void)state;
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	is_number(db, "SELECT count(*) FROM cause WHERE kind='self'", 1);
	is_text(db,
		"SELECT subject_kind || ' ' || (SELECT processes FROM server WHERE id=subject) FROM cause",
		"server 2");
	is_number(db, "SELECT sum(n) FROM latency WHERE kind='served'", REQUESTS);
	db_close(db);
}

/* A child of the same name has the CPU: another program, unless it answers requests as well. */
static void children_that_answer_nothing_are_others(void **state)
{
	static const char child[] =
		"112 200 thread pid=200 parent=100 state=83 comm=\"server\" cmdline=\"server\"\n"
		"113 200 fd pid=200 fd=5 mode=0140000 ino=80 family=2 role=2 sport=80 "
		"saddr=127.0.0.1\n";
	struct script s = { .facts = child };
	sqlite3 *db;
	long i, t;

	(void)state;
	first_is(slowed(preempted, 0, "all", child), "cpu_contender", "server[200]", "own=0");
	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * (long)PERIOD;
		script_request(&s, t, i >= REQUESTS / 2 ? preempted : NULL);
		if (i >= REQUESTS / 2)
			continue;
		script_line(&s, 2, "%ld 0 switch next=200 prio=120", t);
		script_line(&s, 2, "%ld 200 syscall nr=read fd=5 dur=1000 ret=10", t + 5000);
		script_line(&s, 2, "%ld 200 syscall nr=write fd=5 dur=1000 ret=10", t + 50000);
		script_line(&s, 2, "%ld 200 switch next=0 state=1", t + 60000);
	}
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	is_above(db, "SELECT count(*) FROM cause", 0);
	is_number(db, "SELECT count(*) FROM cause WHERE kind='cpu_contender' AND NOT own", 0);
	db_close(db);
}

/* Waits while the CPU is idle, and waits that end with a period of 100 ms: no facts, no quota. */
static void shapes_of_waits_are_no_quota(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < REQUESTS; i++)
		script_request(&s, BEGIN + i * PERIOD, i >= 60 && i % 20 < 4 ? preempted : NULL);
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	is_number(db, "SELECT count(*) FROM cause WHERE kind='throttle'", 0);
	first_is(db, "cpu_contender", "burner[200]", NULL);
	db = slowed(throttled, 0, "all", NULL);
	is_number(db, "SELECT count(*) FROM cause WHERE kind='throttle'", 0);
	/* nothing is known to have run then */
	first_is(db, "runq", "",
		 "offender_kind='none' AND (SELECT v.number > 99 FROM finding_value v WHERE"
		 " v.finding=cause.finding AND v.name='idle')");
}

/* Groups of processes are known: their counters decide, whatever the waits look like. */
static void counters_of_quotas_decide(void **state)
{
	static const char group[] =
		"112 0 cgroup id=7 path=\"/a/web\"\n113 0 cgroup id=8 path=\"/a\"\n"
		"114 100 thread pid=100 state=83 cgroup=7 comm=\"server\"\n";
	char facts[1000];
	sqlite3 *db;

	(void)state;
	snprintf(facts, sizeof(facts),
		 "%s115 0 throttle cgroup=8 quota=1000000 period=100000000\n"
		 "1300000000 0 throttle cgroup=8 quota=1000000 period=100000000 periods=13\n",
		 group);
	db = slowed(throttled, 0, "100", facts);
	is_number(db, "SELECT count(*) FROM cause WHERE kind='throttle'", 0);
	db_close(db);
	snprintf(facts, sizeof(facts),
		 "%s115 0 throttle cgroup=8 quota=1000000 period=100000000\n"
		 "1300000000 0 throttle cgroup=8 quota=1000000 period=100000000 periods=13 "
		 "throttled=12 time=360000000\n",
		 group);
	db = slowed(throttled, 0, "100", facts);
	first_is(
		db, "throttle", "cgroup /a",
		"evidence='OVERLAP' AND object=8 AND offender=8 AND (SELECT v.id FROM finding_value v WHERE"
		" v.finding=cause.finding AND v.name='spender')=100");
	/* its threads spent little of what the quota allows: others did, which are not recorded */
	snprintf(facts, sizeof(facts),
		 "%s115 0 throttle cgroup=8 quota=100000000 period=100000000\n"
		 "1300000000 0 throttle cgroup=8 quota=100000000 period=100000000 periods=13 "
		 "throttled=12 time=360000000\n",
		 group);
	first_is(slowed(throttled, 0, "100", facts), "throttle", "cgroup /a",
		 "NOT EXISTS (SELECT 1 FROM finding_value v WHERE"
		 " v.finding=cause.finding AND v.name='spender')");
	/* throttled, but for a tenth of the time in which the neighbour ran */
	snprintf(facts, sizeof(facts),
		 "%s115 0 throttle cgroup=8 quota=1000000 period=100000000\n"
		 "1300000000 0 throttle cgroup=8 quota=1000000 period=100000000 periods=13 "
		 "throttled=12 time=24000000\n",
		 group);
	first_is(slowed(preempted, 0, "100", facts), "cpu_contender", "burner[200]", NULL);
}

static void peers_have_addresses(void **state)
{
	sqlite3 *db = slowed(slow_peer, 0, "all", NULL);

	(void)state;
	first_is(db, "peer", "10.0.0.9:9000",
		 "offender_kind='upstream' AND category='client' AND offender_part > 0.99");
}

/* Of the kernels, no process takes part: to that address, while requests were slow. */
static void handshakes_with_an_upstream_are_the_networks(void **state)
{
#define TO(sock, port, ts, took)                                                              \
	"%ld 0 tcp_state sock=" #sock " from=7 to=2 family=2 sport=" #sock " dport=" #port    \
	" saddr=10.0.0.1 daddr=10.0.0.9\n%ld 0 tcp_state sock=" #sock " from=2 to=1 family=2" \
	" sport=" #sock " dport=" #port " saddr=10.0.0.1 daddr=10.0.0.9\n",                   \
		(long)(ts), (long)((ts) + (took))
	const long fast = BEGIN + 10L * PERIOD, slow = BEGIN + (REQUESTS - 10L) * PERIOD;
	struct buf facts = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(0, buf_printf(&facts, &e, TO(4001, 9000, fast, 90000)));
	assert_int_equal(0, buf_printf(&facts, &e, TO(4002, 9000, slow, 1000000)));
	assert_int_equal(0, buf_printf(&facts, &e, TO(4003, 9001, slow + 1, 70000)));
	assert_int_equal(0, buf_printf(&facts, &e, TO(4004, 9000, slow + 2, 3000000)));
#undef TO
	first_is(slowed(slow_peer, 0, "all", facts.data), "peer", "10.0.0.9:9000",
		 "(SELECT group_concat(name || '=' || number) FROM finding_value v WHERE"
		 " v.finding=cause.finding AND name LIKE 'handshake%') ="
		 " 'handshakes=2.0,handshake=2000000.0'");
	buf_free(&facts);
	first_is(slowed(slow_peer, 0, "all", NULL), "peer", "10.0.0.9:9000",
		 "NOT EXISTS (SELECT 1 FROM finding_value v WHERE v.finding=cause.finding"
		 " AND name LIKE 'handshake%')");
}

static void pipes_have_another_end(void **state)
{
	(void)state;
	first_is(slowed(full_pipe, 0, "all", NULL), "pipe", "reader[400]",
		 "end_id=400 AND end_state='timer'");
}

static void tails_are_compared_with_the_middle(void **state)
{
	sqlite3 *db = slowed(preempted, 15, "all", NULL);

	(void)state;
	is_number(db, "SELECT max(severity) FROM finding WHERE analysis='causes'", NOTE);
	first_is(db, "cpu_contender", "burner[200]",
		 "basis='tail' AND start=0 AND end=0 AND abs(added - 2000000) < 300000"
		 " AND contribution_low <= contribution AND contribution <= contribution_high");
}

static void equal_units_have_no_added_latency(void **state)
{
	sqlite3 *db = slowed(computes, 1, "all", NULL);

	(void)state;
	is_number(db, "SELECT max(severity) FROM finding WHERE analysis='causes'", NOTE);
	first_is(db, "self", NULL, "basis='all' AND abs(slow - 2.1e6) < 1e5 AND own");
}

static void many_small_parts_are_no_cause(void **state)
{
	sqlite3 *db = slowed(of_all_kinds, 0, "all", NULL);

	(void)state;
	is_number(db, "SELECT count(*) FROM cause", 0);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='cause_none'", 1);
	db_close(db);
}

static long briefly_by_another(struct script *s, long t)
{
	script_line(s, 0, "%ld 100 switch next=400 flags=1 prio=120", t);
	script_line(s, 0, "%ld 400 switch next=100 flags=1 prio=120", t + 500000);
	return t + 500000;
}

/* A thread in front of baseline requests only has no part of the added latency: no part is > 1. */
static void shares_of_neighbours_add_up(void **state)
{
	(void)state;
	first_is(halves(briefly_by_another, preempted, NULL), "cpu_contender", "burner[200]",
		 "round(1000 * offender_part)=1000 AND own=0");
}

/* The first quarter is slow for another reason; the user names the last one. */
static void windows_that_the_user_names_count(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < REQUESTS; i++)
		script_request(&s, BEGIN + i * PERIOD,
			       i < REQUESTS / 4	       ? preempted
			       : i >= REQUESTS * 3 / 4 ? slow_peer
						       : NULL);
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD,
			 "INSERT INTO recording VALUES('baseline_from',4e8),('baseline_to',8e8),"
			 "('degraded_from',9e8),('degraded_to',12e8)");
	is_number(db, "SELECT count(*) FROM cause", 1);
	first_is(db, "peer", "10.0.0.9:9000",
		 "contribution > 0.95 AND basis='given' AND abs(start - 9e8) < 1e7 AND"
		 " abs(end - 12e8) < 1e7");
}

/* From the middle on the thread does not sleep any more: it is saturated, requests are as before.
 */
static void saturated_threads_are_reported(void **state)
{
	struct script s = { 0 };
	long i, t;

	(void)state;
	for (i = 0; i < REQUESTS / 2; i++)
		script_request(&s, BEGIN + i * PERIOD, computes);
	t = BEGIN + i * PERIOD;
	script_line(&s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
	script_line(&s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
	for (; t < BEGIN + REQUESTS * (long)PERIOD; t += 2200000) {
		script_line(&s, 0, "%ld 100 syscall nr=read fd=5 dur=2000 ret=10", t + 5000);
		script_line(&s, 0, "%ld 100 syscall nr=write fd=5 dur=2000 ret=10", t + 2105000);
	}
	first_is(script_play(&s, "all", t, NULL), "saturation", "server[100]",
		 "own AND offender_part > 0.95");
}

/* Requests during which events were lost, or whose thread's state is not known, count nowhere. */
static void units_with_loss_are_excluded(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < REQUESTS; i++) {
		if (i == REQUESTS / 2)
			script_line(&s, 0, "@block");
		script_request(&s, BEGIN + i * PERIOD, i == REQUESTS / 2 ? preempted : NULL);
		if (i == REQUESTS / 2)
			script_line(&s, 0, "@block\n@lost 9");
		if (i == REQUESTS / 2 + 1)
			script_line(&s, 0, "@block\n@lost 9");
	}
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	assert_true(asked(db, "SELECT count(*) FROM request WHERE lossy") > 0);
	is_number(db, "SELECT count(*) FROM cause WHERE kind='cpu_contender'", 0);
	is_number(db,
		  "SELECT max(n) + (SELECT count(*) FROM request WHERE lossy) FROM metric"
		  " WHERE analysis='causes'",
		  REQUESTS);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(locks_name_the_waker_and_its_wait),
		T(a_seventh_is_no_offender),
		T(units_as_long_as_the_whole_are_excluded),
		T(a_chain_that_ends_in_the_disk_is_the_disks),
		T(chains_go_on_after_locks),
		T(workers_of_the_kernel_end_chains),
		T(handoffs_are_no_locks),
		T(the_last_waker_counts),
		T(cpu_contenders_are_named),
		T(neighbours_delay_before_the_receive),
		T(workers_are_one_server),
		T(children_that_answer_nothing_are_others),
		T(shapes_of_waits_are_no_quota),
		T(counters_of_quotas_decide),
		T(peers_have_addresses),
		T(handshakes_with_an_upstream_are_the_networks),
		T(pipes_have_another_end),
		T(tails_are_compared_with_the_middle),
		T(equal_units_have_no_added_latency),
		T(many_small_parts_are_no_cause),
		T(windows_that_the_user_names_count),
		T(saturated_threads_are_reported),
		T(units_with_loss_are_excluded),
		T(shares_of_neighbours_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
