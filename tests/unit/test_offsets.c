// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/io/track_offsets.c, file_gaps.c: access patterns, and content that readers pass.
 */
#include "tests/lib/unit.h"

#include "analyze/analyses/analysis.h"
#include "tests/lib/loaded.h"

/* 100 reads the log through fd 5, 200 writes it through fd 6, 300 reads as well. */
#define START                                                                       \
	"@recorder\n900 0 info text=\"targets=all\"\n"                              \
	"901 0 info text=\"groups=core,syscalls,files,offsets\"\n"                  \
	"902 0 clock monotonic=902 boottime=5000902 realtime=1700000000000000000\n" \
	"903 100 thread pid=100 parent=1 state=83 comm=\"shipper\"\n"               \
	"904 200 thread pid=200 parent=1 state=83 comm=\"app\"\n"                   \
	"905 300 thread pid=300 parent=1 state=83 comm=\"other\"\n"                 \
	"906 100 fd pid=100 fd=5 mode=0100000 ino=50 dev=8 path=\"/log/app\"\n"     \
	"907 200 fd pid=200 fd=6 mode=0100000 ino=50 dev=8 path=\"/log/app\"\n"     \
	"908 300 fd pid=300 fd=7 mode=0100000 ino=50 dev=8 path=\"/log/app\"\n"     \
	"1000 0 info text=\"begin=1000\"\n900000 0 info text=\"stopped=900000\"\n@cpu 0\n"

#define LOG	"dev=8 ino=50 generation=1 "
#define RENEWED "dev=8 ino=50 generation=2 " /* the inode number is used again */
#define READ	"file_io fd=5 nr=read "
#define OTHER	"file_io fd=7 nr=read "
#define APPEND	"file_io fd=6 nr=write flags=3 "
#define WRITE	"file_io fd=6 nr=write flags=1 "

#define ACCESS(pid, what) "SELECT " what " FROM file_access WHERE pid=" #pid
#define GAPS		  "SELECT count(*) FROM file_gap"

static void positions_are_rows(void **state)
{
	sqlite3 *db = loaded(START "2000 100 " READ LOG "pos=30 bytes=10 count=64 size=40\n"
				   "2100 100 " READ LOG "pos=0 bytes=4 size=40 flags=4\n"
				   "2200 100 " READ LOG "pos=-1 bytes=4 size=-1\n");

	(void)state;
	is_number(db, "SELECT pos FROM file_io WHERE ts=1000", 30);
	is_number(db, "SELECT count(*) FROM file_io WHERE pos IS NULL", 2);
	is_number(db, ACCESS(100, "reads"), 1);
	is_number(db, ACCESS(100, "unknown"), 2);
	is_text(db, "SELECT p.path FROM inode i JOIN file_path p ON p.id=i.path", "/log/app");
	db_close(db);
}

/* Sequential; then in steps of 100; then to and fro. The first access has no pattern. */
static void patterns_are_counted(void **state)
{
	sqlite3 *db = loaded(START "2000 100 " READ LOG "pos=0 bytes=10 size=4000\n"
				   "2001 100 " READ LOG "pos=10 bytes=10 size=4000\n"
				   "2002 100 " READ LOG "pos=20 bytes=10 size=4000\n"
				   "2003 100 " READ LOG "pos=120 bytes=10 size=4000\n"
				   "2004 100 " READ LOG "pos=220 bytes=10 size=4000\n"
				   "2005 100 " READ LOG "pos=320 bytes=10 size=4000\n"
				   "2006 100 " READ LOG "pos=5 bytes=10 size=4000\n"
				   "2007 100 " READ LOG "pos=1005 bytes=10 size=4000\n"
				   "2008 100 " READ LOG "pos=4000 bytes=0 size=4000\n");

	(void)state;
	is_number(db, ACCESS(100, "read_sequential"), 2);
	is_number(db, ACCESS(100, "read_strided"), 2);
	is_number(db, ACCESS(100, "read_random"), 3);
	is_number(db, ACCESS(100, "read_at_end"), 1);
	is_number(db, ACCESS(100, "read_past_end"), 0);
	db_close(db);
}

/* Two readers, each sequential: together they would look random. */
static void readers_have_their_own_positions(void **state)
{
	sqlite3 *db = loaded(START "2000 100 " READ LOG "pos=0 bytes=10 size=40\n"
				   "2001 300 " OTHER LOG "pos=0 bytes=20 size=40\n"
				   "2002 100 " READ LOG "pos=10 bytes=10 size=40\n"
				   "2003 300 " OTHER LOG "pos=20 bytes=20 size=40\n");

	(void)state;
	is_number(db, ACCESS(100, "read_sequential"), 1);
	is_number(db, ACCESS(300, "read_sequential"), 1);
	is_number(db, "SELECT sum(read_random) FROM file_access", 0);
	is_number(db, GAPS, 0);
	db_close(db);
}

/* An append, an overwrite of which 5 bytes lie within the file, a hole. */
static void writes_append_overwrite_and_leave_holes(void **state)
{
	sqlite3 *db = loaded(START "2000 200 " APPEND LOG "pos=0 bytes=10 size=10\n"
				   "2001 200 " WRITE LOG "pos=10 bytes=10 size=20\n"
				   "2002 200 " WRITE LOG "pos=15 bytes=10 size=25\n"
				   "2003 200 " WRITE LOG "pos=100 bytes=10 size=110\n");

	(void)state;
	is_number(db, ACCESS(200, "appends"), 2);
	is_number(db, ACCESS(200, "append_bytes"), 20);
	is_number(db, ACCESS(200, "overwrites"), 1);
	is_number(db, ACCESS(200, "overwrite_bytes"), 5);
	is_number(db, ACCESS(200, "holes"), 1);
	is_number(db, GAPS, 0); /* a sparse file: nothing was truncated */
	db_close(db);
}

/* DIO's case: the log is removed, a new one has its inode number, the shipper goes on at 26. */
static void replaced_log_is_skipped(void **state)
{
	sqlite3 *db = loaded(
		START "2000 200 " APPEND LOG "pos=0 bytes=26 size=26\n"
		      "2100 100 " READ LOG "pos=0 bytes=26 size=26\n"
		      "2200 100 " READ LOG "pos=26 bytes=0 size=26\n"
		      "2300 100 syscall nr=close fd=5\n2301 200 syscall nr=close fd=6\n"
		      "2400 200 fd pid=200 fd=6 mode=0100000 ino=50 dev=8 path=\"/log/app\"\n"
		      "2500 200 " APPEND RENEWED "pos=0 bytes=16 size=16\n"
		      "2600 100 fd pid=100 fd=5 mode=0100000 ino=50 dev=8 path=\"/log/app\"\n"
		      "2700 100 " READ RENEWED "pos=26 bytes=0 size=16\n"
		      "2800 100 " READ RENEWED "pos=26 bytes=0 size=16\n");

	(void)state;
	is_number(db, GAPS, 1);
	is_text(db, "SELECT how FROM file_gap", "replaced");
	is_number(db, "SELECT pos FROM file_gap", 26);
	is_number(db, "SELECT skipped FROM file_gap", 16);
	is_number(db, "SELECT reads FROM file_gap", 2);
	is_number(db, "SELECT changer FROM file_gap", 200);
	is_null(db, "SELECT \"end\" FROM file_gap");
	is_number(db, "SELECT count(*) FROM inode", 2);
	is_number(db, ACCESS(100, "sum(read_past_end)"), 2);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='file_passed' AND severity=1", 0);
	analysed(db, "offsets");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='file_passed' AND severity=1", 1);
	is_number(db, "SELECT number FROM finding_value WHERE name='skipped'", 16);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='offsets_of_some'", 0);
	analysed(db, "files");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='files_passed'", 1);
	db_close(db);
}

/* The new log grows past the old position before the next read: no read is past the end. */
static void replaced_log_that_has_grown_is_skipped(void **state)
{
	sqlite3 *db = loaded(
		START "2000 200 " APPEND LOG "pos=0 bytes=26 size=26\n"
		      "2100 100 " READ LOG "pos=0 bytes=26 size=26\n"
		      "2300 100 syscall nr=close fd=5\n"
		      "2500 200 " APPEND RENEWED "pos=0 bytes=40 size=40\n"
		      "2600 100 fd pid=100 fd=5 mode=0100000 ino=50 dev=8 path=\"/log/app\"\n"
		      "2700 100 " READ RENEWED "pos=26 bytes=14 size=40\n");

	(void)state;
	is_number(db, "SELECT skipped FROM file_gap WHERE how='replaced'", 26);
	is_number(db, ACCESS(100, "sum(read_past_end)"), 0);
	db_close(db);
}

/* Rotated as it should be: the rest of the old log is read, then the new one from its start. */
static void rotation_is_no_gap(void **state)
{
	sqlite3 *db = loaded(
		START "2000 200 " APPEND LOG "pos=0 bytes=26 size=26\n"
		      "2100 100 " READ LOG "pos=0 bytes=20 size=26\n"
		      "2150 100 file_change dir=-100 nr=rename path=\"/log/app\"\n"
		      "2150 100 file_change dir=-100 nr=rename which=1 path=\"/log/app.1\"\n"
		      "2200 100 " READ LOG "pos=20 bytes=6 size=26\n"
		      "2300 100 syscall nr=close fd=5\n2301 200 syscall nr=close fd=6\n"
		      "2400 200 fd pid=200 fd=6 mode=0100000 ino=51 dev=8 path=\"/log/app\"\n"
		      "2500 200 file_io fd=6 nr=write flags=3 dev=8 ino=51 bytes=16 size=16\n"
		      "2600 100 fd pid=100 fd=5 mode=0100000 ino=51 dev=8 path=\"/log/app\"\n"
		      "2700 100 file_io fd=5 nr=read dev=8 ino=51 pos=0 bytes=16 size=16\n");

	(void)state;
	is_number(db, GAPS, 0);
	analysed(db, "files");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='files_passed'", 0);
	db_close(db);
}

/* Of what others truncate, a recording of some processes has nothing. */
static void a_recording_of_some_has_the_limit(void **state)
{
	sqlite3 *db = loaded("@recorder\n900 0 info text=\"targets=100\"\n"
			     "901 0 info text=\"groups=core,syscalls,files,offsets\"\n"
			     "1000 0 info text=\"begin=1000\"\n@cpu 0\n"
			     "2100 100 " READ LOG "pos=0 bytes=26 size=26\n");

	(void)state;
	analysed(db, "offsets");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='offsets_of_some'", 1);
	db_close(db);
}

/* copytruncate: the reader goes on at its old position, in what has been written since. */
static void truncated_log_is_skipped(void **state)
{
	sqlite3 *db = loaded(START "2000 200 " APPEND LOG "pos=0 bytes=100 size=100\n"
				   "2100 100 " READ LOG "pos=0 bytes=100 size=100\n"
				   "2200 200 " APPEND LOG "pos=100 bytes=7 size=107\n"
				   "2300 200 file_change dir=6 nr=ftruncate size=0 dur=10\n"
				   "2400 200 " APPEND LOG "pos=0 bytes=30 size=30\n"
				   "2500 100 " READ LOG "pos=100 bytes=0 size=30\n"
				   "2600 200 " APPEND LOG "pos=30 bytes=90 size=120\n"
				   "2700 100 " READ LOG "pos=100 bytes=20 size=120\n");

	(void)state;
	is_number(db, GAPS, 1);
	is_text(db, "SELECT how FROM file_gap", "truncated");
	is_number(db, "SELECT skipped FROM file_gap", 100);
	is_number(db, "SELECT unread FROM file_gap", 7);
	is_number(db, "SELECT changer FROM file_gap", 200);
	is_number(db, "SELECT size FROM file_gap", 30);
	is_number(db, ACCESS(200, "holes"), 0);
	db_close(db);
}

/* tail -F: it notices the truncation and starts again; nothing was lost. */
static void reader_that_starts_again_passes_nothing(void **state)
{
	sqlite3 *db = loaded(START "2000 200 " APPEND LOG "pos=0 bytes=100 size=100\n"
				   "2100 100 " READ LOG "pos=0 bytes=100 size=100\n"
				   "2300 200 file_change dir=6 nr=ftruncate size=0 dur=10\n"
				   "2400 200 " APPEND LOG "pos=0 bytes=30 size=30\n"
				   "2500 100 " READ LOG "pos=0 bytes=30 size=30\n");

	(void)state;
	is_number(db, GAPS, 0);
	db_close(db);
}

/* It starts again, but 7 bytes were cut off before it had read them. */
static void unread_content_is_lost(void **state)
{
	sqlite3 *db = loaded(START "2000 200 " APPEND LOG "pos=0 bytes=100 size=100\n"
				   "2100 100 " READ LOG "pos=0 bytes=100 size=100\n"
				   "2200 200 " APPEND LOG "pos=100 bytes=7 size=107\n"
				   "2400 200 " APPEND LOG "pos=0 bytes=30 size=30\n"
				   "2500 100 " READ LOG "pos=0 bytes=30 size=30\n");

	(void)state;
	is_number(db, GAPS, 1);
	is_number(db, "SELECT unread FROM file_gap WHERE skipped=0 AND \"end\" IS NOT NULL", 7);
	is_null(db, "SELECT changer FROM file_gap"); /* by a call that was not recorded */
	analysed(db, "offsets");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='file_unread'", 1);
	is_number(db, "SELECT count(*) FROM finding WHERE kind='file_passed'", 0);
	db_close(db);
}

/* Sizes of two threads, the earlier record with the later sample: nothing was truncated. */
static void late_sample_is_no_truncation(void **state)
{
	sqlite3 *db = loaded(START "2000 200 " WRITE LOG "pos=0 bytes=100 size=100\n"
				   "2100 100 " READ LOG "pos=0 bytes=200 size=400\n"
				   "2110 200 " WRITE LOG "pos=100 bytes=100 size=200\n"
				   "2120 200 " WRITE LOG "pos=200 bytes=200 size=400\n"
				   "2200 100 " READ LOG "pos=200 bytes=200 size=400\n");

	(void)state;
	is_number(db, GAPS, 0);
	is_number(db, ACCESS(200, "overwrites + holes"), 0);
	db_close(db);
}

/* The same sizes, with a later call of the thread that showed the first: the file was truncated. */
static void smaller_size_is_a_truncation(void **state)
{
	sqlite3 *db = loaded(START "2000 200 " WRITE LOG "pos=0 bytes=100 size=100\n"
				   "2100 100 " READ LOG "pos=0 bytes=200 size=400\n"
				   "2105 100 syscall nr=getpid\n"
				   "2110 300 " OTHER LOG "pos=0 bytes=100 size=100\n"
				   "2200 100 " READ LOG "pos=200 bytes=0 size=100\n"
				   "2300 300 " OTHER LOG "pos=100 bytes=300 size=400\n");

	(void)state;
	is_number(db, "SELECT unread FROM file_gap WHERE how='truncated' AND pos=200", 200);
	is_number(db, GAPS, 1);
	db_close(db);
}

/* Of a file that stays longer, a write within it says nothing of what was cut. */
static void write_within_a_truncated_file(void **state)
{
	sqlite3 *db = loaded(START "2000 200 " WRITE LOG "pos=0 bytes=1000 size=1000\n"
				   "2100 100 " READ LOG "pos=0 bytes=500 size=1000\n"
				   "2200 200 " WRITE LOG "pos=100 bytes=10 size=800\n"
				   "2300 100 " READ LOG "pos=500 bytes=300 size=800\n");

	(void)state;
	is_number(db, GAPS, 0);
	is_number(db, ACCESS(200, "overwrites"), 1);
	db_close(db);
}

/* A state file that is written again and again is read from its start each time. */
static void rewritten_file_is_no_gap(void **state)
{
	sqlite3 *db = loaded(START "2000 200 " WRITE LOG "pos=0 bytes=50 size=50\n"
				   "2100 100 " READ LOG "pos=0 bytes=50 size=50\n"
				   "2200 200 " WRITE LOG "pos=0 bytes=40 size=40\n"
				   "2300 200 " WRITE LOG "pos=40 bytes=20 size=60\n"
				   "2400 200 " WRITE LOG "pos=0 bytes=45 size=45\n"
				   "2500 100 " READ LOG "pos=0 bytes=45 size=45\n");

	(void)state;
	is_number(db, GAPS, 0);
	db_close(db);
}

/* Positions that a program gives, and those of a process that writes the file, are its own affair.
 */
static void given_positions_are_not_judged(void **state)
{
	sqlite3 *db =
		loaded(START "2000 200 " WRITE LOG "pos=0 bytes=100 size=100\n"
			     "2100 100 file_io fd=5 nr=pread64 flags=8 " LOG "bytes=100 size=100\n"
			     "2110 200 file_io fd=6 nr=read " LOG "bytes=100 size=100\n"
			     "2200 200 file_change dir=6 nr=ftruncate size=10 dur=10\n"
			     "2300 100 file_io fd=5 nr=pread64 flags=8 " LOG "pos=100 size=10\n"
			     "2400 200 file_io fd=6 nr=read " LOG "pos=100 size=10\n");

	(void)state;
	is_number(db, GAPS, 0);
	is_number(db, "SELECT sum(read_past_end) FROM file_access", 2);
	db_close(db);
}

/* copytruncate of a log that is not written with O_APPEND: the writer goes on, after zeros. */
static void writer_leaves_zeros(void **state)
{
	sqlite3 *db = loaded(START "2000 200 " WRITE LOG "pos=0 bytes=100 size=100\n"
				   "2200 200 file_change dir=6 nr=ftruncate size=0 dur=10\n"
				   "2300 200 " WRITE LOG "pos=100 bytes=10 size=110\n"
				   "2400 200 " WRITE LOG "pos=110 bytes=10 size=120\n");

	(void)state;
	is_number(db, GAPS, 1);
	is_number(db, "SELECT skipped FROM file_gap WHERE how='hole'", 100);
	is_number(db, ACCESS(200, "holes"), 1);
	db_close(db);
}

/* Files of /proc have no size: a read that returns nothing is their end, not past it. */
static void files_without_size_have_no_end(void **state)
{
	sqlite3 *db = loaded(START "2000 100 " READ LOG "pos=0 bytes=300 size=0\n"
				   "2100 100 " READ LOG "pos=300 bytes=0 size=0\n"
				   "2200 100 " READ LOG "pos=0 bytes=310 size=0\n");

	(void)state;
	is_number(db, ACCESS(100, "read_past_end"), 0);
	is_number(db, ACCESS(100, "read_at_end"), 1);
	is_number(db, GAPS, 0);
	db_close(db);
}

#define SHARED	    "SELECT count(*) FROM finding WHERE kind='files_shared'"
#define SHARED_FILE "SELECT text FROM finding_value WHERE name='file'"

/* One process writes, another reads: said once, with how many do what. Two that only read share
 * nothing. */
static void file_of_a_writer_and_others_is_shared(void **state)
{
	sqlite3 *db =
		loaded(START "2000 200 " APPEND LOG "pos=0 bytes=26 size=26\n"
			     "2100 100 " READ LOG "pos=0 bytes=26 size=26\n"
			     "2200 300 " OTHER LOG "pos=0 bytes=26 size=26\n"
			     "2300 100 file_io fd=8 nr=read dev=8 ino=60 pos=0 bytes=9 size=9\n"
			     "2400 300 file_io fd=9 nr=read dev=8 ino=60 pos=0 bytes=9 size=9\n");

	(void)state;
	analysed(db, "offsets");
	is_number(db, SHARED, 1);
	is_number(db, "SELECT number FROM finding_value WHERE name='n'", 1);
	is_text(db, SHARED_FILE, "/log/app (2 read, 1 wrote)");
	analysed(db, "files");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='files_of_several'", 1);
	db_close(db);
}

/* Threads of one process, and a process with two open files, are no others. */
static void file_of_one_process_is_not_shared(void **state)
{
	sqlite3 *db = loaded(START "1500 201 thread pid=200 parent=1 state=83 comm=\"app\"\n"
				   "2000 200 " APPEND LOG "pos=0 bytes=26 size=26\n"
				   "2100 201 " READ LOG "pos=0 bytes=26 size=26\n"
				   "2200 200 file_io fd=8 nr=read " LOG "pos=0 bytes=26 size=26\n");

	(void)state;
	analysed(db, "offsets");
	is_number(db, SHARED, 0);
	db_close(db);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(positions_are_rows),
		T(patterns_are_counted),
		T(readers_have_their_own_positions),
		T(writes_append_overwrite_and_leave_holes),
		T(replaced_log_is_skipped),
		T(replaced_log_that_has_grown_is_skipped),
		T(rotation_is_no_gap),
		T(a_recording_of_some_has_the_limit),
		T(truncated_log_is_skipped),
		T(reader_that_starts_again_passes_nothing),
		T(unread_content_is_lost),
		T(late_sample_is_no_truncation),
		T(smaller_size_is_a_truncation),
		T(write_within_a_truncated_file),
		T(rewritten_file_is_no_gap),
		T(given_positions_are_not_judged),
		T(writer_leaves_zeros),
		T(files_without_size_have_no_end),
		T(file_of_a_writer_and_others_is_shared),
		T(file_of_one_process_is_not_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
