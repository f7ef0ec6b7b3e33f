// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/causes/units/units.c and the tables next to causes: which units of work are taken, their
 * names, and what they waited for.
 */
#include "analyze/analyses/analysis.h"
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

/* The descriptor is used for another server later: times and names stay with whom they were. */
static void fds_change_their_peers(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < REQUESTS; i++) {
		if (i == REQUESTS - 1)
			script_line(&s, 0,
				    "%ld 100 fd pid=100 fd=6 mode=0140000 ino=99 family=2 role=3 "
				    "dport=7000 daddr=10.0.0.7",
				    BEGIN + i * (long)PERIOD - 1000);
		script_request(&s, BEGIN + i * (long)PERIOD, i >= REQUESTS / 2 ? slow_peer : NULL);
	}
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	is_text(db,
		"SELECT offender_kind || ' ' || (SELECT remote FROM fd WHERE fd.rowid=offender) FROM cause WHERE rank=1",
		"upstream 10.0.0.9:9000");
	analysed(db, "net");
	is_number(
		db,
		"SELECT value FROM metric WHERE name='exchanges' AND subject='server[100] connects to "
		"10.0.0.9:9000'",
		REQUESTS / 2 - 1);
	is_number(
		db,
		"SELECT value FROM metric WHERE name='exchanges' AND subject='server[100] connects to "
		"10.0.0.7:7000'",
		1);
	is_number(
		db,
		"SELECT value FROM metric WHERE name='answer' AND subject='server[100] connects to "
		"10.0.0.9:9000'",
		2007000);
	db_close(db);
}

/* A row of the overview adds up to 100 %, with what the thread waited for other servers. */
static void shares_of_a_life_add_up(void **state)
{
	sqlite3 *db = slowed(slow_peer, 0, "all", NULL);

	(void)state;
	analysed(db, "overview");
	is_number(db,
		  "SELECT round(1000 * sum(value)) FROM metric WHERE analysis='overview' AND "
		  "subject='server[100]' AND unit='%'",
		  100000);
	is_above(
		db,
		"SELECT value FROM metric WHERE analysis='overview' AND subject='server[100]' AND name='client'",
		10);
	db_close(db);
}

/* A thread that serves a client and asks another server: only waits for the client are idle. */
static void waiting_for_an_answer_is_not_idle(void **state)
{
	sqlite3 *db = slowed(slow_peer, 1, "all", NULL);

	(void)state;
	analysed(db, "slack");
	is_number(
		db,
		"SELECT count(*) FROM metric WHERE analysis='slack' AND subject='server[100] socket'",
		0);
	is_above(db, "SELECT total(time) FROM series WHERE kind=22 AND tid=100", 0);
	is_number(db, "SELECT total(time) FROM series WHERE kind=7 AND tid=100", 0);
	db_close(db);
	db = loaded(
		"@recorder\n900 0 info text=\"groups=core,syscalls,sched\"\n"
		"901 0 info text=\"targets=all\"\n"
		"902 100 thread pid=100 state=83 comm=\"server\"\n"
		"903 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 sport=80 "
		"saddr=127.0.0.1\n"
		"904 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=3 dport=9000 "
		"daddr=10.0.0.9\n"
		"1000 0 info text=\"begin=1000\"\n1001000 0 info text=\"stopped=1001000\"\n"
		"@cpu 0\n1000 0 switch next=100\n"
		"2000 100 switch next=0 state=1\n202000 0 waking target=100 context=1\n"
		"202000 0 switch next=100\n203000 100 syscall nr=read fd=5 dur=202000 ret=10\n"
		"204000 100 switch next=0 state=1\n804000 0 waking target=100 context=1\n"
		"804000 0 switch next=100\n805000 100 syscall nr=read fd=6 dur=602000 ret=10\n");
	analysed(db, "slack");
	is_number(db,
		  "SELECT value FROM metric WHERE subject='server[100] socket' AND name='waits'",
		  1);
	is_number(
		db,
		"SELECT value FROM metric WHERE subject='server[100] socket' AND name='mean wait'",
		202000);
	is_number(
		db,
		"SELECT round(value) FROM metric WHERE subject='server[100] socket' AND name='asleep'",
		20);
	db_close(db);
}

/*
 * Work without a socket: each REQUESTS-th a call of a probed function if probed, else only time;
 * with a fault from one of them on.
 */
static sqlite3 *worked(bool probed, int from, fault_fn fault, const char *windows)
{
	struct script s = { .facts = "112 0 site id=0 text=\"/bin/server:handle\"\n" };
	long i, t;

	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * (long)PERIOD;
		script_line(&s, 0, "%ld 0 waking target=100 cpu=0 context=2 prio=120", t);
		script_line(&s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
		script_line(&s, 0, "%ld 100 syscall_args nr=nanosleep dur=%ld", t + 2000,
			    (long)PERIOD - 60000);
		if (probed)
			script_line(&s, 0, "%ld 100 call site=0 sp=900", t + 5000);
		t += 55000;
		if (i >= from)
			t = fault(&s, t);
		if (probed)
			script_line(&s, 0, "%ld 100 return site=0 sp=900", t + 50000);
		script_line(&s, 0, "%ld 100 switch next=0 state=1", t + 60000);
	}
	return script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, windows);
}

/* A probed function comes before requests, and requests before windows of time. */
static void calls_of_a_probed_function_are_units(void **state)
{
	sqlite3 *db = worked(true, REQUESTS / 2, held_lock, NULL);

	(void)state;
	is_text(db,
		"SELECT unit_kind || ' ' || subject_kind || ' ' || kind || ' ' || offender_kind || ' ' || offender FROM cause WHERE rank=1",
		"call function lock thread 300");
	is_above(db, "SELECT contribution FROM cause WHERE rank=1", 0.9);
	analysed(db, "timeline");
	is_text(db, "SELECT what FROM timeline_unit WHERE unit=1",
		"calls of handle: example of cause 1");
	/* the waiting thread and its waker; no row reaches out of the unit */
	is_number(db, "SELECT count(DISTINCT tid) FROM timeline WHERE unit=1 AND tid IN (100, 300)",
		  2);
	is_number(db, "SELECT hop FROM timeline WHERE unit=1 AND tid=300 LIMIT 1", 1);
	is_number(db, "SELECT waker FROM timeline WHERE unit=1 AND tid=100 AND state='futex'", 300);
	is_number(
		db,
		"SELECT count(*) FROM timeline t JOIN timeline_unit u USING(unit) WHERE t.ts < u.ts OR "
		"t.ts + t.dur > u.ts + u.dur",
		0);
	is_number(
		db,
		"SELECT sum(t.dur) - max(u.dur) FROM timeline t JOIN timeline_unit u USING(unit) WHERE "
		"t.unit=1 AND t.tid=100",
		0);
	db_close(db);
}

/* All windows are as long: what is said is what they were spent on, not that they became longer. */
static void time_itself_is_a_unit(void **state)
{
	sqlite3 *db = worked(false, 0, slow_disk, NULL);

	(void)state;
	is_text(db,
		"SELECT unit_kind || ' ' || subject_kind || ' ' || subject || ' ' || kind || ' ' || basis FROM cause WHERE rank=1",
		"window process 100 timer all");
	is_number(
		db,
		"SELECT count(*) FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		" f.kind='window_unchanged' AND f.evidence='LIMIT' AND v.name='n' AND v.number=128",
		1);
	db_close(db);
	db = worked(false, REQUESTS / 2, slow_disk,
		    "INSERT INTO recording VALUES('baseline_from',1e8),('baseline_to',5e8),"
		    "('degraded_from',7e8),('degraded_to',11e8)");
	is_text(db, "SELECT unit_kind || ' ' || kind || ' ' || basis FROM cause WHERE rank=1",
		"window disk given");
	is_within(db, "SELECT start FROM cause WHERE rank=1", 7e8 - 1e7, 7e8 + 1e7);
	is_within(db, "SELECT end FROM cause WHERE rank=1", 11e8 - 1e7, 11e8 + 1e7);
	is_within(db, "SELECT n_slow FROM cause WHERE rank=1", 40, 45);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='window_unchanged'", 0);
	db_close(db);
}

/* Without --window: the second half is found, from the 120th of 240 periods of 5 ms on. */
static void windows_that_changed_are_found(void **state)
{
	sqlite3 *db = worked(false, REQUESTS / 2, slow_disk, NULL);

	(void)state;
	is_text(db, "SELECT kind || ' ' || basis FROM cause WHERE rank=1", "disk change");
	is_above(db, "SELECT contribution FROM cause WHERE rank=1", 0.9);
	is_within(db, "SELECT start FROM cause WHERE rank=1", 601e6 - 2 * 9.4e6, 601e6 + 2 * 9.4e6);
	is_within(db, "SELECT n_slow FROM cause WHERE rank=1", 60, 69);
	is_within(
		db,
		"SELECT value FROM metric WHERE analysis='causes' AND name='from' AND subject='windows of server[100]: slow stretch 1'",
		601e6 - 2 * 9.4e6, 601e6 + 2 * 9.4e6);
	is_number(
		db,
		"SELECT count(*) FROM finding f, cause c WHERE f.parent=c.finding AND f.kind='caveat_work'",
		1);
	is_number(db,
		  "SELECT max(severity) FROM finding WHERE analysis='causes' AND evidence<>'LIMIT'",
		  WARNING);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='window_unchanged'", 0);
	db_close(db);
}

/* The reads of two workers wait for the writes of two processes with one name. */
static sqlite3 *workers_and_hogs(void)
{
	struct script s = {
		.facts = "112 600 thread pid=600 parent=100 state=83 comm=\"server\"\n"
			 "113 601 thread pid=601 parent=100 state=83 comm=\"server\"\n"
			 "114 600 fd pid=600 fd=5 mode=0140000 ino=80 family=2 role=2 sport=80 "
			 "saddr=127.0.0.1\n"
			 "115 601 fd pid=601 fd=5 mode=0140000 ino=81 family=2 role=2 sport=80 "
			 "saddr=127.0.0.1\n"
			 "116 800 thread pid=800 state=83 comm=\"hog\"\n"
			 "117 801 thread pid=801 state=83 comm=\"hog\"\n",
	};
	long i, t, who;

	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * (long)PERIOD;
		who = 600 + i % 2;
		script_line(&s, 0, "%ld 0 switch next=%ld prio=120", t, who);
		script_line(&s, 0, "%ld %ld syscall nr=read fd=5 dur=1000 ret=10", t + 5000, who);
		t += 10000;
		if (i >= REQUESTS / 2) {
			script_line(&s, 1,
				    "%ld %ld block_start request=7 dev=0xfe00000 bytes=1048576 "
				    "sector=4096 op=1",
				    t, 800 + i % 2);
			script_line(&s, 0,
				    "%ld %ld block_start request=8 dev=0xfe00000 bytes=4096 "
				    "sector=8",
				    t + 1000, who);
			script_line(&s, 0, "%ld %ld switch next=0 state=2 flags=2", t + 2000, who);
			script_line(&s, 1,
				    "%ld 0 block_complete request=7 dev=0xfe00000 bytes=1048576 "
				    "sector=4096",
				    t + 1000000);
			script_line(&s, 1,
				    "%ld 0 block_complete request=8 dev=0xfe00000 bytes=4096 "
				    "sector=8",
				    t + 2000000);
			script_line(&s, 1, "%ld 0 waking target=%ld cpu=0 context=2", t + 2001000,
				    who);
			t += 2002000;
			script_line(&s, 0, "%ld 0 switch next=%ld", t, who);
		}
		script_line(&s, 0, "%ld %ld syscall nr=write fd=5 dur=1000 ret=10", t + 50000, who);
		script_line(&s, 0, "%ld %ld switch next=0 state=1", t + 60000, who);
	}
	return script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
}

/* Processes of one name are reported as one; requests of all workers are the server's own. */
static void users_of_a_disk_are_joined_by_name(void **state)
{
	sqlite3 *db = workers_and_hogs();

	(void)state;
	is_text(db,
		"SELECT kind || ' ' || evidence || ' ' || offender_kind FROM cause WHERE rank=1",
		"disk OVERLAP program");
	is_within(db, "SELECT offender FROM cause WHERE rank=1", 800, 801);
	is_above(db, "SELECT offender_part FROM cause WHERE rank=1", 0.99);
	is_above(db, FINDING_VALUE("cause_own_io", "n", "v.number"), 80);
	db_close(db);
}

/* Its own threads had the CPU longest, and then a neighbour: the first sentence names both. */
static void cpu_contenders_are_named(void **state)
{
	struct script s = { .facts = "112 700 thread pid=100 state=83 comm=\"sibling\"\n" };
	sqlite3 *db;
	long i, t;

	(void)state;
	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * (long)PERIOD;
		script_line(&s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
		script_line(&s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
		script_line(&s, 0, "%ld 100 syscall nr=read fd=5 dur=1000 ret=10", t + 5000);
		t += 10000;
		if (i < REQUESTS / 2 && i % 5 < 3) { /* as much as later, on another CPU */
			script_line(&s, 1, "%ld 0 waking target=700 cpu=1", t);
			script_line(&s, 1, "%ld 0 switch next=700 prio=120", t + 1000);
			script_line(&s, 1, "%ld 700 switch next=0 state=1", t + 2001000);
		} else if (i >= REQUESTS / 2) { /* three of five times its own thread runs */
			script_line(&s, 0, "%ld 100 switch next=%d flags=1 prio=120", t,
				    i % 5 < 3 ? 700 : 200);
			script_line(&s, 0, "%ld %d switch next=100 flags=1 prio=120", t + 2000000,
				    i % 5 < 3 ? 700 : 200);
			t += 2000000;
		}
		script_line(&s, 0, "%ld 100 syscall nr=write fd=5 dur=1000 ret=10", t + 50000);
		script_line(&s, 0, "%ld 100 switch next=0 state=1", t + 60000);
	}
	db = script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
	is_text(db, "SELECT kind || ' ' || offender FROM cause", "cpu_contender 100");
	is_number(db, "SELECT own FROM cause", 1);
	is_number(
		db,
		"SELECT count(*) FROM finding_value v, cause c WHERE v.finding=c.finding AND v.name='user'"
		" AND v.kind='process' AND v.id=200 AND v.number BETWEEN 30 AND 50",
		1);
	db_close(db);
}

/* The maximum of a part of the calls of handle. */
static void max_is(sqlite3 *db, const char *part, s64 ns)
{
	char sql[300];

	snprintf(sql, sizeof(sql),
		 "SELECT value FROM metric WHERE name='max' AND subject='handle: %s'", part);
	is_number(db, sql, ns);
}

/* One call that sleeps for every reason, each for another time: all are separate and add up. */
static void calls_are_split_into_all_classes(void **state)
{
	static const struct {
		const char *part, *syscall; /* the record at its end; NULL: none */
		int bits, flags;	    /* of the switch away */
		long ns;
	} waits[] = {
		{ "futex", "syscall_args nr=futex arg0=0x1000 arg1=0x80", 1, 0, 100000 },
		{ "disk", "syscall_args nr=pread64 arg0=9 ret=1", 2, 2, 200000 },
		{ "other D", "syscall_args nr=mkdir", 2, 0, 300000 },
		{ "socket wait", "syscall nr=read fd=5 ret=1", 1, 0, 400000 },
		{ "upstream wait", "syscall nr=read fd=6 ret=1", 1, 0, 500000 },
		{ "pipe", "syscall nr=read fd=7 ret=1", 1, 0, 600000 },
		{ "poll", "syscall_args nr=epoll_wait arg0=4 arg3=-1", 1, 0, 700000 },
		{ "timer", "syscall_args nr=nanosleep", 1, 0, 800000 },
	};
	struct script s = { .facts = "112 0 site id=0 text=\"/bin/server:handle\"\n" };
	sqlite3 *db;
	long t = BEGIN;
	size_t i;

	(void)state;
	script_timer(&s, 0, 100, t - 2000);
	script_line(&s, 0, "%ld 100 call site=0 sp=900", t);
	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		script_line(&s, 0, "%ld 100 switch next=0 state=%d flags=%d", t + 10000,
			    waits[i].bits, waits[i].flags);
		t += 10000 + waits[i].ns;
		script_line(&s, 0, "%ld 0 waking target=100 cpu=0 context=1", t);
		script_line(&s, 0, "%ld 0 switch next=100", t + 1000); /* 1 us in the queue */
		t += 11000;
		script_line(&s, 0, "%ld 100 %s dur=%ld", t, waits[i].syscall, waits[i].ns + 15000);
	}
	script_line(&s, 0, "%ld 100 switch next=200 flags=1", t + 10000);
	script_line(&s, 0, "%ld 200 switch next=100 flags=1", t + 910000);
	t += 920000;
	script_line(&s, 0, "%ld 100 return site=0 sp=900", t);
	script_line(&s, 0, "%ld 100 switch next=0 state=1", t + 1000);
	db = script_play(&s, "all", t + 2000, NULL);
	analysed(db, "functions");
	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		max_is(db, waits[i].part, waits[i].ns);
	max_is(db, "run queue, woken", 8000);
	max_is(db, "run queue, preempted", 900000);
	max_is(db, "on CPU", 8 * 20000 + 20000);
	is_number(db,
		  "SELECT round(1000 * sum(value)) FROM metric WHERE name='share' AND subject LIKE "
		  "'handle: %'",
		  100000);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(fds_change_their_peers),
		T(shares_of_a_life_add_up),
		T(waiting_for_an_answer_is_not_idle),
		T(calls_of_a_probed_function_are_units),
		T(time_itself_is_a_unit),
		T(windows_that_changed_are_found),
		T(users_of_a_disk_are_joined_by_name),
		T(cpu_contenders_are_named),
		T(calls_are_split_into_all_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
