// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_disk.c: who used the disk that a pause waited for, or delayed it
 * before.
 */
#include "tests/lib/pausing.h"

#define IDLE_VALUE(what, name_) FINDING_VALUE("pause_disk_idle", name_, what)
#define DISK_VALUE(what, name_) FINDING_VALUE("pause_disk", name_, what)

/*
 * 100 waits 300 ms in fsync, its block request for `done` ms; within it, or 100 ms after it, one of
 * tid moves 8 MiB. waker: ends the wait, 0: an interrupt; 400 was in the run queue for all of it.
 */
static int written = 77;    /* the device of the files that 300 writes */
static int wrote = 8 << 20; /* bytes that it writes */
static int moves_on = 8;    /* the device that tid moves bytes on */

static sqlite3 *beside_request(int tid, bool within, long done, int waker, int op, long held)
{
	struct text x = { 0 };
	long t;

	head(&x);
	text_line(&x, "@recorder\n32 300 thread pid=300 state=83 comm=\"dd\"");
	text_line(&x, "33 400 thread pid=400 parent=2 state=83 comm=\"jbd2/vda-8\"");
	text_line(&x,
		  "34 0 disk dev=8 name=\"sda\"\n35 0 mount dev=9 text=\"ext4 /dev/sda1 /srv\"");
	text_line(&x, "36 300 fd pid=300 fd=5 mode=0100000 ino=50 dev=%d path=\"/srv/copy\"",
		  written);
	text_line(&x, "36 100 fd pid=100 fd=3 mode=0100000 ino=51 dev=9 path=\"/srv/log\"");
	text_line(&x, "@cpu 0\n%ld 300 syscall nr=write fd=5 ret=%d count=%d dur=200", 2 * MS / 3,
		  wrote, wrote);
	many(&x, 100, 600, MS);
	t = x.t;
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1", t + 2000);
	text_line(&x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", t + 3000);
	text_line(&x, "%ld 100 block_start request=1 dev=8 bytes=4096 sector=8 op=1", t + 4000);
	text_line(&x, "%ld 100 switch next=0 state=2 flags=2", t + 10000);
	t += within ? 10 * MS : 400 * MS;
	text_line(&x, "@cpu 1\n%ld %d block_start request=2 dev=%d bytes=8388608 sector=800 op=%d",
		  t, tid, moves_on, op);
	text_line(&x, "%ld 0 block_complete request=2 dev=%d bytes=8388608 sector=800\n@cpu 0",
		  t + held, moves_on);
	text_line(&x, "%ld 0 block_complete request=1 dev=8 bytes=4096 sector=8",
		  x.t + done * MS - 1000);
	if (waker) {
		text_line(&x,
			  "@cpu 1\n%ld 0 waking target=400 cpu=1 context=1\n%ld 0 switch next=400",
			  x.t + 5000, x.t + 300 * MS - 1000);
		text_line(&x, "%ld %d waking target=100\n%ld 400 switch next=0 state=1\n@cpu 0",
			  x.t + 300 * MS, waker, x.t + 300 * MS + 500);
	} else {
		text_line(&x, "%ld 0 waking target=100 context=1", x.t + 300 * MS);
	}
	text_line(&x, "%ld 0 switch next=100", x.t + 300 * MS + 1000);
	text_line(&x, "%ld 100 syscall nr=fsync fd=3 dur=%ld", x.t + 300 * MS + 2000,
		  300 * MS - 6000);
	x.t += 300 * MS + 4000;
	return judged(&x);
}

static sqlite3 *beside_disk_use(int tid, bool within, long done, int waker)
{
	return beside_request(tid, within, done, waker, 1, MS);
}

/* They move no bytes, but the disk did them all the time; not if they are done soon. */
static void a_pause_behind_discards_has_who_made_them(void **state)
{
	sqlite3 *db = beside_request(300, true, 300, 0, 3, 280 * MS);

	(void)state;
	is_number(db, FINDING_VALUE("pause_discards", "user", "v.id"), 300);
	is_within(db, FINDING_VALUE("pause_discards", "share", "v.number"), 90, 95);
	is_number(db, FINDING_VALUE("pause_discards", "bytes", "v.number"), 8388608);
	is_number(db, DISK_VALUE("v.id", "user"), 100);
	db_close(db);
	db = beside_request(300, true, 300, 0, 3, 20 * MS);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_discards'", 0);
	db_close(db);
	db = beside_request(100, true, 300, 0, 3, 280 * MS); /* its own */
	is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_discards'", 0);
	db_close(db);
}

/* The program that used the disk while the pause waited for it, not at another time. */
static void a_pause_at_a_disk_names_its_user(void **state)
{
	sqlite3 *db = beside_disk_use(300, true, 300, 0);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a disk");
	is_number(db, DISK_VALUE("v.id", "disk"), 8);
	is_number(db, DISK_VALUE("v.id", "user"), 300);
	is_within(db, DISK_VALUE("v.number", "user"), 99, 100);
	is_text(db, "SELECT evidence FROM finding WHERE kind='pause_disk'", "OVERLAP");
	is_number(db, DISK_VALUE("v.id", "mover"), 300);
	is_number(db, DISK_VALUE("v.number", "moved"), 8 << 20);
	is_number(db, DISK_VALUE("v.number=(SELECT ts FROM block_io WHERE bytes=8388608)", "since"),
		  1);
	/* on the first screen: before what only adds to the call */
	is_number(
		db,
		"SELECT (SELECT count(*) FROM finding WHERE kind='pause_calls')=1 AND (SELECT id FROM"
		" finding WHERE kind='pause_disk') < (SELECT id FROM finding WHERE kind='pause_cause')",
		1);
	db_close(db);
	moves_on = 16; /* another disk */
	db = beside_disk_use(300, true, 300, 0);
	is_number(db, DISK_VALUE("v.id", "user"), 100);
	is_number(db, DISK_VALUE("count(v.id)", "mover"), 0);
	db_close(db);
	moves_on = 8;
	db = beside_disk_use(300, false, 300, 0);
	is_number(db, DISK_VALUE("v.id", "user"), 100);
	is_text(db, "SELECT evidence FROM finding WHERE kind='pause_disk'", "OBSERVED");
	db_close(db);
	db = beside_disk_use(100, true, 300, 0);
	is_number(db, DISK_VALUE("v.id", "user"), 100);
	is_number(db, DISK_VALUE("count(v.id)", "mover"), 0);
	db_close(db);
}

/* The kernel writes back what a program wrote, on a partition of the disk. */
static void what_the_kernel_writes_back_has_who_wrote_it(void **state)
{
	sqlite3 *db = beside_disk_use(400, true, 300, 0);

	(void)state;
	is_number(db, DISK_VALUE("v.id", "user"), 400);
	is_number(db, DISK_VALUE("count(v.id)", "writer"), 0); /* its files are elsewhere */
	db_close(db);
	written = 9;
	db = beside_disk_use(400, true, 300, 0);
	is_number(db, DISK_VALUE("v.id", "writer"), 300);
	is_number(db, DISK_VALUE("v.number", "written"), 8 << 20);
	db_close(db);
	db = beside_disk_use(100, true, 300, 0); /* what moved most was no writeback */
	is_number(db, DISK_VALUE("count(v.id)", "writer"), 0);
	db_close(db);
	db = beside_disk_use(400, true, 20, 0);
	is_number(db, IDLE_VALUE("v.id", "writer"), 300);
	db_close(db);
	db = beside_request(400, true, 300, 0, 0, MS); /* the kernel read, as a check of a RAID */
	is_number(db, DISK_VALUE("v.id", "user"), 400);
	is_number(db, DISK_VALUE("count(v.id)", "writer"), 0);
	db_close(db);
	wrote = 1 << 20; /* most came from elsewhere: not all writers need be recorded */
	db = beside_disk_use(400, true, 300, 0);
	is_number(db, DISK_VALUE("count(v.id)", "writer"), 0);
	db_close(db);
	wrote = 8 << 20;
	written = 77;
}

/* Without a request at the disk no program that uses it is to blame. */
static void a_pause_at_an_idle_disk_names_no_user(void **state)
{
	sqlite3 *db = beside_disk_use(300, true, 20, 0);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a disk");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_disk'", 0);
	is_within(
		db,
		"SELECT number FROM finding f JOIN finding_value v ON v.finding=f.id WHERE f.kind="
		"'pause_disk_idle' AND name='busy'",
		5, 8);
	is_text(db, IDLE_VALUE("v.text", "limit"), "an I/O limit of a cgroup");
	is_number(db, IDLE_VALUE("total(v.id)", "thread"), 0);
	db_close(db);
	/* no limit: the thread that writes the journal had no CPU */
	db = beside_disk_use(300, true, 20, 400);
	is_number(db, IDLE_VALUE("count(v.text)", "limit"), 0);
	is_number(db, IDLE_VALUE("v.id", "thread"), 400);
	is_text(db, IDLE_VALUE("v.text", "state"), "queued for a CPU");
	is_within(db, IDLE_VALUE("v.number", "share"), 95, 100);
	db_close(db);
	/* nothing is known of it */
	db = beside_disk_use(300, true, 20, 999);
	is_number(db, IDLE_VALUE("count(v.text)", "limit"), 0);
	is_number(db, IDLE_VALUE("v.id", "stranger"), 999);
	db_close(db);
}

/* 100 waits for a futex until 101 releases it, which waited for a disk that 300 used; or in
 * nanosleep. */
static sqlite3 *released_late(bool disk)
{
	struct text x = { 0 };
	long t, end;

	head(&x);
	text_line(&x, "@recorder\n32 300 thread pid=300 state=83 comm=\"dd\"\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	end = t + 300 * MS;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	sleeps(&x, "futex", -1, 101);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", t - MS);
	if (disk)
		text_line(&x, "%ld 101 block_start request=1 dev=8 bytes=4096 sector=8 op=1",
			  t - MS + 500);
	text_line(&x, "%ld 101 switch next=0 state=%d flags=%d", t - MS + 1000, disk ? 2 : 1,
		  disk ? 2 : 0);
	text_line(&x, "%ld 300 block_start request=2 dev=8 bytes=8388608 sector=800 op=1",
		  t + 9 * MS);
	text_line(&x, "%ld 0 block_complete request=2 dev=8 bytes=8388608 sector=800",
		  end - 3 * MS);
	if (disk)
		text_line(&x, "%ld 0 block_complete request=1 dev=8 bytes=4096 sector=8",
			  end - 2 * MS);
	text_line(&x, "%ld 0 waking target=101 context=1\n%ld 0 switch next=101", end - MS,
		  end - MS + 1000);
	text_line(&x, "%ld 101 syscall_args nr=%s arg0=3 dur=%ld", end - MS + 2000,
		  disk ? "fsync" : "nanosleep", 300 * MS + 1800);
	text_line(&x, "%ld 101 switch next=0 state=1\n@cpu 0", end + MS);
	return judged(&x);
}

/* Who waited for a disk before it released a lock is said first, and who used that disk. */
static void a_pause_that_ends_at_a_disk_names_its_user(void **state)
{
	sqlite3 *db = released_late(true);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a futex");
	is_number(db, FINDING_VALUE("pause_root", "end", "v.id"), 101);
	is_text(db, FINDING_VALUE("pause_root", "state", "v.text"), "waiting for the disk");
	is_number(db, DISK_VALUE("v.id", "user"), 300);
	is_number(db,
		  "SELECT (SELECT id FROM finding WHERE kind='pause_root') <"
		  " (SELECT id FROM finding WHERE kind='pause_cause')",
		  1);
	db_close(db);
	db = released_late(false); /* the waker says it all, and no disk was waited for */
	is_number(db, "SELECT count(*) FROM finding WHERE kind IN ('pause_root', 'pause_disk')", 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_pause_at_a_disk_names_its_user),
		T(a_pause_behind_discards_has_who_made_them),
		T(what_the_kernel_writes_back_has_who_wrote_it),
		T(a_pause_at_an_idle_disk_names_no_user),
		T(a_pause_that_ends_at_a_disk_names_its_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
