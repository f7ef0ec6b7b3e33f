// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/handoffs.c: a lock that is passed from waiter to waiter. */
#include "tests/lib/pausing.h"

#define ROOT_VALUE(what, name_) FINDING_VALUE("pause_root", name_, what)

/* 101 waits in a call from then until it is woken by a thread. */
static void waits(struct text *x, const char *call, long from, long to, int by)
{
	text_line(x, "%ld 101 switch next=0 state=1", from);
	text_line(x, "%ld %d waking target=101\n%ld 0 switch next=101", to, by, to + 1000);
	text_line(x, "%ld 101 syscall_args nr=%s arg0=4 ret=1 dur=%ld", to + 2000, call,
		  to - from + 3000);
}

/*
 * In a pause of 300 ms, 100 waits for a futex from a time on, and 101 ends that. Until idle, 101
 * waits in poll; then it waits for a futex, in a request or not, that 200 releases, which has a CPU
 * all the time.
 */
static sqlite3 *passed(long computes, long idle, long released, bool serves)
{
	struct text x = { 0 };
	long t, end;

	head(&x);
	many(&x, 100, 600, MS);
	t = x.t;
	end = t + 300 * MS;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	wakes(&x);
	text_line(&x, "%ld 100 switch next=0 state=1", t + computes + 10000);
	text_line(&x, "%ld 101 waking target=100\n%ld 0 switch next=100", end, end + 1000);
	text_line(&x, "%ld 100 syscall_args nr=futex arg0=4096 dur=%ld", end + 2000,
		  end - t - computes - 7000);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", end + 3000);
	x.t = end + 4000;
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", t - MS);
	waits(&x, "epoll_wait", t - MS + 5000, t + idle, 300);
	if (serves)
		text_line(&x, "%ld 101 syscall nr=read fd=6 ret=29 count=99 dur=200",
			  t + idle + 3000);
	waits(&x, "futex", t + idle + 5000, t + released, 200);
	if (serves)
		text_line(&x, "%ld 101 syscall nr=write fd=6 ret=9 count=9 dur=200", end + 5000);
	text_line(&x, "%ld 101 switch next=0 state=1", end + MS);
	text_line(&x, "@cpu 2\n%ld 0 switch next=200\n%ld 200 switch next=0 state=1", t - MS,
		  end + MS);
	text_line(&x, "@recorder\n9 300 thread pid=300 state=83 comm=\"other\"\n@cpu 0");
	return judged(&x);
}

static void who_released_a_lock_first_ends_the_chain(void **state)
{
	sqlite3 *db = passed(140 * MS, 200 * MS, 300 * MS - 9000, true);

	(void)state;
	is_number(db, CAUSE_VALUE("v.id", "waker"), 101);
	is_number(db, ROOT_VALUE("v.id", "end"), 200);
	is_text(db, ROOT_VALUE("v.text", "state"), "computing");
	db_close(db);
	/* 101 has no request: it waits for work, and most of the time in poll */
	db = passed(0, 200 * MS, 300 * MS - 9000, false);
	is_number(db, ROOT_VALUE("v.id", "end"), 300);
	db_close(db);
	/* 101 waits for a short time only: 100 waited for something else that it did */
	db = passed(0, 280 * MS, 300 * MS - 9000, true);
	is_number(db, ROOT_VALUE("v.id", "end"), 300);
	db_close(db);
	/* 100 begins to wait when 101 had got its own lock: it waits for what 101 computes */
	db = passed(100 * MS, -MS / 2, 50 * MS, true);
	is_number(db, ROOT_VALUE("count(*)", "end"), 0);
	is_text(db, CAUSE_VALUE("v.text", "did"), "computing");
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_released_a_lock_first_ends_the_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
