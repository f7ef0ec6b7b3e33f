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

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_wait_before_the_read_is_found_after_many_others),
		T(a_long_wait_is_known_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
