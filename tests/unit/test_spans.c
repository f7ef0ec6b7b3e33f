// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze/replay/io/track_fds.c, track_syscalls.c, track_requests.c, track_block.c, track_loss.c,
 * track_tasks.c, facts.c, load.c: rows from records, checked by hand.
 */
#include "tests/lib/unit.h"

#include "analyze/base/fdmap.h"
#include "tests/lib/loaded.h"

#define START                                                                                      \
	"@recorder\n"                                                                              \
	"900 0 info text=\"targets=100\"\n901 0 info text=\"follow=1\"\n"                          \
	"902 0 info text=\"groups=core,syscalls,block\"\n903 0 info text=\"host=a\"\n"             \
	"904 0 clock monotonic=904 realtime=1700000000000000000 boottime=904\n"                    \
	"905 100 thread pid=100 state=S comm=\"server\" cmdline=\"server -x\"\n"                   \
	"906 100 fd pid=100 fd=5 mode=socket ino=77 family=inet role=accepted sport=80 dport=999 " \
	"saddr=127.0.0.1 daddr=10.0.0.7\n"                                                         \
	"1000 0 info text=\"begin=1000\"\n"

static void system_calls_become_rows_and_sums(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n2000 100 syscall nr=read fd=5 dur=300 ret=64\n"
				   "3000 100 syscall nr=read fd=5 dur=500 ret=-11\n"
				   "4000 100 syscall nr=read fd=5 dur=0 flags=1 ret=-11\n"
				   "5000 100 syscall_args nr=openat dur=700 ret=-2\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM syscall", 4);
	is_number(db, "SELECT ts FROM syscall WHERE ret=64", 700); /* entry */
	is_number(db, "SELECT n FROM syscall_stat WHERE nr=0", 3);
	is_number(db, "SELECT errors FROM syscall_stat WHERE nr=0", 2);
	is_number(db, "SELECT timed FROM syscall_stat WHERE nr=0", 2);
	is_number(db, "SELECT total FROM syscall_stat WHERE nr=0", 800);
	is_number(db, "SELECT max FROM syscall_stat WHERE nr=0", 500);
	is_number(db, "SELECT bytes FROM syscall_stat WHERE nr=0", 64);
	is_number(db, "SELECT n FROM syscall_error WHERE nr=0 AND error=11", 2);
	is_number(db, "SELECT n FROM syscall_error WHERE nr=257 AND error=2", 1);
	is_number(db, "SELECT count(*) FROM syscall WHERE dur IS NULL", 1);
	is_text(db, "SELECT name FROM syscall_name WHERE nr=257", "openat");
	is_number(db, "SELECT sum(n) FROM latency WHERE kind='syscall'", 3);
	db_close(db);
}

/* Three requests: 1 receive + 1 send; 2 receives + 3 sends; a push without request is no request.
 */
static void requests_are_cut_at_receives(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n1500 100 syscall nr=write fd=5 dur=10 ret=9\n"
				   "2000 100 syscall nr=read fd=5 dur=100 ret=10\n"
				   "2500 100 syscall nr=write fd=5 dur=100 ret=20\n"
				   "3000 100 syscall nr=read fd=5 dur=100 ret=10\n"
				   "3100 100 syscall nr=read fd=5 dur=50 ret=-11\n"
				   "3200 100 syscall nr=read fd=5 dur=50 ret=1\n"
				   "4000 100 syscall nr=write fd=5 dur=100 ret=20\n"
				   "4100 100 syscall nr=write fd=5 dur=50 ret=20\n"
				   "4200 100 syscall nr=write fd=5 dur=50 ret=20\n"
				   "5000 100 syscall nr=read fd=5 dur=100 ret=10\n"
				   "5500 100 syscall nr=write fd=5 dur=100 ret=20\n"
				   "6000 100 syscall nr=close fd=5 dur=10\n"
				   "6500 100 syscall nr=write fd=5 dur=10 ret=5\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM request", 3);
	is_number(db, "SELECT dur FROM request WHERE recvs=2", 1200);
	is_number(db, "SELECT sends FROM request WHERE recvs=2", 3);
	is_number(db, "SELECT recv_bytes FROM request WHERE recvs=2", 11);
	is_number(db, "SELECT n FROM socket_use WHERE send=1 AND service=1", 6);
	is_number(db, "SELECT first FROM socket_use WHERE send=1", 500);
	is_number(db, "SELECT last FROM socket_use WHERE send=1", 4500);
	is_number(db, "SELECT end FROM fd WHERE fd=5", 5000);
	is_text(db, "SELECT local || ' ' || remote FROM fd", "127.0.0.1:80 10.0.0.7:999");
	db_close(db);
}

/* Connected sockets are not a server's; forked children inherit; numbers are used again. */
static void fds_are_followed(void **state)
{
	sqlite3 *db = loaded(
		START
		"@cpu 0\n1500 100 fd pid=100 fd=7 mode=socket ino=90 role=connected family=inet\n"
		"2000 100 syscall nr=read fd=7 dur=1 ret=5\n2100 100 syscall nr=write fd=7 dur=1 ret=5\n"
		"3000 100 fork child=101 child_pid=101 pid=100 comm=\"worker\"\n"
		"4000 101 syscall nr=read fd=5 dur=1 ret=5\n4100 101 syscall nr=write fd=5 dur=1 ret=5\n"
		"5000 100 fd pid=100 fd=7 mode=file ino=91\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM request WHERE pid=100", 0);
	is_number(db, "SELECT count(*) FROM request WHERE pid=101", 1);
	is_number(db, "SELECT n FROM socket_use WHERE service IS NULL AND send=0", 1);
	is_number(db, "SELECT count(*) FROM fd WHERE pid=100 AND fd=7", 2);
	is_number(db, "SELECT end FROM fd WHERE pid=100 AND fd=7 AND kind='socket'", 4000);
	is_number(db, "SELECT count(*) FROM fd WHERE pid=101", 2);
	db_close(db);
}

/* One whole request, one completed in two parts, one that never completes, one from before. */
static void block_requests_are_followed(void **state)
{
	sqlite3 *db = loaded(
		START "@cpu 0\n"
		      "2000 100 block_start request=1 sector=8 bytes=4096 dev=5\n"
		      "2300 100 block_issue request=1 sector=8 bytes=4096 dev=5\n"
		      "2900 0 block_complete request=1 sector=8 bytes=4096 dev=5\n"
		      "3000 100 block_start request=2 sector=16 bytes=8192 dev=5\n"
		      "3100 0 block_issue request=2 sector=16 bytes=8192 dev=5\n"
		      "3200 0 block_complete request=2 sector=16 bytes=4096 dev=5\n"
		      "3400 0 block_complete request=2 sector=24 bytes=4096 dev=5\n"
		      "4000 100 block_start request=3 sector=32 bytes=512 dev=5\n"
		      "5000 0 block_complete request=4 sector=40 bytes=512 error=-5 dev=5\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM block_io", 4);
	is_number(db, "SELECT dur FROM block_io WHERE sector=8", 900);
	is_number(db, "SELECT queued FROM block_io WHERE sector=8", 300);
	is_number(db, "SELECT tid FROM block_io WHERE sector=8", 100);
	is_number(db, "SELECT dur FROM block_io WHERE sector=16", 400);
	is_null(db, "SELECT dur FROM block_io WHERE sector=32");
	is_number(db, "SELECT error FROM block_io WHERE sector=40", -5);
	is_null(db, "SELECT tid FROM block_io WHERE sector=40");
	db_close(db);
}

static void losses_are_located_and_judged(void **state)
{
	sqlite3 *db =
		loaded(START "@cpu 0\n2000 100 syscall nr=getppid\n"
			     "2500 0 counters group=syscalls seen=1 emitted=1\n@block\n@lost 7\n"
			     "3000 100 syscall nr=getppid\n"
			     "3500 0 counters group=syscalls seen=9 emitted=2 lost_full=7\n");

	(void)state;
	is_number(db, "SELECT n FROM loss WHERE grp='syscalls' AND reason='full'", 7);
	is_number(db, "SELECT ts FROM loss", 1500);
	is_number(db, "SELECT dur FROM loss", 1000);
	is_text(db, "SELECT verdict FROM coverage WHERE grp='syscalls'", "LOSSY");
	is_number(db, "SELECT seen FROM coverage WHERE grp='syscalls'", 9);
	is_number(db, "SELECT records FROM coverage WHERE grp='syscalls'", 2);
	is_text(db, "SELECT verdict FROM coverage WHERE grp='block'", "COMPLETE");
	is_text(db, "SELECT verdict FROM coverage WHERE grp='sched'", "ABSENT");
	db_close(db);
}

static void cut_recordings_are_truncated(void **state)
{
	sqlite3 *db = loaded(START "@cpu 0\n2000 100 syscall nr=getppid\n@cut\n");

	(void)state;
	is_text(db, "SELECT verdict FROM coverage WHERE grp='syscalls'", "TRUNCATED");
	is_text(db, "SELECT value FROM recording WHERE key='complete'", "0");
	db_close(db);
}

static void tasks_are_named_and_related(void **state)
{
	sqlite3 *db = loaded(
		START
		"@cpu 0\n2000 100 fork child=101 child_pid=101 pid=100 uid=33 comm=\"server\"\n"
		"3000 101 exec pid=101 old_tid=101 comm=\"ls\" filename=\"/bin/ls\"\n"
		"3500 101 rename comm=\"renamed\"\n4000 101 exit pid=101\n"
		"5000 100 fork child=102 child_pid=100 pid=100 comm=\"server\"\n");

	(void)state;
	is_text(db,
		"SELECT comm || ' ' || cmdline || ' ' || uid || ' ' || parent FROM process WHERE pid=101",
		"renamed /bin/ls 33 100");
	is_number(db, "SELECT end - start FROM process WHERE pid=101", 2000);
	is_number(db, "SELECT pid FROM thread WHERE tid=102", 100);
	is_text(db, "SELECT value FROM recording WHERE key='start'", "2023-11-14T22:13:20.000Z");
	db_close(db);
}

/* The thread ended and its number was used again while the first snapshot was read. */
static void a_tid_used_twice_in_a_snapshot_is_the_later_thread(void **state)
{
	sqlite3 *db = loaded("@cpu 0\n1000 100 switch next=0 state=S\n"
			     "2000 0 switch next=100\n3000 100 switch next=0 state=S\n@recorder\n"
			     "0 0 info text=\"targets=all\"\n0 0 info text=\"groups=core,sched\"\n"
			     "1400 100 thread pid=100 comm=\"earlier\"\n"
			     "1500 100 thread pid=90 comm=\"later\"\n"
			     "1600 0 info text=\"snapshot=1600\"\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM thread WHERE tid=100", 1);
	is_number(db, "SELECT pid FROM thread WHERE tid=100 AND comm='later'", 90);
	is_number(db, "SELECT count(*) FROM process WHERE pid=100", 0);
	is_number(db, "SELECT wall FROM thread WHERE tid=100", 2000);
	db_close(db);
}

/* fs.nr_open is 1,048,576 on most hosts, 2^30 at most. */
static void fds_are_followed_up_to_nr_open(void **state)
{
	sqlite3 *db = loaded(
		START "@cpu 0\n"
		      "2000 100 fd pid=100 fd=65536 mode=0100000 ino=8 dev=1 path=\"/a\"\n"
		      "2100 100 fd pid=100 fd=1048575 mode=0100000 ino=9 dev=1 path=\"/b\"\n"
		      "2200 100 fd pid=100 fd=1073741823 mode=0100000 ino=7 dev=1 path=\"/c\"\n"
		      "2300 100 fork child=200 child_pid=200 pid=100 comm=\"x\"\n"
		      "2400 100 syscall nr=read fd=1048575 dur=10 ret=64\n"
		      "3000 100 syscall_args nr=close_range arg0=65537 arg1=0xffffffff ret=0\n"
		      "4000 100 syscall nr=close fd=65536 dur=10\n");

	(void)state;
	is_number(db, "SELECT end FROM fd WHERE pid=100 AND fd=65536", 3000);
	is_number(db, "SELECT end FROM fd WHERE pid=100 AND fd=1048575", 2000);
	is_number(db, "SELECT end FROM fd WHERE pid=100 AND fd=1073741823", 2000);
	is_number(db, "SELECT count(*) FROM fd WHERE pid=200 AND fd>65535 AND end IS NULL", 3);
	is_text(db, "SELECT path FROM fd WHERE pid=100 AND fd=1048575", "/b");
	db_close(db);
}

static void the_memory_of_fds_is_bounded(void **state)
{
	struct fdmap m[2] = { 0 };
	struct err e = { 0 };
	u64 memory = 0;
	s64 fd = 6;
	int ret = 0;

	(void)state;
	assert_int_equal(fdmap_put(&m[0], INT32_MAX, &e, &memory, &e), 0);
	assert_true(memory < 300000);
	assert_int_equal(fdmap_put(&m[0], 5, &e, &memory, &e), 0);
	assert_ptr_equal(fdmap_next(&m[0], &fd), &e);
	assert_int_equal(fd, INT32_MAX);
	assert_int_equal(fdmap_put(&m[0], 5, NULL, &memory, &e), 0);
	assert_null(fdmap_get(&m[0], 5));
	assert_null(fdmap_get(&m[0], -1));
	assert_null(fdmap_next(&m[1], &fd));
	for (fd = 0; ret == 0 && fd < INT32_MAX; fd += FDMAP_PAGE)
		ret = fdmap_put(&m[1], fd, &e, &memory, &e);
	assert_int_equal(ret, ERR_DAMAGED);
	assert_non_null(strstr(e.text, "claims fds that take more than 192 MiB"));
	fdmap_free(&m[0], &memory);
	fdmap_free(&m[1], &memory);
	assert_int_equal(memory, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(system_calls_become_rows_and_sums),
		T(requests_are_cut_at_receives),
		T(fds_are_followed),
		T(fds_are_followed_up_to_nr_open),
		T(the_memory_of_fds_is_bounded),
		T(block_requests_are_followed),
		T(losses_are_located_and_judged),
		T(cut_recordings_are_truncated),
		T(tasks_are_named_and_related),
		T(a_tid_used_twice_in_a_snapshot_is_the_later_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
