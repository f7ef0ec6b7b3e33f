// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_root.c: which pause has the chain that is said, and its upstream.
 */
#include "tests/lib/pausing.h"

#define ROOT_VALUE(what, name_) FINDING_VALUE("pause_root", name_, what)

/* A pause of 0.3 s in which the thread sleeps until a timer. */
static void timed(struct text *x)
{
	long ns = 300 * MS;

	text_line(x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x->t);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 5000);
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t + ns,
		  x->t + ns + 1000);
	text_line(x, "%ld 100 syscall_args nr=clock_nanosleep ret=0 dur=%ld", x->t + ns + 2000,
		  ns - 1000);
	text_line(x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x->t + ns + 3000);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + ns + 4000);
	x->t += ns + 5000;
}

/* 101 waits in a call on a connection of its own until it wakes 100: for whom is said. */
static void the_end_of_a_chain_names_its_upstream_beside(bool longer)
{
	struct text x = { 0 };
	sqlite3 *db;
	long t;

	head(&x);
	text_line(&x, "@recorder\n25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=connected"
		      " socktype=1 sport=33000 dport=6379 saddr=10.0.0.1 daddr=10.0.0.5\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	sleeps(&x, "futex", -1, 101);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", t - MS);
	text_line(&x, "%ld 101 switch next=0 state=1", t - MS + 1000);
	text_line(&x, "%ld 0 waking target=101 context=1\n%ld 0 switch next=101", t + 299 * MS,
		  t + 299 * MS + 1000);
	text_line(&x, "%ld 101 syscall nr=recvfrom fd=9 ret=40 count=99 dur=%ld",
		  t + 299 * MS + 2000, 300 * MS + 1500);
	text_line(&x, "%ld 101 switch next=0 state=1\n@cpu 0", t + 301 * MS);
	if (longer) {
		many(&x, 100, 600, MS);
		text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
		sleeps(&x, "futex", -1, 101);
		text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
		many(&x, 100, 600, MS);
		timed(&x);
	}
	db = judged(&x);
	if (!longer)
		is_number(db, CAUSE_VALUE("v.id", "waker"), 101);
	is_number(db, ROOT_VALUE("v.id", "end"), 101);
	is_text(db, ROOT_VALUE("v.text", "upstream"), "10.0.0.5:6379");
	is_number(db, CAUSE_VALUE("count(v.text)", "upstream"), 0);
	db_close(db);
}

static void the_end_of_a_chain_names_its_upstream(void **state)
{
	(void)state;
	the_end_of_a_chain_names_its_upstream_beside(false);
	/* in most of the pauses it waits for the futex, in the longest for something else */
	the_end_of_a_chain_names_its_upstream_beside(true);
}

static void asks(struct text *x, const char *call)
{
	text_line(x, "%ld 100 datagram daddr=10.0.0.7 family=2 dport=53", x->t);
	text_line(x, "%ld 100 syscall nr=%s fd=11 ret=30 dur=10", x->t, call);
	x->t += 20;
}

/* In poll, after a question on a socket that asks several: whose answer is missing. */
static sqlite3 *in_poll_after(bool answered_before)
{
	struct text x = { 0 };

	head(&x);
	text_line(&x, "@recorder\n25 100 fd pid=100 fd=11 mode=0140000 ino=11 family=2 role=4"
		      " socktype=2 sport=40000\n@cpu 0");
	if (answered_before) {
		asks(&x, "sendto");
		asks(&x, "recvfrom");
	}
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
	x.t += 300;
	asks(&x, "sendto");
	sleeps(&x, "epoll_wait", -1, 0);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	return judged(&x);
}

static void a_pause_names_who_answers_no_datagrams(void **state)
{
	sqlite3 *db = in_poll_after(true);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "upstream"), "10.0.0.7:53");
	db_close(db);
	/* it never answers, as one that takes logs */
	db = in_poll_after(false);
	is_number(db, CAUSE_VALUE("count(v.text)", "upstream"), 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_end_of_a_chain_names_its_upstream),
		T(a_pause_names_who_answers_no_datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
