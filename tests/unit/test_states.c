// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/replay/tasks/track_states.c and track_calls.c: a thread's life by hand. All times below
 * are chosen so that each sum can be checked on paper.
 */
#include "tests/lib/unit.h"

#include "analyze/analyses/analysis.h"
#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define HOST                                                                                              \
	"@recorder\n"                                                                                     \
	"900 0 info text=\"targets=all\"\n"                                                               \
	"901 0 info text=\"groups=core,syscalls,sched,uprobe\"\n"                                         \
	"902 100 thread pid=100 state=S comm=\"server\" cmdline=\"server --port 1\"\n"                    \
	"903 200 thread pid=200 state=S comm=\"other\"\n"                                                 \
	"904 100 fd pid=100 fd=5 mode=socket ino=77 family=inet role=accepted sport=80 saddr=127.0.0.1\n" \
	"905 100 fd pid=100 fd=6 mode=fifo ino=78\n"
#define BEGIN "1000 0 info text=\"begin=1000\"\n"
#define END   "20000 0 info text=\"stopped=20000\"\n"
#define START HOST BEGIN END

static void is(sqlite3 *db, const char *column, s64 want)
{
	char sql[200];

	snprintf(sql, sizeof(sql), "SELECT %s FROM thread WHERE tid=100", column);
	if (asked(db, sql) != want)
		fail_msg("%s is %lld, not %lld", column, (long long)asked(db, sql),
			 (long long)want);
}

/*
 * 100 sleeps from the start (1000) in a poll, is woken at 2000, gets the CPU at 2100, is
 * preempted at 3000, runs again from 3500, reads a socket from 3900 on (off 4000, woken 6000,
 * on 6200, returns 6300), waits for a futex (off 7000, woken 9000 by 200, on 9050, returns
 * 9100), for a disk (off 10000 in I/O wait, woken 12000, on 12000), and runs to the end at 20000.
 */
static const char life[] =
	START "@cpu 0\n"
	      "2000 0 waking target=100 cpu=0 context=softirq\n"
	      "2100 0 switch next=100\n"
	      "2150 100 syscall_args nr=epoll_wait flags=1 ret=1 arg0=4\n"
	      "3000 100 switch next=200 flags=1\n"
	      "3500 200 switch next=100 state=S\n"
	      "4000 100 switch next=0 state=S\n"
	      "6000 0 waking target=100 cpu=0 context=softirq\n"
	      "6200 0 switch next=100\n"
	      "6300 100 syscall nr=read fd=5 dur=2400 ret=10\n"
	      "7000 100 switch next=0 state=S\n"
	      "@cpu 1\n"
	      "9000 200 waking target=100 cpu=0 context=0\n"
	      "@cpu 0\n"
	      "9050 0 switch next=100\n"
	      "9100 100 syscall_args nr=futex dur=2200 ret=0 arg0=0x1000 arg1=0x80\n"
	      "10000 100 switch next=0 state=D flags=2\n"
	      "12000 0 waking target=100 cpu=0 context=hardirq\n"
	      "12000 0 switch next=100\n"
	      "12100 100 syscall nr=fsync fd=3 dur=2200 ret=0\n";

static void every_nanosecond_has_a_reason(void **state)
{
	sqlite3 *db = loaded(life);

	(void)state;
	is(db, "wall", 19000);
	is(db, "poll", 1000);			     /* 1000..2000 */
	is(db, "woken", 100 + 200 + 50);	     /* 2000..2100, 6000..6200, 9000..9050 */
	is(db, "preempted", 500);		     /* 3000..3500 */
	is(db, "socket", 2000);			     /* 4000..6000 */
	is(db, "futex", 2000);			     /* 7000..9000 */
	is(db, "disk", 2000);			     /* 10000..12000 */
	is(db, "run", 900 + 500 + 800 + 950 + 8000); /* between them, and to the end */
	is(db, "unknown", 0);
	is(db, "defects", 0);
	is(db, "switches", 4);
	is(db, "preemptions", 1);
	is(db, "wakeups", 4);
	is_number(db, "SELECT waker FROM thread_state WHERE tid=100 AND state=3", 200);
	/* an interrupt's wakeup has no waker */
	is_number(db, "SELECT context FROM thread_state WHERE tid=100 AND state=5", 1);
	is_null(db, "SELECT waker FROM thread_state WHERE tid=100 AND state=5");
	is_number(db, "SELECT sum(dur) FROM thread_state WHERE tid=100", 19000);
	db_close(db);
}

/* Woken on the way to sleep, before the switch: no sleep at all, only a wait for the CPU. */
static void early_wakeups_are_no_sleep(void **state)
{
	sqlite3 *db =
		loaded(START "@cpu 0\n2000 0 waking target=100\n2000 0 switch next=100\n"
			     "@cpu 1\n2990 200 waking target=100\n"
			     "@cpu 0\n3000 100 switch next=200 state=S\n"
			     "3400 200 switch next=100 state=S\n4000 100 switch next=0 state=S\n");

	(void)state;
	is(db, "woken", 400);
	is(db, "defects", 0);
	is(db, "wall", 19000);
	db_close(db);
}

/*
 * Forks were lost: 300 is known by a switch only, and 301 seems to be a process of its own.
 * The snapshot that is taken because of that names both, whatever was believed before.
 */
static void lost_names_are_defined_again(void **state)
{
	sqlite3 *db =
		loaded(HOST "950 0 info text=\"snapshot=950\"\n" BEGIN
			    "5000 0 info text=\"snapshot_begin=5000\"\n"
			    "5001 300 thread pid=300 parent=7 state=83 comm=\"late\" "
			    "cmdline=\"late 1\"\n"
			    "5002 301 thread pid=300 parent=7 state=83 comm=\"helper\"\n"
			    "5003 0 info text=\"snapshot=5003\"\n" END
			    "@cpu 0\n2000 0 switch next=300\n3000 300 switch next=301 state=S\n"
			    "4000 301 switch next=0 state=S\n"
			    "6000 0 waking target=301\n6000 0 switch next=301\n"
			    "7000 301 switch next=0 state=S\n");

	(void)state;
	is_number(db,
		  "SELECT count(*) FROM process WHERE pid=300 AND parent=7 AND "
		  "comm='late' AND cmdline='late 1'",
		  1);
	is_number(db, "SELECT run FROM thread WHERE tid=300 AND comm='late'", 1000);
	is_number(db,
		  "SELECT run FROM thread WHERE tid=301 AND pid=300 AND "
		  "comm='helper' AND start=4002",
		  1000);
	is_number(db, "SELECT sum(run) FROM thread WHERE tid=301", 2000);
	db_close(db);
}

/* The recorder looks every second for programs that were not run: a loss with a begin and an end.
 */
static void missed_programs_are_losses(void **state)
{
	sqlite3 *db = loaded(HOST BEGIN
			     "5000 0 missed since=3000 count=3 group=sched name=\"sched__switch\"\n"
			     "6000 0 missed since=5000 count=1 group=sched name=\"sched__waking\"\n"
			     "19000 0 program group=sched missed=3 name=\"sched__switch\"\n"
			     "19000 0 program group=sched missed=1 name=\"sched__waking\"\n" END
			     "@cpu 0\n2000 0 switch next=100\n7000 100 switch next=0 state=S\n");

	(void)state;
	is_number(db,
		  "SELECT count(*) FROM loss WHERE reason='missed' AND "
		  "grp='sched' AND cpu IS NULL",
		  2);
	is_number(db, "SELECT count(*) FROM loss WHERE ts=2000 AND dur=2000 AND n=3", 1);
	is_number(db,
		  "SELECT count(*) FROM coverage WHERE grp='sched' AND lost=4 "
		  "AND verdict='LOSSY'",
		  1);
	is_number(db,
		  "SELECT count(*) FROM coverage WHERE grp='syscalls' AND lost=0 "
		  "AND verdict='COMPLETE'",
		  1);
	db_close(db);
}

/* Second and third wake-ups of a thread that is awake change nothing. */
static void duplicate_wakeups_are_ignored(void **state)
{
	sqlite3 *db =
		loaded(START "@cpu 0\n2000 200 waking target=100\n2100 200 waking target=100\n"
			     "2200 0 switch next=100\n2300 200 waking target=100\n"
			     "2400 100 switch next=0 state=S\n");

	(void)state;
	is(db, "woken", 200);
	is(db, "wakeups", 1);
	db_close(db);
}

/* The CPU runs another thread, but no switch of 100 was recorded: from there on nothing is known.
 */
static void missing_switches_are_counted(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n2000 0 waking target=100\n2000 0 switch next=100\n"
				   "5000 0 switch next=200\n6000 0 waking target=100\n"
				   "6100 200 switch next=100 state=S\n");

	(void)state;
	is(db, "unknown", 4000); /* 2000..6000 */
	is(db, "defects", 1);
	is(db, "wall", 19000);
	db_close(db);
}

/* D without I/O wait is not disk, unless a request of its own was in flight. */
static void uninterruptible_is_not_disk(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n2000 0 waking target=100\n2000 0 switch next=100\n"
				   "3000 100 switch next=0 state=D\n4000 0 waking target=100\n"
				   "4000 0 switch next=100\n"
				   "4500 100 block_start request=1 sector=8 bytes=4096\n"
				   "5000 100 switch next=0 state=D\n"
				   "6999 0 block_complete request=1 sector=8 bytes=4096\n"
				   "7000 0 waking target=100\n7000 0 switch next=100\n");

	(void)state;
	is(db, "blocked", 1000);
	is(db, "disk", 2000);
	db_close(db);
}

/* A call that had not returned when the recording ended still explains the sleep. */
static void open_calls_explain_the_last_sleep(void **state)
{
	sqlite3 *db = loaded(START "20100 100 syscall_args nr=futex flags=2 dur=17200 arg0=1\n"
				   "@cpu 0\n2000 0 waking target=100\n2000 0 switch next=100\n"
				   "3000 100 switch next=0 state=S\n");

	(void)state;
	is(db, "futex", 17000);
	is_number(db, "SELECT unfinished FROM syscall_stat", 1);
	db_close(db);
}

/* A thread that ends: its life is as long as it was, and its row says when. */
static void threads_end_at_their_last_switch(void **state)
{
	sqlite3 *db =
		loaded(START "@cpu 0\n2000 0 waking target=100\n2000 0 switch next=100\n"
			     "2500 100 fork child=300 child_pid=300 pid=100 comm=\"child\"\n"
			     "2600 100 wakeup_new target=300\n2700 100 switch next=300 state=0\n"
			     "2900 300 exit pid=300 code=0\n3000 300 switch next=100 state=128\n");

	(void)state;
	is_number(db, "SELECT end - start FROM thread WHERE tid=300", 500);
	is_number(db, "SELECT wall FROM thread WHERE tid=300", 500);
	is_number(db, "SELECT run FROM thread WHERE tid=300", 300);
	is_number(db, "SELECT parent FROM process WHERE pid=300", 100);
	is_number(db, "SELECT end IS NOT NULL FROM process WHERE pid=300", 1);
	db_close(db);
}

/* Outer 2000..9000 sleeps in a futex (4000..6000); inner 5000 is recursion of the same site. */
static void calls_are_split_by_reason(void **state)
{
	sqlite3 *db = loaded(
		START
		"910 0 site id=0 text=\"/bin/x:outer\"\n911 0 site id=1 text=\"/bin/x:inner\"\n"
		"@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n"
		"2000 100 call site=0 sp=900\n2500 100 call site=1 sp=800\n"
		"2600 100 call site=1 sp=700\n2800 100 return site=1 sp=700 value=7\n"
		"3000 100 return site=1 sp=800\n"
		"4000 100 switch next=0 state=S\n6000 200 waking target=100\n"
		"6100 0 switch next=100\n"
		"6200 100 syscall_args nr=futex dur=2300\n"
		"9000 100 return site=0 sp=900 value=42\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM call", 3);
	is_number(db, "SELECT dur FROM call WHERE site=0", 7000);
	is_number(db, "SELECT futex FROM call WHERE site=0", 2000);
	is_number(db, "SELECT woken FROM call WHERE site=0", 100);
	is_number(db, "SELECT run FROM call WHERE site=0", 4900);
	is_number(db, "SELECT exclusive FROM call WHERE site=0", 6500);
	is_number(db, "SELECT value FROM call WHERE site=0", 42);
	is_number(db, "SELECT exclusive FROM call WHERE site=1 AND depth=1", 300);
	is_number(db, "SELECT count(*) FROM call_defect", 0);
	db_close(db);
}

/* A longjmp over inner, a return whose entry was before the recording, and an open call. */
static void calls_without_a_partner_are_counted(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n2000 100 return site=0 sp=950\n"
				   "3000 100 call site=0 sp=900\n3100 100 call site=1 sp=800\n"
				   "4000 100 return site=0 sp=900\n5000 100 call site=1 sp=700\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM call", 1);
	is_number(db, "SELECT unmatched FROM call_defect WHERE site=0", 1);
	is_number(db, "SELECT abandoned FROM call_defect WHERE site=1", 1);
	is_number(db, "SELECT open FROM call_defect WHERE site=1", 1);
	is_number(db, "SELECT oldest FROM call_defect WHERE site=1", 15000);
	db_close(db);
}

/* 70 calls in one another: the kernel has return probes for the first 64. */
static void calls_below_64_others_are_counted(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	buf_printf(&text, &e, "%s910 0 site id=0 flags=3 text=\"/bin/x:f\"\n@cpu 0\n", START);
	for (i = 0; i < 70; i++)
		buf_printf(&text, &e, "%d 100 call site=0 sp=%d\n", 2000 + i, 9000 - i);
	for (i = 63; i >= 0; i--)
		buf_printf(&text, &e, "%d 100 return site=0 sp=%d\n", 3000 - i, 9000 - i);
	for (i = 0; i < 66; i++)
		buf_printf(&text, &e, "%d 100 call site=0 sp=%d\n", 4000 + i, 9000 - i);
	db = loaded(text.data);
	is_number(db, "SELECT n FROM call_stat", 64);
	is_number(db, "SELECT nested FROM call_defect", 8);
	is_number(db, "SELECT abandoned FROM call_defect", 0);
	is_number(db, "SELECT open FROM call_defect", 64);
	analysed(db, "functions");
	is_number(db,
		  "SELECT number FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
		  " f.kind='calls_nested' AND f.subject_kind='function'",
		  8);
	db_close(db);
	buf_free(&text);
}

/* flags 1: only entries are recorded, so that they are no open calls and have no times. */
static void entries_alone_are_calls_without_times(void **state)
{
	sqlite3 *db = loaded(
		START
		"@recorder\n910 0 site id=0 flags=1 args=2 build_id0=0x1 text=\"/a/x:ns::f(int)\"\n"
		"911 0 site id=1 flags=3 text=\"/bin/x:one.c:g\"\n@cpu 0\n"
		"2000 100 call site=1 sp=900\n"
		"2100 100 call_args site=0 sp=800 arg0=7 arg1=0xffffffffffffffff args=2\n"
		"2200 100 call site=0 sp=700\n3000 100 return site=1 sp=900\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM call WHERE site=0", 2);
	is_number(db, "SELECT count(dur) FROM call WHERE site=0", 0);
	is_number(db, "SELECT depth FROM call WHERE arg0=7 AND arg1=-1", 1);
	is_number(db, "SELECT count(arg0) + count(arg2) FROM call", 1);
	is_number(db, "SELECT exclusive FROM call WHERE site=1", 1000);
	is_number(db, "SELECT count(*) FROM call_defect", 0);
	is_number(db,
		  "SELECT count(*) FROM site WHERE id=0 AND returns=0 AND args=2"
		  " AND build_id='00000000000000010000000000000000"
		  "00000000'",
		  1);
	is_number(db,
		  "SELECT count(*) FROM site WHERE file='/bin/x'"
		  " AND function='one.c:g'",
		  1);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_nanosecond_has_a_reason),	T(early_wakeups_are_no_sleep),
		T(lost_names_are_defined_again),	T(missed_programs_are_losses),
		T(duplicate_wakeups_are_ignored),	T(missing_switches_are_counted),
		T(uninterruptible_is_not_disk),		T(open_calls_explain_the_last_sleep),
		T(threads_end_at_their_last_switch),	T(calls_are_split_by_reason),
		T(calls_without_a_partner_are_counted), T(entries_alone_are_calls_without_times),
		T(calls_below_64_others_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
