// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/analyses/causes*.c: recordings of a server whose turns become slow for one known
 * reason. Thread 100 answers a request every 5 ms; the slow ones are those from TURNS / 2 on.
 */
#include "tests/unit.h"

#include "analyze/analysis.h"
#include "format/buf.h"
#include "tests/loaded.h"

#include <stdlib.h>

#define TURNS  240
#define PERIOD 5000000 /* ns */
#define BEGIN  1000000

static const char start[] =
	"@recorder\n"
	"100 0 info text=\"targets=%s\"\n"
	"101 0 info text=\"groups=core,syscalls,sched,block\"\n"
	"102 100 thread pid=100 state=83 comm=\"server\" cmdline=\"server\"\n"
	"103 101 thread pid=100 state=83 comm=\"helper\"\n"
	"104 300 thread pid=100 state=83 comm=\"housekeeper\"\n"
	"105 200 thread pid=200 state=83 comm=\"burner\" cmdline=\"burner\"\n"
	"106 400 thread pid=400 state=83 comm=\"reader\" cmdline=\"reader\"\n"
	"107 500 thread pid=500 parent=2 state=83 comm=\"jbd2/vda1-8\"\n"
	"108 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 sport=80 saddr=127.0.0.1\n"
	"109 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=3 dport=9000 daddr=10.0.0.9\n"
	"110 100 fd pid=100 fd=7 mode=0010000 ino=79\n"
	"111 0 disk dev=0xfe00000 name=\"vda\"\n"
	"1000 0 info text=\"begin=1000\"\n";

/* A recording in the making: the lines of each CPU, and those of the recorder. */
struct script {
	struct buf cpu[4];
	struct buf recorder;
};

static void line(struct script *s, int cpu, const char *fmt, ...)
{
	char text[300];
	struct err e = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_int_equal(buf_printf(&s->cpu[cpu], &e, "%s\n", text), 0);
}

/* What happens to a slow turn between its receive at t and its send; returns when it goes on. */
typedef long (*fault_fn)(struct script *s, long t);

static void turn(struct script *s, long t, fault_fn fault)
{
	line(s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
	line(s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
	line(s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 dur=1000 ret=1 flags=1", t + 2000);
	line(s, 0, "%ld 100 syscall nr=read fd=5 dur=2000 ret=10", t + 5000);
	t += 55000;
	if (fault)
		t = fault(s, t);
	line(s, 0, "%ld 100 syscall nr=write fd=5 dur=2000 ret=10", t + 50000);
	line(s, 0, "%ld 100 switch next=0 state=1", t + 60000);
}

static sqlite3 *analysed_as(struct script *s, const char *targets, long end, const char *windows)
{
	struct buf all = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	buf_printf(&all, &e, start, targets);
	buf_printf(&all, &e, "%ld 0 info text=\"stopped=%ld\"\n", end, end);
	for (i = 0; i < 4; i++)
		if (s->cpu[i].len)
			buf_printf(&all, &e, "@cpu %d\n%s", i, s->cpu[i].data);
	db = loaded(all.data);
	if (windows && db_exec(db, &e, windows) < 0)
		fail_msg("%s", e.text);
	if (analyses_run(db, "causes", &e) < 0)
		fail_msg("%s", e.text);
	for (i = 0; i < 4; i++)
		buf_free(&s->cpu[i]);
	buf_free(&all);
	return db;
}

/* every 0: the second half is slow; else each of so many. */
static sqlite3 *played(fault_fn fault, int every, const char *targets)
{
	struct script s = { 0 };
	long i;

	for (i = 0; i < TURNS; i++)
		turn(&s, BEGIN + i * PERIOD,
		     (every ? i % every == every - 1 : i >= TURNS / 2) ? fault : NULL);
	return analysed_as(&s, targets, BEGIN + TURNS * (long)PERIOD, NULL);
}

/* The first cause, and a word that must be in its sentence. */
static void first_is(sqlite3 *db, const char *kind, const char *culprit, const char *word)
{
	struct err e = { 0 };
	sqlite3_stmt *q;

	assert_int_equal(
		db_query(&q, db, &e, "SELECT kind, culprit, sentence FROM cause WHERE rank=1", ""),
		0);
	if (db_step(q, &e) <= 0) {
		sqlite3_finalize(q);
		db_query(&q, db, &e, "SELECT '', '', group_concat(sentence) FROM finding", "");
		db_step(q, &e);
		fail_msg("no cause: %s", sqlite3_column_text(q, 2));
	}
	if (strcmp((const char *)sqlite3_column_text(q, 0), kind) != 0 ||
	    (culprit && !strstr((const char *)sqlite3_column_text(q, 1), culprit)) ||
	    (word && !strstr((const char *)sqlite3_column_text(q, 2), word)))
		fail_msg("not %s by %s: %s by %s: %s", kind, culprit ? culprit : "any",
			 sqlite3_column_text(q, 0), sqlite3_column_text(q, 1),
			 sqlite3_column_text(q, 2));
	sqlite3_finalize(q);
	sqlite3_close(db);
}

/* ---- the faults ---- */

/* 100 waits for a lock; 300 sleeps 2 ms in nanosleep, then wakes it from FUTEX_WAKE. */
static long held_lock(struct script *s, long t)
{
	line(s, 0, "%ld 100 switch next=0 state=1", t);
	line(s, 1, "%ld 0 waking target=300 cpu=1 context=2", t + 2000000);
	line(s, 1, "%ld 0 switch next=300", t + 2001000);
	line(s, 1, "%ld 300 syscall_args nr=nanosleep dur=4985000", t + 2003000);
	line(s, 1, "%ld 300 waking target=100 cpu=0", t + 2010000);
	line(s, 1, "%ld 300 syscall_args nr=futex arg0=0x1000 arg1=0x81 ret=1 dur=3000",
	     t + 2012000);
	line(s, 1, "%ld 300 switch next=0 state=1", t + 2020000);
	line(s, 0, "%ld 0 switch next=100", t + 2013000);
	line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x80 dur=2020000", t + 2015000);
	line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x81 dur=1000", t + 2030000);
	return t + 2030000;
}

/* The same, but 300 waits for its journal, uninterruptible in fsync, and 500 ends that. */
static long held_fsync(struct script *s, long t)
{
	line(s, 0, "%ld 100 switch next=0 state=1", t);
	line(s, 1, "%ld 0 waking target=300 cpu=1 context=2", t + 1000);
	line(s, 1, "%ld 0 switch next=300", t + 2000);
	line(s, 1, "%ld 300 syscall_args nr=nanosleep dur=1000000", t + 3000);
	line(s, 1, "%ld 300 switch next=0 state=2", t + 9000);
	line(s, 2, "%ld 500 waking target=300 cpu=1", t + 2000000);
	line(s, 1, "%ld 0 switch next=300", t + 2001000);
	line(s, 1, "%ld 300 syscall nr=fsync fd=9 dur=1995000", t + 2003000);
	line(s, 1, "%ld 300 waking target=100 cpu=0", t + 2010000);
	line(s, 1, "%ld 300 syscall_args nr=futex arg0=0x1000 arg1=0x81 ret=1 dur=3000",
	     t + 2012000);
	line(s, 1, "%ld 300 switch next=0 state=1", t + 2020000);
	line(s, 0, "%ld 0 switch next=100", t + 2013000);
	line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x80 dur=2020000", t + 2015000);
	line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x81 dur=1000", t + 2030000);
	return t + 2030000;
}

/* 100 waits for work of 101, which computes. */
static long handed_over(struct script *s, long t)
{
	line(s, 0, "%ld 100 waking target=101 cpu=1", t - 5000);
	line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x2000 arg1=0x81 ret=1 dur=1000", t - 4500);
	line(s, 1, "%ld 0 switch next=101", t - 4000);
	line(s, 1, "%ld 101 syscall_args nr=futex arg0=0x2000 arg1=0x80 dur=1000000", t - 3000);
	line(s, 0, "%ld 100 switch next=0 state=1", t);
	line(s, 1, "%ld 101 waking target=100 cpu=0", t + 2000000);
	line(s, 1, "%ld 101 syscall_args nr=futex arg0=0x3000 arg1=0x81 ret=1 dur=3000",
	     t + 2002000);
	line(s, 1, "%ld 101 switch next=0 state=1", t + 2020000);
	line(s, 0, "%ld 0 switch next=100", t + 2003000);
	line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x3000 arg1=0x80 dur=2010000", t + 2005000);
	return t + 2005000;
}

/* Woken three times in vain by 101, each time asleep again after 5 us; 300 lets it go on. */
static long woken_in_vain(struct script *s, long t)
{
	int i;

	line(s, 0, "%ld 100 switch next=0 state=1", t);
	line(s, 1, "%ld 0 waking target=101 cpu=1 context=2", t + 1000);
	line(s, 1, "%ld 0 switch next=101", t + 2000);
	for (i = 1; i <= 3; i++) {
		line(s, 1, "%ld 101 waking target=100 cpu=0", t + i * 500000);
		line(s, 1, "%ld 101 syscall_args nr=futex arg0=0x1000 arg1=0x81 ret=1 dur=3000",
		     t + i * 500000 + 2000);
		line(s, 0, "%ld 0 switch next=100", t + i * 500000 + 3000);
		line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x80 dur=505000",
		     t + i * 500000 + 4000);
		line(s, 0, "%ld 100 switch next=0 state=1", t + i * 500000 + 8000);
	}
	line(s, 1, "%ld 101 switch next=0 state=1", t + 1600000);
	line(s, 1, "%ld 0 waking target=300 cpu=1 context=2", t + 1990000);
	line(s, 1, "%ld 0 switch next=300", t + 1991000);
	line(s, 1, "%ld 300 waking target=100 cpu=0", t + 2000000);
	line(s, 1, "%ld 300 syscall_args nr=futex arg0=0x1000 arg1=0x81 ret=1 dur=3000",
	     t + 2002000);
	line(s, 1, "%ld 300 switch next=0 state=1", t + 2020000);
	line(s, 0, "%ld 0 switch next=100", t + 2003000);
	line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x80 dur=500000", t + 2005000);
	line(s, 0, "%ld 100 syscall_args nr=futex arg0=0x1000 arg1=0x81 dur=1000", t + 2007000);
	return t + 2010000;
}

static long preempted(struct script *s, long t)
{
	line(s, 0, "%ld 100 switch next=200 flags=1 prio=120", t);
	line(s, 0, "%ld 200 switch next=100 flags=1 prio=120", t + 2000000);
	return t + 2000000;
}

/* Runnable, while its CPU is idle: a quota. */
static long throttled(struct script *s, long t)
{
	line(s, 0, "%ld 100 switch next=0 prio=120", t);
	line(s, 0, "%ld 0 switch next=100 prio=120", t + 3000000);
	return t + 3000000;
}

/* Its own read of 4 kB, behind 1 MB of 200. */
static long slow_disk(struct script *s, long t)
{
	static long request = 1;

	request += 2;
	line(s, 1, "%ld 200 block_start request=%ld dev=0xfe00000 bytes=1048576 sector=4096 op=1",
	     t - 1000, request);
	line(s, 1, "%ld 200 block_issue request=%ld dev=0xfe00000 bytes=1048576 sector=4096 op=1",
	     t - 500, request);
	line(s, 0, "%ld 100 block_start request=%ld dev=0xfe00000 bytes=4096 sector=8", t - 400,
	     request + 1);
	line(s, 0, "%ld 100 switch next=0 state=2 flags=2", t);
	line(s, 1, "%ld 0 block_complete request=%ld dev=0xfe00000 bytes=1048576 sector=4096",
	     t + 1800000, request);
	line(s, 1, "%ld 0 block_issue request=%ld dev=0xfe00000 bytes=4096 sector=8", t + 1800500,
	     request + 1);
	line(s, 1, "%ld 0 block_complete request=%ld dev=0xfe00000 bytes=4096 sector=8",
	     t + 1999000, request + 1);
	line(s, 1, "%ld 0 waking target=100 cpu=0 context=2", t + 2000000);
	line(s, 0, "%ld 0 switch next=100", t + 2001000);
	line(s, 0, "%ld 100 syscall_args nr=pread64 arg0=9 dur=2010000 ret=4096", t + 2003000);
	return t + 2003000;
}

static long slow_peer(struct script *s, long t)
{
	line(s, 0, "%ld 100 syscall nr=write fd=6 dur=2000 ret=20", t - 2000);
	line(s, 0, "%ld 100 switch next=0 state=1", t);
	line(s, 1, "%ld 0 waking target=100 cpu=0 context=1", t + 2000000);
	line(s, 0, "%ld 0 switch next=100", t + 2001000);
	line(s, 0, "%ld 100 syscall nr=read fd=6 dur=2005000 ret=30", t + 2005000);
	return t + 2005000;
}

static long full_pipe(struct script *s, long t)
{
	line(s, 0, "%ld 100 switch next=0 state=1", t);
	line(s, 1, "%ld 0 waking target=400 cpu=1 context=2", t + 1990000);
	line(s, 1, "%ld 0 switch next=400", t + 1991000);
	line(s, 1, "%ld 400 syscall_args nr=nanosleep dur=4975000", t + 1992000);
	line(s, 1, "%ld 400 waking target=100 cpu=0", t + 2000000);
	line(s, 1, "%ld 400 syscall nr=read fd=0 dur=3000 ret=4096", t + 2002000);
	line(s, 1, "%ld 400 switch next=0 state=1", t + 2020000);
	line(s, 0, "%ld 0 switch next=100", t + 2003000);
	line(s, 0, "%ld 100 syscall nr=write fd=7 dur=2010000 ret=4096", t + 2005000);
	return t + 2005000;
}

static long computes(struct script *s, long t)
{
	(void)s;
	return t + 2000000;
}

static long of_all_kinds(struct script *s, long t)
{
	/* a sixth each: computing 0.5 ms, a lock, ... each below a fifth */
	static const fault_fn parts[] = { held_lock, slow_disk, slow_peer,
					  full_pipe, preempted, computes };
	static int next;

	return parts[next++ % 6](s, t);
}

/* ---- the tests ---- */

static void locks_name_who_releases_and_what_he_did(void **state)
{
	sqlite3 *db = played(held_lock, 0, "all");

	(void)state;
	assert_int_equal(asked(db, "SELECT label='OBSERVED' AND share > 0.9 FROM cause"), 1);
	assert_int_equal(
		asked(db, "SELECT second LIKE 'asleep until a timer in nanosleep%' FROM cause"), 1);
	assert_int_equal(asked(db, "SELECT count(*) FROM cause"), 1);
	first_is(db, "lock", "housekeeper[300]", "contention");
}

static void chains_go_on_behind_locks(void **state)
{
	(void)state;
	first_is(played(held_fsync, 0, "all"), "lock", "housekeeper[300]",
		 "uninterruptible in fsync");
}

static void workers_of_the_kernel_end_chains(void **state)
{
	(void)state;
	first_is(played(held_fsync, 0, "100"), "lock", "housekeeper[300]", "jbd2/vda1-8[500]");
}

static void handoffs_are_no_locks(void **state)
{
	(void)state;
	first_is(played(handed_over, 0, "all"), "handoff", "helper[101]", "computing");
}

static void the_last_waker_counts(void **state)
{
	(void)state;
	first_is(played(woken_in_vain, 0, "all"), "lock", "housekeeper[300]", NULL);
}

static void antagonists_are_named(void **state)
{
	sqlite3 *db = played(preempted, 0, "all");

	(void)state;
	assert_int_equal(asked(db, "SELECT culprit_id FROM cause"), 200);
	assert_int_equal(asked(db, "SELECT label='OBSERVED' FROM cause"), 1);
	first_is(db, "antagonist", "burner[200]", "run queue");
	db = played(preempted, 0, "100");
	assert_int_equal(asked(db, "SELECT label='OVERLAP' FROM cause"), 1);
	first_is(db, "antagonist", "burner[200]", "Against it: only switches of the recorded");
}

static void quotas_are_no_neighbours(void **state)
{
	sqlite3 *db = played(throttled, 0, "100");

	(void)state;
	assert_int_equal(asked(db, "SELECT count(*) FROM cause WHERE kind='antagonist'"), 0);
	first_is(db, "throttle", "quota", "throttled");
}

static void disks_name_who_used_them(void **state)
{
	first_is(played(slow_disk, 0, "all"), "disk", "burner[200]", "vda");
	(void)state;
	first_is(played(slow_disk, 0, "all"), "disk", "burner[200]", "1.801 ms each before");
}

static void peers_have_addresses(void **state)
{
	sqlite3 *db = played(slow_peer, 0, "all");

	(void)state;
	assert_int_equal(asked(db, "SELECT culprit_id FROM cause"), 9000);
	first_is(db, "peer", "10.0.0.9:9000", "connected socket");
}

static void pipes_have_another_end(void **state)
{
	(void)state;
	first_is(played(full_pipe, 0, "all"), "pipe", "reader[400]", "asleep until a timer");
}

static void tails_are_compared_with_the_middle(void **state)
{
	sqlite3 *db = played(preempted, 15, "all");

	(void)state;
	assert_int_equal(asked(db, "SELECT sentence LIKE '%the slowest 5 %' FROM cause"), 1);
	assert_int_equal(asked(db, "SELECT abs(excess - 2000000) < 300000 FROM cause"), 1);
	assert_int_equal(asked(db, "SELECT share_low <= share AND share <= share_high FROM cause"),
			 1);
	first_is(db, "antagonist", "burner", NULL);
}

static void alike_units_have_no_excess(void **state)
{
	sqlite3 *db = played(computes, 1, "all");

	(void)state;
	assert_int_equal(asked(db, "SELECT severity FROM finding WHERE analysis='causes'"), NOTE);
	first_is(db, "self", NULL, "all take about 2.1");
}

static void many_small_parts_are_no_cause(void **state)
{
	sqlite3 *db = played(of_all_kinds, 0, "all");

	(void)state;
	assert_int_equal(asked(db, "SELECT count(*) FROM cause"), 0);
	assert_int_equal(asked(db, "SELECT count(*) FROM finding WHERE sentence LIKE "
				   "'%no dominant cause%'"),
			 1);
	sqlite3_close(db);
}

/* The first quarter is slow for another reason; the user names the last one. */
static void windows_that_the_user_names_count(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < TURNS; i++)
		turn(&s, BEGIN + i * PERIOD,
		     i < TURNS / 4	  ? preempted
		     : i >= TURNS * 3 / 4 ? slow_peer
					  : NULL);
	db = analysed_as(&s, "all", BEGIN + TURNS * (long)PERIOD,
			 "INSERT INTO recording VALUES('baseline_from',4e8),('baseline_to',8e8),"
			 "('degraded_from',9e8),('degraded_to',12e8)");
	assert_int_equal(asked(db, "SELECT share > 0.95 FROM cause"), 1);
	assert_int_equal(asked(db, "SELECT count(*) FROM cause"), 1);
	first_is(db, "peer", "10.0.0.9:9000", "in the baseline");
}

/* From the middle on the thread does not sleep any more: it is saturated, turns are as before. */
static void saturated_threads_are_told(void **state)
{
	struct script s = { 0 };
	long i, t;

	(void)state;
	for (i = 0; i < TURNS / 2; i++)
		turn(&s, BEGIN + i * PERIOD, computes);
	t = BEGIN + i * PERIOD;
	line(&s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
	line(&s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
	for (; t < BEGIN + TURNS * (long)PERIOD; t += 2200000) {
		line(&s, 0, "%ld 100 syscall nr=read fd=5 dur=2000 ret=10", t + 5000);
		line(&s, 0, "%ld 100 syscall nr=write fd=5 dur=2000 ret=10", t + 2105000);
	}
	first_is(analysed_as(&s, "all", t, NULL), "saturation", "server[100]", "saturated");
}

/* Turns during which events were lost, or whose thread's state is not known, count nowhere. */
static void units_touched_by_loss_are_apart(void **state)
{
	struct script s = { 0 };
	sqlite3 *db;
	long i;

	(void)state;
	for (i = 0; i < TURNS; i++) {
		if (i == TURNS / 2)
			line(&s, 0, "@block");
		turn(&s, BEGIN + i * PERIOD, i == TURNS / 2 ? preempted : NULL);
		if (i == TURNS / 2)
			line(&s, 0, "@block\n@lost 9");
		if (i == TURNS / 2 + 1)
			line(&s, 0, "@block\n@lost 9");
	}
	db = analysed_as(&s, "all", BEGIN + TURNS * (long)PERIOD, NULL);
	assert_true(asked(db, "SELECT count(*) FROM turn WHERE lossy") > 0);
	assert_int_equal(asked(db, "SELECT count(*) FROM cause WHERE kind='antagonist'"), 0);
	assert_int_equal(asked(db,
			       "SELECT max(n) + (SELECT count(*) FROM turn WHERE lossy) FROM metric"
			       " WHERE analysis='causes'"),
			 TURNS);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(locks_name_who_releases_and_what_he_did),
		T(chains_go_on_behind_locks),
		T(workers_of_the_kernel_end_chains),
		T(handoffs_are_no_locks),
		T(the_last_waker_counts),
		T(antagonists_are_named),
		T(quotas_are_no_neighbours),
		T(disks_name_who_used_them),
		T(peers_have_addresses),
		T(pipes_have_another_end),
		T(tails_are_compared_with_the_middle),
		T(alike_units_have_no_excess),
		T(many_small_parts_are_no_cause),
		T(windows_that_the_user_names_count),
		T(saturated_threads_are_told),
		T(units_touched_by_loss_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
