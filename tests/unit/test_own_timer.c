// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/verdict/verdict_timer.c: requests that their server delays itself. */
#include "tests/lib/unit.h"

#include "tests/lib/judging.h"

/* What happens while a request is in the server. */
enum during {
	ITS_TIMER,	  /* poll ends by its timeout, then the answer is sent */
	SOME_CALL_NEWS,	  /* poll ends by its timeout, the next one finds news at once */
	A_THREAD,	  /* a thread ends the wait */
	AN_UPSTREAM,	  /* the timeout ends while an upstream has a question */
	ASKED_IN_VAIN,	  /* and its socket is closed then: its time is over */
	ASKED_AFTERWARDS, /* the upstream is asked when the timer has ended */
	MIXED		  /* one in four as A_THREAD, the others as ITS_TIMER */
};

#define UPSTREAM                                                                       \
	"fd pid=100 fd=20 mode=0140000 ino=1020 family=2 role=3 socktype=1 sport=5000" \
	" dport=6379 saddr=127.0.0.1 daddr=127.0.0.1"

static void ask(struct text *x, long ts)
{
	text_line(x, "%ld 100 syscall nr=write fd=20 dur=200 ret=20", ts);
}

static void receive(struct text *x, long ts)
{
	text_line(x, "%ld 100 syscall nr=read fd=20 dur=200 ret=30", ts);
}

static void delayed(struct text *x, int fd, long delay, enum during what)
{
	long end;

	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
		  x->t + 2000);
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 3000, fd);
	if (what == ASKED_IN_VAIN)
		text_line(x, "%ld 100 " UPSTREAM, x->t + 3300);
	if (what == AN_UPSTREAM || what == ASKED_IN_VAIN)
		ask(x, x->t + 3500);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 4000);
	end = x->t + 4000 + delay;
	text_line(x, "%ld %d waking target=100 context=%d\n%ld 0 switch next=100", end,
		  what == A_THREAD ? 101 : 0, what == A_THREAD ? 0 : 2, end + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=%ld dur=%ld ret=%d",
		  end + 2000, delay / MS, delay + 2500, what == A_THREAD);
	if (what == SOME_CALL_NEWS)
		text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=200 ret=1",
			  end + 2500);
	if (what == ASKED_AFTERWARDS) {
		ask(x, end + 3000);
		text_line(x, "%ld 100 switch next=0 state=1", end + 3500);
		end += 100000;
		text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", end,
			  end + 500);
		text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=96800 ret=1",
			  end + 1000);
	}
	if (what == AN_UPSTREAM || what == ASKED_AFTERWARDS)
		receive(x, end + 3000);
	if (what == ASKED_IN_VAIN)
		text_line(x, "%ld 100 syscall nr=close fd=20 dur=200", end + 3000);
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", end + 4000, fd);
	text_line(x, "%ld 100 switch next=0 state=1", end + 5000);
	x->t = end + 6000;
}

/* Half of the time without a delay, then 200 requests with one. */
static sqlite3 *recorded(enum during what)
{
	struct text x = { 0 };
	int i;

	srand(1);
	head_of(&x, 4);
	text_line(&x, "@recorder\n32 101 thread pid=100 state=83 comm=\"other\"");
	text_line(&x, "33 100 " UPSTREAM "\n@cpu 0");
	many(&x, 400, 2 * MS / 10, 9 * MS);
	for (i = 0; i < 200; i++) {
		delayed(&x, 5 + i % 3, 12 * MS + rand() % MS,
			what != MIXED ? what
			: i % 4	      ? ITS_TIMER
				      : A_THREAD);
		x.t += 5 * MS;
	}
	return judged(&x, NULL);
}

static void said(enum during what, s64 n)
{
	sqlite3 *db = recorded(what);

	is_verdict(db, "problem", "slower");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='verdict_timer'", n);
	if (n) {
		is_number(db, FINDING_VALUE("verdict_timer", "thread", "v.id"), 100);
		is_text(db, FINDING_VALUE("verdict_timer", "call", "v.text"), "epoll_wait");
		is_number(
			db,
			"SELECT max(v.number) FILTER (WHERE v.name='n')=max(v.number) FILTER (WHERE"
			" v.name='of') FROM finding f JOIN finding_value v ON v.finding=f.id WHERE"
			" f.kind='verdict_timer'",
			1);
	}
	db_close(db);
}

static void answers_at_the_end_of_a_timeout_are_the_servers_own_delay(void **state)
{
	(void)state;
	said(ITS_TIMER, 1);
	said(ASKED_AFTERWARDS, 1);
}

static void what_arrives_or_is_asked_is_no_delay_of_its_own(void **state)
{
	(void)state;
	said(SOME_CALL_NEWS, 0);
	said(A_THREAD, 0);
	said(AN_UPSTREAM, 0);
	said(ASKED_IN_VAIN, 0);
}

/* All are read together, each with its own waits. */
static void each_is_judged_by_its_own_waits(void **state)
{
	sqlite3 *db = recorded(MIXED);

	(void)state;
	is_within(
		db,
		"SELECT max(v.number) FILTER (WHERE v.name='n') / max(v.number) FILTER (WHERE v.name='of') FROM"
		" finding f JOIN finding_value v ON v.finding=f.id WHERE f.kind='verdict_timer'",
		0.6, 0.9);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(answers_at_the_end_of_a_timeout_are_the_servers_own_delay),
		T(what_arrives_or_is_asked_is_no_delay_of_its_own),
		T(each_is_judged_by_its_own_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
