// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/causes/: each mechanism where it is true, and where only something like it is. */
#include "analyze/causes/causes.h"
#include "tests/lib/loaded.h"
#include "tests/lib/slowed.h"
#include "tests/lib/unit.h"

/* And two pages that were not there. */
static long slow_disk_missed(struct script *s, long t)
{
	t = slow_disk(s, t);
	script_line(s, 0, "%ld 100 page_add ino=80 dev=8 index=0 pages=2", t + 1000);
	script_line(s, 0, "%ld 100 page_get ino=80 dev=8 first=0 last=1", t + 2000);
	script_line(s, 0, "%ld 100 syscall nr=read fd=9 dur=2000 ret=8192", t + 3000);
	return t + 3000;
}

static void disks_name_the_programs_that_used_them(void **state)
{
	(void)state;
	first_is(
		slowed(slow_disk, 0, "all", NULL), "disk", "burner[200]",
		"object_kind='disk' AND offender_part > 0.99 AND " CHILD(
			"cause_own_io",
			"v.name='queued' AND abs(v.number - 1801000) < 2000") " AND NOT " CHILD("cause_pages",
												"1"));
	/* its own requests are reads */
	first_is(slowed(slow_disk_missed, 0, "all", NULL), "disk", "burner[200]",
		 CHILD("cause_pages", "v.number=240"));
}

#define MEMORY_SAID                                                                   \
	"(SELECT group_concat(name || '=' || CAST(coalesce(number, id) AS INT)) FROM" \
	" finding_value v WHERE v.finding=cause.finding AND name IN ('refaults', 'group', 'limit', 'swapped'))"

/* Reads wait for the disk in all of these; the kernel counts which pages it had reclaimed before.
 */
static void pages_read_again_after_reclaim_are_said(void **state)
{
	static const char many[] = "115 0 host_memory total=1000 refaults=7\n"
				   "1300000000 0 host_memory total=1000 refaults=1007\n";
	static const char few[] = "115 0 host_memory total=1000 refaults=7\n"
				  "1300000000 0 host_memory total=1000 refaults=8\n";
	static const char swap[] =
		"115 0 host_memory total=1000 swapped_in=7\n"
		"1300000000 0 host_memory total=1000 refaults=1 swapped_in=907\n";
	/* the process is in /a/web/1; /a/w_b is another, no pattern that fits */
#define GROUPS(own, other)                                                                                \
	"112 0 cgroup id=7 path=\"/a/web/1\"\n114 100 thread pid=100 state=83 cgroup=7 comm=\"server\"\n" \
	"115 0 host_memory total=1000 refaults=7\n"                                                       \
	"116 0 cgroup_memory cgroup=8 max=4096 refaults=1 path=\"/a\"\n"                                  \
	"117 0 cgroup_memory cgroup=9 max=8192 refaults=1 path=\"/a/w_b\"\n"                              \
	"1300000000 0 host_memory total=1000 refaults=5007\n"                                             \
	"1300000001 0 cgroup_memory cgroup=8 max=4096 refaults=" #own " path=\"/a\"\n"                    \
	"1300000002 0 cgroup_memory cgroup=9 max=8192 refaults=" #other " path=\"/a/w_b\"\n"

	(void)state;
	first_is(slowed(slow_disk_missed, 0, "all", many), "disk", "burner[200]",
		 MEMORY_SAID " = 'refaults=1000'");
	first_is(slowed(slow_disk_missed, 0, "all", swap), "disk", "burner[200]",
		 MEMORY_SAID " = 'swapped=900'");
	first_is(slowed(slow_disk_missed, 0, "all", few), "disk", "burner[200]",
		 MEMORY_SAID " IS NULL");
	first_is(slowed(slow_disk_missed, 0, "all", GROUPS(301, 4001)), "disk", "burner[200]",
		 MEMORY_SAID " = 'refaults=300,group=8,limit=4096'");
	first_is(slowed(slow_disk_missed, 0, "all", GROUPS(2, 4001)), "disk", "burner[200]",
		 MEMORY_SAID " IS NULL");
#undef GROUPS
}

/* 100 writes and waits for so long, while 200 writes much more. */
static long waits_for_write(struct script *s, long t, long takes)
{
	script_line(s, 1,
		    "%ld 200 block_start request=5 dev=0xfe00000 bytes=1048576 sector=4096 op=1",
		    t - 1000);
	script_line(s, 0, "%ld 100 block_start request=6 dev=0xfe00000 bytes=4096 sector=8 op=1",
		    t - 400);
	script_line(s, 0, "%ld 100 switch next=0 state=2 flags=2", t);
	script_line(s, 1, "%ld 0 block_complete request=5 dev=0xfe00000 bytes=1048576 sector=4096",
		    t + takes - 2000);
	script_line(s, 1, "%ld 0 block_complete request=6 dev=0xfe00000 bytes=4096 sector=8",
		    t + takes - 1000);
	script_line(s, 1, "%ld 0 waking target=100 cpu=0 context=2", t + takes);
	script_line(s, 0, "%ld 0 switch next=100", t + takes + 1000);
	script_line(s, 0, "%ld 100 syscall_args nr=fsync arg0=9 dur=%ld ret=0", t + takes + 3000,
		    takes + 10000);
	return t + takes + 3000;
}

static long writes_long(struct script *s, long t)
{
	return waits_for_write(s, t, 2000000);
}

static long writes_short(struct script *s, long t)
{
	return waits_for_write(s, t, 100000);
}

/* What was not written before is its own doing; what takes longer than before is that of others. */
static void writes_that_are_new_are_its_own(void **state)
{
	(void)state;
	first_is(slowed(writes_long, 0, "all", NULL), "disk", "server[100]",
		 "own AND offender_part > 0.99");
	first_is(halves(writes_short, writes_long, NULL), "disk", "burner[200]", "NOT own");
	/* from the start on: there is no before */
	first_is(halves(writes_long, writes_long, NULL), "disk", "burner[200]",
		 "basis='all' AND NOT own");
}

/* As slow_disk, and 300 discards 1 GB, of which nothing is moved. */
static long slow_disk_discard(struct script *s, long t)
{
	script_line(s, 2,
		    "%ld 300 block_start request=9 dev=0xfe00000 bytes=1073741824 sector=9 op=3",
		    t - 1000);
	script_line(s, 2, "%ld 0 block_complete request=9 dev=0xfe00000 bytes=1073741824 sector=9",
		    t + 1000000);
	return slow_disk(s, t);
}

static void discards_move_no_bytes(void **state)
{
	(void)state;
	first_is(slowed(slow_disk_discard, 0, "all", NULL), "disk", "burner[200]",
		 "offender_part > 0.99");
}

/* ---- earlier requests ---- */

/*
 * From the second half on each period a request runs for 3 ms; `late` others come then and are
 * received afterwards, each for `work` ns.
 */
static sqlite3 *one_in_front(long first, int late, long work)
{
	struct script s = { 0 };
	long i, k, t, at;

	script_line(&s, 3,
		    "2000 100 fd pid=100 fd=4 mode=0600 ino=90 path=\"anon_inode:[eventpoll]\"");
	for (k = 8; k < 16; k++)
		script_line(
			&s, 3,
			"%ld 100 fd pid=100 fd=%ld mode=0140000 ino=%ld family=2 role=2 sport=80"
			" saddr=127.0.0.1 dport=%ld daddr=10.0.0.7",
			2000 + k, k, 100 + k, 9000 + k);
	for (i = 0; i < REQUESTS; i++) {
		t = BEGIN + i * (long)PERIOD;
		at = t + 5000 + (i < REQUESTS / 2 ? 50000 : first);
		script_line(&s, 0, "%ld 0 waking target=100 cpu=0 context=1 prio=120", t);
		script_line(&s, 0, "%ld 0 switch next=100 prio=120", t + 1000);
		script_line(&s, 0,
			    "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=4900000 ret=1",
			    t + 2000);
		script_line(&s, 0, "%ld 100 syscall nr=read fd=8 dur=1000 ret=10", t + 5000);
		script_line(&s, 0, "%ld 100 syscall nr=write fd=8 dur=1000 ret=10", at);
		if (i >= REQUESTS / 2 && late)
			script_line(
				&s, 0,
				"%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=500 ret=%d",
				at + 1000, late);
		for (k = 0; i >= REQUESTS / 2 && k < late; k++) {
			script_line(&s, 0, "%ld 100 syscall nr=read fd=%ld dur=500 ret=10",
				    at + 3000 + k * (work + 2000), 9 + k);
			script_line(&s, 0, "%ld 100 syscall nr=write fd=%ld dur=500 ret=10",
				    at + 4000 + k * (work + 2000) + work, 9 + k);
		}
		script_line(&s, 0, "%ld 100 switch next=0 state=1",
			    at + 10000 + (i < REQUESTS / 2 ? 0 : late * (work + 2000)));
	}
	return script_play(&s, "all", BEGIN + REQUESTS * (long)PERIOD, NULL);
}

static void a_request_in_front_is_named(void **state)
{
	(void)state;
	first_is(one_in_front(3000000, 6, 5000), "queue", "10.0.0.7",
		 "category='queue' AND offender_kind='client' AND object_kind='request' AND own=1"
		 " AND (SELECT fd FROM request WHERE request.rowid=object)=8");
}

/* The request itself takes as long: it waits for none. */
static void own_work_is_not_waiting_for_others(void **state)
{
	sqlite3 *db = one_in_front(3000000, 0, 0);

	(void)state;
	is_number(db, "SELECT count(*) FROM cause WHERE category='queue'", 0);
	is_within(db, "SELECT rate_ratio FROM cause", 1 - 0.05, 1 + 0.05);
	is_above(db, "SELECT cpu_ratio FROM cause", 2);
	is_above(db, "SELECT idle_baseline - idle_slow FROM cause", 0);
	first_is(db, "self", NULL, "own=1 AND " CHILD("load_dearer", "v.name='cpu'"));
}

/* Seven that come together, each as long: no single one is in front of all. */
static void many_requests_in_front_have_no_name(void **state)
{
	(void)state;
	first_is(one_in_front(50000, 7, 500000), "queue", NULL, "object_kind='none'");
}

/* ---- chains ---- */

/* Another thread of `holders` lets go each time, after sleep. */
static long released_by(struct script *s, long t, int holder)
{
	script_line(s, 1, "%ld 0 switch next=%d", t - 20000, holder);
	script_line(s, 1, "%ld %d switch next=0 state=1", t - 10000, holder);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 1, holder, t + 2000000);
	script_line(s, 1, "%ld %d syscall_args nr=nanosleep dur=2015000", t + 2003000, holder);
	script_wake(s, 1, holder, t + 2010000);
	script_line(s, 1, "%ld %d switch next=0 state=1", t + 2020000, holder);
	script_resume(s, t + 2013000, t + 2015000, 2020000);
	return t + 2030000;
}

static long by_a_pool(struct script *s, long t)
{
	return released_by(s, t, 600 + t / PERIOD % 7);
}

static sqlite3 *released_by_seven(bool one_process)
{
	char facts[1000] = "";
	size_t n = 0;
	int i;

	for (i = 0; i < 7; i++)
		n += snprintf(facts + n, sizeof(facts) - n,
			      "%d %d thread pid=%d state=83 comm=\"pool\"\n", 112 + i, 600 + i,
			      one_process ? 900 : 600 + i);
	return slowed(by_a_pool, 0, "all", facts);
}

static void ends_of_a_pool_are_summed(void **state)
{
	(void)state;
	first_is(released_by_seven(true), "handoff", "",
		 "end_kind='process' AND end_id=900 AND end_state='timer' AND end_call='nanosleep'"
		 " AND end_part > 0.9");
	/* seven processes: none of them has a quarter */
	first_is(released_by_seven(false), "handoff", "", "end_kind='none' AND end_part=0");
}

/* 101 lets go as soon as 300 has let it go: 300 slept for 2 ms. busy: 101 ran for these 2 ms
 * itself. */
static long in_a_queue(struct script *s, long t, bool busy)
{
	script_line(s, 2, "%ld 0 switch next=101", t - 20000);
	if (!busy)
		script_line(s, 2, "%ld 101 switch next=0 state=1", t - 10000);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 1, 300, t + 1980000);
	script_line(s, 1, "%ld 300 syscall_args nr=nanosleep dur=1985000", t + 1982000);
	if (!busy)
		script_line(s, 1, "%ld 300 waking target=101 cpu=2", t + 1990000);
	script_line(s, 1, "%ld 300 switch next=0 state=1", t + 1999000);
	if (!busy)
		script_line(s, 2, "%ld 0 switch next=101", t + 1991000);
	script_line(s, 2, "%ld 101 waking target=100 cpu=0", t + 2000000);
	script_line(s, 2, "%ld 101 syscall_args nr=futex arg0=0x1000 arg1=0x81 ret=1 dur=1000",
		    t + 2001000);
	script_line(s, 2, "%ld 101 switch next=0 state=1", t + 2009000);
	script_resume(s, t + 2013000, t + 2015000, 2020000);
	return t + 2030000;
}

static long queued_for_a_lock(struct script *s, long t)
{
	return in_a_queue(s, t, false);
}

static long held_by_busy(struct script *s, long t)
{
	return in_a_queue(s, t, true);
}

static void waiters_that_pass_a_lock_on_are_not_to_blame(void **state)
{
	(void)state;
	first_is(slowed(queued_for_a_lock, 0, "all", NULL), "handoff", "housekeeper[100/300]",
		 "offender_part > 0.95 AND (SELECT id FROM finding_value v WHERE"
		 " v.finding=cause.finding AND v.name='waker')=101");
	first_is(slowed(held_by_busy, 0, "all", NULL), "handoff", "helper[100/101]",
		 "end_id=101 AND end_state='run'");
}

/* 101 lets go 0.1 ms after another process has written to its pipe. */
static long released_from_outside(struct script *s, long t, int other)
{
	script_line(s, 2, "%ld 0 switch next=101", t - 20000);
	script_line(s, 2, "%ld 101 switch next=0 state=1", t - 10000);
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_line(s, 1, "%ld %d waking target=101 cpu=2", t + 1900000, other);
	script_line(s, 2, "%ld 0 switch next=101", t + 1901000);
	script_line(s, 2, "%ld 101 syscall_args nr=read arg0=7 ret=1 dur=1915000", t + 1903000);
	script_wake(s, 2, 101, t + 2000000);
	script_line(s, 2, "%ld 101 switch next=0 state=1", t + 2009000);
	script_resume(s, t + 2013000, t + 2015000, 2020000);
	return t + 2030000;
}

static long by_a_stranger(struct script *s, long t)
{
	return released_from_outside(s, t, 400);
}

static long by_one_of_seven(struct script *s, long t)
{
	return released_from_outside(s, t, 600 + t / PERIOD % 7);
}

/* The same, and 400 ran for these 2 ms. */
static long by_the_reader(struct script *s, long t)
{
	script_line(s, 1, "%ld 0 switch next=400", t - 30000);
	t = released_from_outside(s, t, 400);
	script_line(s, 1, "%ld 400 switch next=0 state=1", t);
	return t;
}

#define OUTSIDE CHILD("cause_end", "v.name='outside'")

static void ends_outside_the_recording_are_said(void **state)
{
	(void)state;
	first_is(slowed(by_a_stranger, 0, "100", NULL), "handoff", "reader[400]",
		 "offender_part > 0.9 AND end_id=101 AND " CHILD("cause_end",
								 "v.name='outside' AND v.id=400"));
	/* it is recorded */
	first_is(slowed(by_the_reader, 0, "all", NULL), "handoff", "reader[400]",
		 "end_id=400 AND end_state='run' AND NOT " OUTSIDE);
	/* seven, each with a part of the end: none stands for it */
	first_is(slowed(by_one_of_seven, 0, "100", NULL), "handoff", "helper[100/101]",
		 "end_id=101 AND NOT " OUTSIDE);
}

/* A timer wakes it after 1.4 of 2 ms; with output, it wakes 101 then. 300 ends the second sleep. */
static long sleeps_twice(struct script *s, long t, bool output)
{
	script_line(s, 0, "%ld 100 switch next=0 state=1", t);
	script_timer(s, 0, 100, t + 1400000);
	script_line(s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=1410000 ret=-4",
		    t + 1403000);
	if (output) {
		script_line(s, 0, "%ld 100 waking target=101 cpu=2", t + 1440000);
		script_line(s, 2, "%ld 0 switch next=101", t + 1441000);
		script_line(s, 2, "%ld 101 switch next=0 state=1", t + 1449000);
	}
	script_line(s, 0, "%ld 100 switch next=0 state=1", t + 1500000);
	script_timer(s, 1, 300, t + 1990000);
	script_line(s, 1, "%ld 300 waking target=100 cpu=0", t + 2000000);
	script_line(s, 1, "%ld 300 switch next=0 state=1", t + 2020000);
	script_line(s, 0, "%ld 0 switch next=100", t + 2003000);
	script_line(s, 0, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=510000 ret=1",
		    t + 2005000);
	return t + 2010000;
}

static long sleeps_on(struct script *s, long t)
{
	return sleeps_twice(s, t, false);
}

static long sleeps_again(struct script *s, long t)
{
	return sleeps_twice(s, t, true);
}

static void the_last_wakeup_ends_chained_sleeps(void **state)
{
	(void)state;
	first_is(slowed(sleeps_on, 0, "all", NULL), "poll", "housekeeper[100/300]",
		 "offender_part > 0.95");
	/* what came before its output was another wait */
	first_is(slowed(sleeps_again, 0, "all", NULL), "poll", "", "offender_part < 0.5");
}

/* The holder of a lock reads after the writes of 200. */
static long held_after_a_hog(struct script *s, long t)
{
	script_line(s, 2,
		    "%ld 200 block_start request=7 dev=0xfe00000 bytes=1048576 sector=4096 op=1",
		    t + 4000);
	script_line(s, 1, "%ld 300 block_start request=8 dev=0xfe00000 bytes=4096 sector=8",
		    t + 8000);
	script_line(s, 2, "%ld 0 block_complete request=7 dev=0xfe00000 bytes=1048576 sector=4096",
		    t + 1900000);
	script_line(s, 2, "%ld 0 block_complete request=8 dev=0xfe00000 bytes=4096 sector=8",
		    t + 1999000);
	return held_for_disk(s, t);
}

static void ends_in_a_disk_are_looked_into(void **state)
{
	sqlite3 *db = slowed(held_after_a_hog, 0, "all", NULL);

	(void)state;
	is_text(db, "SELECT kind || ' ' || offender FROM cause WHERE rank=2", "lock 300");
	first_is(db, "disk", "burner[200]", "offender_part > 0.99 AND contribution > 0.9");
}

/* ---- programs ---- */

static long by_four(struct script *s, long t)
{
	int hog = 601 + t / PERIOD % 4;

	script_line(s, 0, "%ld 100 switch next=%d flags=1 prio=120", t, hog);
	script_line(s, 0, "%ld %d switch next=100 flags=1 prio=120", t + 2000000, hog);
	return t + 2000000;
}

static sqlite3 *preempted_by_four(const char *parents)
{
	char facts[1000] = "112 600 thread pid=600 state=83 comm=\"maker\"\n";
	size_t n = strlen(facts);
	int i;

	for (i = 1; i <= 4; i++)
		n += snprintf(facts + n, sizeof(facts) - n,
			      "%d %d thread pid=%d parent=%d state=83 comm=\"hog\"\n", 112 + i,
			      600 + i, 600 + i, parents ? 600 : 700 + i);
	return slowed(by_four, 0, "all", facts);
}

static void workers_of_a_neighbour_are_one_program(void **state)
{
	(void)state;
	first_is(preempted_by_four("one"), "cpu_contender", "hog",
		 "offender_kind='program' AND offender_part > 0.99");
	/* four that only share the name */
	first_is(preempted_by_four(NULL), "cpu_contender", NULL,
		 "offender_kind='process' AND offender_part BETWEEN 0.2 AND 0.35");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(disks_name_the_programs_that_used_them),
		T(pages_read_again_after_reclaim_are_said),
		T(writes_that_are_new_are_its_own),
		T(discards_move_no_bytes),
		T(a_request_in_front_is_named),
		T(own_work_is_not_waiting_for_others),
		T(many_requests_in_front_have_no_name),
		T(ends_of_a_pool_are_summed),
		T(waiters_that_pass_a_lock_on_are_not_to_blame),
		T(ends_outside_the_recording_are_said),
		T(the_last_wakeup_ends_chained_sleeps),
		T(ends_in_a_disk_are_looked_into),
		T(workers_of_a_neighbour_are_one_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
