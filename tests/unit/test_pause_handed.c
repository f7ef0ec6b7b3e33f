// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_root.c: ends of wakeup chains that wait for a server, or to write.
 */
#include "tests/lib/pausing.h"

#define ROOT_VALUE(what, name_) FINDING_VALUE("pause_root", name_, what)

/* What 101 does when the thread in epoll wakes it. */
enum next { READS_ANSWER, READS_NOTHING, SLEEPS_FIRST };

static void wake_up(struct text *x, long at, int waker, int tid)
{
	text_line(x, "%ld %d waking target=%d context=%d\n%ld 0 switch next=%d", at, waker, tid,
		  !waker, at + 1000, tid);
}

/* 100 waits for 101, which asked fd 9 and waits for 102, which waits in epoll for its answer. */
static sqlite3 *handed(enum next next)
{
	struct text x = { 0 };
	long t, end;

	head(&x);
	text_line(&x, "@recorder\n7 102 thread pid=100 state=83 comm=\"server\"");
	text_line(&x, "25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=connected socktype=1"
		      " sport=33000 dport=6379 saddr=10.0.0.1 daddr=10.0.0.5\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	end = t + 299 * MS;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	sleeps(&x, "futex", -1, 101);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", t - MS);
	text_line(&x, "%ld 101 syscall nr=write fd=9 ret=40 count=40 dur=200", t - MS + 1000);
	text_line(&x, "%ld 101 switch next=0 state=1", t - MS + 2000);
	wake_up(&x, end, 102, 101);
	text_line(&x, "%ld 101 syscall_args nr=futex op=WAIT|PRIVATE dur=%ld ret=0", end + 2000,
		  300 * MS + 500);
	if (next == SLEEPS_FIRST) {
		text_line(&x, "%ld 101 switch next=0 state=1", end + 3000);
		wake_up(&x, end + 6000, 0, 101);
	}
	if (next != READS_NOTHING)
		text_line(&x, "%ld 101 syscall nr=read fd=9 ret=40 count=99 dur=200", end + 9000);
	text_line(&x, "%ld 101 switch next=0 state=1", t + 301 * MS);
	text_line(&x, "@cpu 2\n%ld 0 switch next=102\n%ld 102 switch next=0 state=1", t - MS,
		  t - MS + 1000);
	wake_up(&x, end - 20000, 0, 102);
	text_line(&x, "%ld 102 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld ret=1",
		  end - 18000, 300 * MS - 18500);
	text_line(&x, "%ld 102 switch next=0 state=1\n@cpu 0", end + 9000);
	return judged(&x);
}

static void an_end_in_poll_names_the_server_whose_answer_it_hands_on(void **state)
{
	sqlite3 *db = handed(READS_ANSWER);

	(void)state;
	is_number(db, ROOT_VALUE("v.id", "end"), 102);
	is_text(db, ROOT_VALUE("v.text", "upstream"), "10.0.0.5:6379");
	db_close(db);
	db = handed(READS_NOTHING);
	is_number(db, ROOT_VALUE("v.id", "end"), 102);
	is_number(db, ROOT_VALUE("count(v.text)", "upstream"), 0);
	db_close(db);
	db = handed(SLEEPS_FIRST);
	is_number(db, ROOT_VALUE("count(v.text)", "upstream"), 0);
	db_close(db);
}

/* 100 waits for 101, which is in a call on a pipe until its other end does something. */
static sqlite3 *piped(const char *call)
{
	struct text x = { 0 };
	long t;

	head(&x);
	text_line(&x, "@recorder\n25 100 fd pid=100 fd=9 mode=0010000 ino=9\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	sleeps(&x, "futex", -1, 101);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", t - MS);
	text_line(&x, "%ld 101 switch next=0 state=1", t - MS + 1000);
	wake_up(&x, t + 299 * MS, 999, 101);
	text_line(&x, "%ld 101 syscall nr=%s fd=9 ret=40 count=99 dur=%ld", t + 299 * MS + 2000,
		  call, 300 * MS + 1500);
	text_line(&x, "%ld 101 switch next=0 state=1\n@cpu 0", t + 301 * MS);
	return judged(&x);
}

static void an_end_at_a_pipe_reads_or_writes(void **state)
{
	sqlite3 *db = piped("write");

	(void)state;
	is_number(db, ROOT_VALUE("v.id", "end"), 101);
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting to write");
	is_text(db, ROOT_VALUE("v.text", "reader"), "a pipe");
	db_close(db);
	db = piped("read");
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting for a pipe");
	is_number(db, ROOT_VALUE("count(v.text)", "reader"), 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_end_in_poll_names_the_server_whose_answer_it_hands_on),
		T(an_end_at_a_pipe_reads_or_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
