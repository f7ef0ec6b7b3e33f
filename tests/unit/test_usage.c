// SPDX-License-Identifier: GPL-2.0-or-later
/* Files, processes, the page cache and io_uring: what the trackers make of their events. */
#include "tests/lib/unit.h"

#include "tests/lib/loaded.h"

#define START                                                                                   \
	"@recorder\n900 0 info text=\"targets=all\"\n"                                          \
	"901 0 info text=\"groups=core,syscalls,sched,net,files,process,pagecache\"\n"          \
	"902 0 clock monotonic=902 boottime=5000902 realtime=1700000000000000000\n"             \
	"903 100 thread pid=100 parent=1 state=83 comm=\"server\"\n"                            \
	"904 101 thread pid=100 parent=1 state=83 comm=\"worker\"\n"                            \
	"905 100 fd pid=100 fd=-100 path=\"/srv\"\n"                                            \
	"906 100 fd pid=100 fd=5 mode=0100000 ino=77 dev=8 path=\"/srv/data\"\n"                \
	"907 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=3 dport=99 daddr=10.0.0.9\n" \
	"908 100 fd pid=100 fd=7 mode=0100000 ino=79 dev=8 path=\"/srv/copy\"\n"                \
	"1000 0 info text=\"begin=1000\"\n900000 0 info text=\"stopped=900000\"\n@cpu 0\n"

static bool holds(sqlite3 *db, const char *sql)
{
	bool true_ = asked(db, sql) == 1;

	if (!true_)
		fprintf(stderr, "not so: %s\n", sql);
	return true_;
}

/* The same path by two names is one; one that failed has its errno. */
static void opens_name_their_paths(void **state)
{
	sqlite3 *db = loaded(
		START "2000 100 file_open dur=100 ret=9 dir=-100 nr=openat path=\"data\"\n"
		      "3000 100 file_open dur=100 ret=9 dir=-100 nr=openat path=\"/srv/data\"\n"
		      "4000 101 file_open dur=70 ret=-2 dir=-100 nr=open path=\"none\"\n");

	(void)state;
	assert_true(holds(db, "SELECT count(*)=3 AND count(DISTINCT path)=2 FROM file_open"));
	assert_true(holds(db, "SELECT ts=2930 AND dur=70 AND pid=100 AND tid=101 AND ret=-2 AND "
			      "p.path='/srv/none' FROM file_open o JOIN file_path p ON p.id=o.path "
			      "WHERE ret<0"));
	assert_true(holds(db, "SELECT group_concat(name)='openat,open' FROM syscall_name"));
	db_close(db);
}

/* A rename is two records; ftruncate names its file by descriptor. */
static void changes_name_their_paths(void **state)
{
	sqlite3 *db = loaded(
		START "2000 100 file_change dur=9 dir=-100 nr=rename path=\"a\"\n"
		      "2000 100 file_change dur=9 dir=-100 nr=rename which=1 path=\"b\"\n"
		      "2100 100 file_change dur=5 dir=5 nr=ftruncate size=4096\n"
		      "2200 100 file_change dur=5 dir=-100 nr=unlink ret=-13 path=\"/etc/x\"\n");

	(void)state;
	assert_true(holds(db, "SELECT group_concat(p.path)='/srv/a,/srv/b,/srv/data,/etc/x' FROM "
			      "file_change f JOIN file_path p ON p.id=f.path"));
	assert_true(holds(db, "SELECT group_concat(which)='0,1,0,0' FROM file_change"));
	is_number(db, "SELECT size FROM file_change WHERE size>0", 4096);
	is_number(db, "SELECT ret FROM file_change WHERE ret<0", -13);
	db_close(db);
}

/* Of regular files only, by direction; sendfile reads one end, copy_file_range does both. */
static void reads_and_writes_are_summed_by_file(void **state)
{
	sqlite3 *db = loaded(
		START "2000 100 syscall nr=read fd=5 dur=100 ret=10\n"
		      "2100 101 syscall_args nr=pread64 arg0=5 dur=50 ret=30\n"
		      "2200 100 syscall nr=write fd=5 dur=7 ret=5\n"
		      "2300 100 syscall nr=read fd=5 dur=1 ret=-5\n"
		      "2400 100 syscall nr=read fd=6 dur=1 ret=500\n"
		      "2500 100 syscall_args nr=sendfile arg0=6 arg1=5 dur=20 ret=60\n"
		      "2600 100 syscall_args nr=copy_file_range arg0=5 arg2=7 dur=20 ret=200\n");

	(void)state;
	is_number(db, "SELECT count(*) FROM file_use", 2);
	assert_true(holds(db, "SELECT reads=5 AND read_bytes=300 AND read_time=191 AND "
			      "read_max=200 AND writes=1 AND write_bytes=5 AND write_time=7 AND "
			      "errors=1 AND p.path='/srv/data' FROM file_use u JOIN file_path p ON "
			      "p.id=u.path WHERE ino=77"));
	assert_true(holds(db, "SELECT reads=0 AND writes=1 AND write_bytes=200 FROM file_use WHERE "
			      "ino=79"));
	db_close(db);
}

/* A child that inherits a descriptor reads on its own account. */
static void children_read_for_themselves(void **state)
{
	sqlite3 *db = loaded(START "2000 100 syscall nr=read fd=5 dur=100 ret=10\n"
				   "2100 100 fork child=200 child_pid=200 pid=100\n"
				   "2200 200 syscall nr=read fd=5 dur=100 ret=3\n");

	(void)state;
	assert_true(holds(db, "SELECT group_concat(pid || ':' || read_bytes)='100:10,200:3' FROM "
			      "file_use"));
	db_close(db);
}

/* Started at 5002000 of CLOCK_BOOTTIME, which is 2000 here; ended at 9000 by signal 9. */
static void exits_report_usage(void **state)
{
	sqlite3 *db = loaded(
		START "2000 100 fork child=200 child_pid=200 pid=100 comm=\"server\"\n"
		      "3000 200 spawn pid=200 parent=100 uid=5 length=9 args=\"ls -l /tmp\"\n"
		      "3001 200 exec pid=200 comm=\"ls\" filename=\"/bin/ls\"\n"
		      "9000 200 ended pid=200 parent=100 start=5002000 user=400 system=500 code=9 "
		      "rss=4096 read=8192 major_faults=2\n9001 200 exit pid=200 code=9\n"
		      "9100 100 ended pid=100 parent=1 code=0x300\n");

	(void)state;
	assert_true(holds(db, "SELECT life=7000 AND code IS NULL AND signal=9 AND user=400 AND "
			      "rss=4096 AND read_bytes=8192 AND major_faults=2 FROM process_exit "
			      "WHERE pid=200"));
	assert_true(holds(db, "SELECT life IS NULL AND code=3 AND signal=0 FROM process_exit "
			      "WHERE pid=100"));
	assert_true(holds(db, "SELECT args='ls -l /tmp' AND uid=5 FROM spawn"));
	assert_true(holds(db, "SELECT cmdline='ls -l /tmp' AND comm='ls' FROM process WHERE "
			      "pid=200"));
	db_close(db);
}

/* By a shell, by the kernel for lack of memory, by a fault of its own. */
static void signals_have_a_sender(void **state)
{
	sqlite3 *db = loaded(START "2000 101 signal_sent target=100 pid=100 number=15\n"
				   "2100 101 signal_sent target=100 pid=100 number=9 code=128\n"
				   "2200 100 signal_sent target=100 pid=100 number=11 code=1\n");

	(void)state;
	is_text(db,
		"SELECT group_concat(tid || ':' || signal || ':' || code, ' ') FROM signal_sent",
		"101:15:0 101:9:128 100:11:1");
	is_number(db, "SELECT count(*) FROM signal_sent WHERE target=100 AND pid=100", 3);
	db_close(db);
}

/* The two tracepoints' programs run in either order; where arguments are withheld, the file stays.
 */
static void arguments_are_better_than_the_file(void **state)
{
	sqlite3 *db = loaded(START "3001 100 exec pid=100 comm=\"a\" filename=\"/bin/a\"\n"
				   "3002 100 spawn pid=100 parent=1 args=\"a -x\"\n"
				   "3001 200 exec pid=200 comm=\"b\" filename=\"/bin/b\"\n"
				   "3002 200 spawn pid=200 parent=1\n");

	(void)state;
	assert_true(holds(db, "SELECT cmdline='a -x' FROM process WHERE pid=100"));
	assert_true(holds(db, "SELECT cmdline='/bin/b' FROM process WHERE pid=200"));
	db_close(db);
}

/*
 * A read of pages 0..9 finds 0..3 and adds 4..9 and, ahead, 10..15: reported at its end. The next
 * read finds them. What a write added is no miss of a later read.
 */
static void misses_are_what_the_reader_added(void **state)
{
	sqlite3 *db = loaded(START "2000 100 page_add ino=77 dev=8 index=4 pages=2\n"
				   "2010 100 page_add ino=77 dev=8 index=6 pages=10\n"
				   "2020 100 page_get ino=77 dev=8 first=0 last=9\n"
				   "2100 100 syscall nr=read fd=5 dur=100 ret=40960\n"
				   "2200 100 page_get ino=77 dev=8 first=10 last=15\n"
				   "2300 100 syscall nr=read fd=5 dur=100 ret=24576\n"
				   "2400 100 page_add ino=77 dev=8 index=16 pages=4\n"
				   "2500 100 syscall nr=write fd=5 dur=100 ret=16384\n"
				   "2600 100 page_get ino=77 dev=8 first=16 last=19\n"
				   "2700 101 page_remove ino=77 dev=8 index=0 pages=3\n");

	(void)state;
	assert_true(holds(db, "SELECT lookups=3 AND pages=20 AND missed=6 AND added=16 AND "
			      "removed=3 FROM page_use"));
	db_close(db);
}

/* A long read looks up what is left of it again, and another thread's pages are not its misses. */
static void a_page_counts_once_a_call(void **state)
{
	sqlite3 *db = loaded(START "2000 100 page_get ino=77 dev=8 first=0 last=99\n"
				   "2010 101 page_add ino=77 dev=8 index=31 pages=1\n"
				   "2015 100 page_add ino=77 dev=8 index=40 pages=5\n"
				   "2020 100 page_get ino=77 dev=8 first=31 last=99\n"
				   "2030 100 page_get ino=78 dev=8 first=31 last=99\n"
				   "2100 100 syscall nr=read fd=5 dur=200 ret=409600\n"
				   "2200 100 page_get ino=77 dev=8 first=0 last=99\n");

	(void)state;
	assert_true(holds(db, "SELECT lookups=3 AND pages=200 AND missed=5 FROM page_use WHERE "
			      "ino=77"));
	assert_true(holds(db, "SELECT pages=69 AND missed=0 FROM page_use WHERE ino=78"));
	db_close(db);
}

/* Mapped from around; not there but in the cache; not in the cache. */
static void faults_hit_or_miss(void **state)
{
	sqlite3 *db = loaded(START "2000 100 page_get ino=77 dev=8 first=0 last=15 how=1\n"
				   "2100 100 page_get ino=77 dev=8 first=16 last=31 how=1\n"
				   "2110 100 page_get ino=77 dev=8 first=20 last=20 how=2\n"
				   "2120 100 page_add ino=77 dev=8 index=18 pages=8\n"
				   "2200 100 page_get ino=77 dev=8 first=90 last=90 how=2\n");

	(void)state;
	assert_true(holds(db, "SELECT faults=3 AND fault_misses=1 AND added=8 AND lookups=0 FROM "
			      "page_use"));
	db_close(db);
}

/* Submitted at 2000, completed in another thread at 2700; one fails; one is never completed. */
static void uring_requests_are_timed(void **state)
{
	sqlite3 *db = loaded(
		START
		"2000 100 uring_submit request=64 ring=7 user_data=1 opcode=22 ino=77 dev=8 "
		"mode=0100000\n"
		"2100 100 uring_submit request=128 ring=7 user_data=1 opcode=27 mode=0140000\n"
		"2700 101 uring_complete request=64 ring=7 user_data=1 ret=512\n"
		"2900 101 uring_complete request=128 ring=7 user_data=1 ret=-11\n"
		"3000 100 uring_submit request=64 ring=7 user_data=1 opcode=22 ino=77 dev=8 "
		"mode=0100000\n");

	(void)state;
	assert_true(holds(db, "SELECT count(*)=3 AND sum(ret IS NULL)=1 FROM uring_io"));
	assert_true(holds(db, "SELECT ts=1000 AND dur=700 AND tid=100 AND opcode=22 FROM uring_io "
			      "WHERE ret=512"));
	assert_true(holds(db, "SELECT n=1 AND unfinished=1 AND total=700 AND bytes=512 AND "
			      "sockets=0 FROM uring_stat WHERE opcode=22"));
	assert_true(holds(db, "SELECT n=1 AND errors=1 AND total=800 AND sockets=1 FROM uring_stat "
			      "WHERE opcode=27"));
	assert_true(holds(db, "SELECT reads=1 AND read_bytes=512 AND read_time=700 FROM file_use"));
	is_number(db, "SELECT total(n) FROM latency WHERE kind='uring'", 2);
	db_close(db);
}

/* Older kernels name requests by user_data alone; some requests complete twice, some from before.
 */
static void uring_requests_without_names(void **state)
{
	sqlite3 *db = loaded(START "2000 100 uring_submit ring=7 user_data=1 opcode=1\n"
				   "2100 100 uring_submit ring=7 user_data=2 opcode=1\n"
				   "2200 100 uring_complete ring=7 user_data=1 ret=5\n"
				   "2300 100 uring_complete request=640 ring=7 user_data=2 ret=5\n"
				   "3000 100 uring_submit request=64 ring=7 opcode=13\n"
				   "3100 100 uring_complete request=64 ring=7 ret=9\n"
				   "3200 100 uring_complete request=64 ring=7 ret=10\n"
				   "3300 100 uring_complete request=1024 ring=7 ret=77\n");

	(void)state;
	assert_true(holds(db, "SELECT group_concat(dur)='200,200' FROM uring_io WHERE opcode=1"));
	assert_true(holds(db, "SELECT n=2 AND timed=1 AND total=100 FROM uring_stat WHERE "
			      "opcode=13"));
	assert_true(holds(db, "SELECT dur IS NULL AND ts=2200 AND tid=100 FROM uring_io WHERE "
			      "ret=10"));
	assert_true(holds(db, "SELECT tid IS NULL AND opcode IS NULL FROM uring_io WHERE ret=77"));
	db_close(db);
}

/* A newer kernel's call has the name that the recording gives it; ours stay. */
static void names_come_from_the_recording(void **state)
{
	sqlite3 *db = loaded("@recorder\n800 0 info text=\"syscalls.0=0:wrong 900:new_call\"\n"
			     "801 7 doctor group=pagecache level=1 text=\"only misses\"\n"
			     "802 0 mount dev=8 text=\"ext4 /dev/sda1 /a mount\"\n" START
			     "2000 100 syscall nr=900 dur=1\n2100 100 syscall nr=read dur=1\n"
			     "2200 100 syscall nr=901 dur=1\n");

	(void)state;
	is_number(db, "SELECT nr FROM syscall_name WHERE name='new_call'", 900);
	is_number(db, "SELECT nr FROM syscall_name WHERE name='x86_64#901'", 901);
	is_number(db, "SELECT count(*) FROM syscall_name WHERE name='read'", 1);
	assert_true(holds(db, "SELECT grp='pagecache' AND level=1 AND why='only misses' FROM "
			      "doctor"));
	assert_true(holds(db, "SELECT type='ext4' AND source='/dev/sda1' AND target='/a mount' "
			      "FROM mount"));
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(opens_name_their_paths),
		T(changes_name_their_paths),
		T(reads_and_writes_are_summed_by_file),
		T(children_read_for_themselves),
		T(exits_report_usage),
		T(signals_have_a_sender),
		T(arguments_are_better_than_the_file),
		T(misses_are_what_the_reader_added),
		T(a_page_counts_once_a_call),
		T(faults_hit_or_miss),
		T(uring_requests_are_timed),
		T(uring_requests_without_names),
		T(names_come_from_the_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
