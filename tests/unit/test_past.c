// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/tasks/past.c: what a thread did while a request waited to be read. */
#include "tests/lib/unit.h"

#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/server_start.h"

#define SERVED                                                                                   \
	"906 100 fd pid=100 fd=8 mode=0140000 ino=79 family=2 role=2 sport=80 saddr=127.0.0.1\n" \
	"@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n"                             \
	"2000 100 syscall nr=read fd=5 dur=100 ret=10\n"                                         \
	"2500 100 syscall nr=write fd=5 dur=100 ret=20\n"                                        \
	"3000 100 switch next=0 state=1\n10000 0 waking target=100 context=1\n"                  \
	"13000 0 switch next=100\n"

/*
 * 40 sleeps and answers, then a request that arrives and waits 9 us for a CPU: its wait is that in
 * the run queue, although many older intervals of the thread are known.
 */
static void a_wait_before_the_read_is_found_after_many_others(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	assert_int_equal(buf_printf(&text, &e, "%s%s", START, SERVED), 0);
	for (i = 0; i < 40; i++)
		assert_int_equal(
			buf_printf(
				&text, &e,
				"%d 100 switch next=0 state=1\n%d 0 waking target=100 context=1\n"
				"%d 0 switch next=100\n"
				"%d 100 syscall_args nr=epoll_wait arg0=4 dur=30 ret=1\n"
				"%d 100 syscall nr=read fd=5 dur=5 ret=10\n"
				"%d 100 syscall nr=write fd=5 dur=5 ret=20\n",
				14000 + 100 * i, 14020 + 100 * i, 14021 + 100 * i, 14030 + 100 * i,
				14040 + 100 * i, 14060 + 100 * i),
			0);
	assert_int_equal(
		buf_printf(&text, &e,
			   "20000 100 switch next=0 state=1\n"
			   "20500 0 connection sock=7 ino=77 conn=1 family=2 sport=80 side=1\n"
			   "20501 0 segment conn=1 pos=0 len=10\n"
			   "21000 0 waking target=100 context=1\n30000 0 switch next=100\n"
			   "30100 100 syscall_args nr=epoll_wait arg0=4 dur=15000 ret=1\n"
			   "30200 100 syscall nr=read fd=5 dur=5 ret=10\n"
			   "30300 100 syscall nr=write fd=5 dur=5 ret=20\n"
			   "30400 100 switch next=0 state=1\n"),
		0);
	db = loaded(text.data);
	is_number(db, "SELECT dur FROM request_queue WHERE request=42 AND state=1", 9000);
	buf_free(&text);
	db_close(db);
}

/* A request that waits while its thread serves another one, and is preempted 1000 times by then. */
static void a_long_wait_is_known_whole(void **state)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	sqlite3 *db;
	int i;

	(void)state;
	assert_int_equal(buf_printf(&text, &e, "%s%s", START, SERVED), 0);
	buf_printf(&text, &e,
		   "14000 0 connection sock=7 ino=77 conn=1 family=2 sport=80 side=1\n"
		   "14001 0 segment conn=1 pos=0 len=10\n");
	for (i = 0; i < 1000; i++)
		buf_printf(&text, &e,
			   "%d 100 switch next=200 prio=120 state=0 flags=1\n"
			   "%d 200 switch next=100 prio=120 state=1\n",
			   15000 + 100 * i, 15040 + 100 * i);
	assert_int_equal(buf_printf(&text, &e,
				    "120000 100 syscall nr=read fd=5 dur=5 ret=10\n"
				    "120100 100 syscall nr=write fd=5 dur=5 ret=20\n"
				    "120200 100 switch next=0 state=1\n"),
			 0);
	db = loaded(text.data);
	is_number(db, "SELECT dur FROM request_queue WHERE state=2 ORDER BY 1 DESC LIMIT 1", 40000);
	is_number(db, "SELECT count(*) FROM request_queue WHERE state=14", 0);
	buf_free(&text);
	db_close(db);
}

#define READ_BY_100                                                  \
	"@cpu 0\n1500 0 waking target=100\n1500 0 switch next=100\n" \
	"2000 100 syscall nr=read fd=5 dur=100 ret=10\n"

static s64 in_state(sqlite3 *db, const char *state)
{
	char sql[200];

	snprintf(
		sql, sizeof(sql),
		"SELECT total(dur) FROM request_wait WHERE request=(SELECT max(rowid) FROM request) AND state="
		"(SELECT id FROM state WHERE name='%s')",
		state);
	return asked(db, sql);
}

/* A thread per request: it is made at 3000, waits 500 for a CPU and computes. */
static void a_thread_is_known_from_its_first_moment_on(void **state)
{
	sqlite3 *db = loaded(START READ_BY_100 "3000 100 fork child=102 child_pid=100\n"
					       "@cpu 1\n3500 0 switch next=102\n"
					       "9000 102 syscall nr=write fd=5 dur=100 ret=10\n");

	(void)state;
	is_number(db, "SELECT tid FROM request", 102);
	assert_int_equal(in_state(db, "unknown"), 1000);
	assert_int_equal(in_state(db, "woken"), 500);
	is_number(db, "SELECT total(dur) FROM request_wait", 1500);
	db_close(db);
}

/* It is on a CPU since before the request was read; or not on one, at the first sight of it. */
static void a_thread_that_runs_all_the_time_is_known(void **state)
{
	sqlite3 *db = loaded(START "@cpu 1\n1100 0 switch next=101\n" READ_BY_100
				   "@cpu 1\n9000 101 syscall nr=write fd=5 dur=100 ret=10\n");

	(void)state;
	is_number(db, "SELECT total(dur) FROM request_wait", 0);
	db_close(db);
	db = loaded(START READ_BY_100 "@cpu 1\n3000 0 waking target=101\n3000 0 switch next=101\n"
				      "9000 101 syscall nr=write fd=5 dur=100 ret=10\n");
	is_number(db, "SELECT total(dur) FROM request_wait", 1000);
	assert_int_equal(in_state(db, "unknown"), 0);
	db_close(db);
}

/*
 * 100 reads at 2000. 101 is preempted n times for 40 ns, once per 100 ns from 3000 on, then it
 * answers. serves: it has answered a request of its own before.
 */
static sqlite3 *preempted(int n, bool serves)
{
	static const char head[] =
		"@recorder\n900 0 info text=\"targets=all\"\n"
		"901 0 info text=\"groups=core,syscalls,sched,requests\"\n"
		"902 100 thread pid=100 state=83 comm=\"server\"\n"
		"903 101 thread pid=100 state=83 comm=\"worker\"\n"
		"904 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 sport=80 saddr=127.0.0.1\n"
		"905 100 fd pid=100 fd=8 mode=0140000 ino=79 family=2 role=2 sport=80 saddr=127.0.0.1\n"
		"1000 0 info text=\"begin=1000\"\n90000 0 info text=\"stopped=90000\"\n";
	struct buf text = { 0 };
	struct err e = { 0 };
	int i;

	buf_printf(&text, &e, "%s@cpu 1\n1100 0 switch next=101\n", head);
	if (serves)
		buf_printf(&text, &e,
			   "1200 101 syscall nr=read fd=8 dur=1 ret=10\n"
			   "1300 101 syscall nr=write fd=8 dur=1 ret=10\n");
	buf_printf(&text, &e, "%s@cpu 1\n", READ_BY_100);
	for (i = 0; i < n; i++)
		buf_printf(&text, &e,
			   "%d 101 switch next=200 prio=120 state=0 flags=1\n"
			   "%d 200 switch next=101 prio=120 state=1\n",
			   3000 + 100 * i, 3040 + 100 * i);
	buf_printf(&text, &e, "%d 101 syscall nr=write fd=5 dur=5 ret=20\n", 3000 + 100 * n);
	return loaded_buf(&text);
}

#define WAIT_OF_IT "SELECT wait FROM request_stat"
#define KNOWN_OF   "SELECT split FROM request_stat"

/* Unknown time is no time off the CPU, and what is mostly unknown has none that is known. */
static void unknown_time_is_no_time_off_the_cpu(void **state)
{
	sqlite3 *db = preempted(100, false);

	(void)state;
	is_within(
		db,
		"SELECT dur FROM request_wait WHERE state=(SELECT id FROM state WHERE name='unknown')",
		4500, 4700);
	is_number(db, WAIT_OF_IT, 64 * 40);
	is_number(db, KNOWN_OF, 1);
	db_close(db);
	db = preempted(200, false);
	assert_true(in_state(db, "unknown") > 10000);
	is_number(db, WAIT_OF_IT, 0);
	is_number(db, KNOWN_OF, 0);
	db_close(db);
	/* of a thread that serves itself, more is kept */
	db = preempted(200, true);
	assert_int_equal(in_state(db, "unknown"), 0);
	is_number(db, WAIT_OF_IT, 200 * 40);
	is_number(db, KNOWN_OF, 2);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_wait_before_the_read_is_found_after_many_others),
		T(a_long_wait_is_known_whole),
		T(a_thread_is_known_from_its_first_moment_on),
		T(a_thread_that_runs_all_the_time_is_known),
		T(unknown_time_is_no_time_off_the_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
