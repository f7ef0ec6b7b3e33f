// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_file.c: sleeps in calls on files of FUSE, and what only looks so.
 */
#include "tests/lib/pausing.h"

enum call { OPENS, OPENS_AND_LOOKS, READS, CONTROLS };

/* 100 sleeps for 300 ms until 300 wakes it, in the middle of a call; then its record. */
static void sleeps_in(struct text *x, const char *call, int fd)
{
	text_line(x, "%ld 100 switch next=0 state=1", x->t);
	x->t += 300 * MS;
	text_line(x, "%ld 300 waking target=100\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall nr=%s fd=%d ret=11 dur=%ld", x->t + 2000, call, fd,
		  300 * MS + 2000);
	x->t += 2000;
}

static sqlite3 *on(const char *mounted, enum call call)
{
	struct text x = { 0 };

	head(&x);
	text_line(&x,
		  "@recorder\n33 0 mount dev=9 text=\"ext4 /dev/sda1 /\"\n34 0 mount dev=38"
		  " text=\"%s s3 /srv/s3\"\n35 300 thread pid=300 state=83 comm=\"s3fs\"",
		  mounted);
	text_line(&x, "36 100 fd pid=100 fd=12 mode=0100644 ino=5 dev=38 path=\"/srv/s3/x.bin\"");
	text_line(&x, "37 100 fd pid=100 fd=13 mode=0100644 ino=5 dev=9 path=\"/srv/y\"\n@cpu 0");
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
	wakes(&x);
	x.t += 10000;
	if (call == OPENS || call == OPENS_AND_LOOKS) {
		sleeps_in(&x, "openat", -1);
		text_line(
			&x,
			"%ld 100 file_open nr=openat ret=11 dur=%ld dir=-100 path=\"/srv/s3/x.bin\"",
			x.t, 300 * MS + 2000);
	}
	x.t += 1000;
	if (call == OPENS_AND_LOOKS)
		sleeps_in(&x, "newfstatat", -1);
	if (call == READS)
		sleeps_in(&x, "pread64", 12);
	if (call == CONTROLS)
		sleeps_in(&x, "ioctl", -1);
	x.t += 1000;
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t);
	x.t += 1000;
	return judged(&x);
}

static void says(const char *mounted, enum call call, const char *calls)
{
	sqlite3 *db = on(mounted, call);

	is_number(db, CAUSE_VALUE("count(v.text)", "file"), calls ? 1 : 0);
	if (calls) {
		is_text(db, CAUSE_VALUE("v.text", "call"), calls);
		is_text(db, CAUSE_VALUE("v.text", "file"), "/srv/s3/x.bin");
		is_text(db, CAUSE_VALUE("v.text", "filesystem"), "fuse.s3fs /srv/s3");
		is_text(db, CAUSE_VALUE("v.text", "state"),
			"waiting for the daemon of a FUSE file system");
	} else {
		is_text(db, CAUSE_VALUE("v.text", "state"), "sleeping");
	}
	is_number(db, CAUSE_VALUE("v.id", "waker"), 300);
	db_close(db);
}

static void the_file_of_a_daemon_is_named(void **state)
{
	(void)state;
	says("fuse.s3fs", OPENS, "openat");
	says("fuse.s3fs", READS, "pread64");
	/* by its daemon, as the path is not recorded */
	says("fuse.s3fs", OPENS_AND_LOOKS, "newfstatat, openat");
}

static void other_sleeps_are_not_of_a_file(void **state)
{
	(void)state;
	says("ext4", OPENS, NULL);
	says("ext4", READS, NULL);
	says("fuse.s3fs", CONTROLS, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_file_of_a_daemon_is_named),
		T(other_sleeps_are_not_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
