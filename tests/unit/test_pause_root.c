// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pauses/pause_root.c: what a pause waited for, to its end. */
#include "tests/lib/pausing.h"

/* What a thread waits for on a connection: bytes of its client, or room for its answer. */
static void a_pause_names_the_client_that_it_waits_for(void **state)
{
	static const struct {
		const char *call, *state, *from, *to;
		int fd;
	} cases[] = {
		{ "read", "waiting for input", "10.0.0.9:40006", NULL, 6 },
		{ "sendto", "waiting to send", NULL, "10.0.0.9:40008", 8 },
		/* not for requests that it has read */
		{ "epoll_wait", "waiting in poll with all requests already read", NULL, NULL, -1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text x = { 0 };
		sqlite3 *db;

		head(&x);
		many(&x, 100, 600, MS);
		/* two requests wait */
		text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
		sleeps(&x, cases[i].call, cases[i].fd, 0);
		text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
		db = judged(&x);
		is_text(db, CAUSE_VALUE("v.text", "state"), cases[i].state);
		is_number(db, CAUSE_VALUE("count(v.text)", "from"), cases[i].from ? 1 : 0);
		is_number(db, CAUSE_VALUE("count(v.text)", "to"), cases[i].to ? 1 : 0);
		if (cases[i].from)
			is_text(db, CAUSE_VALUE("v.text", "from"), cases[i].from);
		if (cases[i].to)
			is_text(db, CAUSE_VALUE("v.text", "to"), cases[i].to);
		is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_root'", 0);
		db_close(db);
	}
}

enum second { SECOND_READ, SECOND_UNREAD, SECOND_OF_ANOTHER };

/* Two requests wait while thread 100, which has read one at least, is in epoll_wait. */
static sqlite3 *in_poll(enum second second, bool half, bool after_client)
{
	static const char arrives[] = "%ld 0 segment conn=8 pos=10 len=10 unread=0";
	struct text x = { 0 };
	long t;

	head(&x);
	text_line(&x, "@recorder\n26 0 request_name id=1 protocol=2 name=\"CLIENT\"\n@cpu 0");
	text_line(&x, "40 0 connection sock=1 ino=100008 conn=8 family=2 side=1");
	many(&x, 100, 600, MS);
	if (after_client) {
		text_line(&x, arrives, x.t);
		text_line(&x, "%ld 100 syscall nr=read fd=8 dur=1 ret=10", x.t + 1000);
		text_line(&x, "%ld 100 head conn=8 pos=10 len=10 name=1 requests=1", x.t + 1000);
		text_line(&x, "%ld 100 syscall nr=write fd=8 dur=1 ret=5", x.t + 2000);
		x.t += 3000;
	}
	t = x.t;
	if (second == SECOND_READ)
		text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	wakes(&x);
	if (half)
		text_line(&x, "%ld 100 syscall nr=write fd=7 ret=9 count=99 dur=200", t + 4000);
	if (second == SECOND_UNREAD)
		text_line(&x, arrives, t + 5000);
	stays(&x, "epoll_wait", -1, 0);
	if (second == SECOND_READ)
		text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	if (second == SECOND_UNREAD) {
		text_line(&x, "%ld 100 syscall nr=read fd=8 dur=1 ret=10", x.t - 100);
		text_line(&x, "%ld 100 syscall nr=write fd=8 dur=1 ret=5", x.t - 10);
	}
	if (second == SECOND_OF_ANOTHER) {
		text_line(&x, "@cpu 1\n%ld 0 switch next=101", t);
		text_line(&x, "%ld 101 syscall nr=read fd=5 ret=29 count=99 dur=200", t + 100);
		text_line(&x, "%ld 101 syscall nr=write fd=5 ret=9 count=9 dur=200\n@cpu 0",
			  x.t + 100);
	}
	return judged(&x);
}

static void poll_is_no_wait_for_requests_that_were_read(void **state)
{
	sqlite3 *db = in_poll(SECOND_READ, false, false);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"),
		"waiting in poll with all requests already read");
	is_number(db, CAUSE_VALUE("count(v.text)", "before"), 0);
	db_close(db);
	db = in_poll(SECOND_READ, false, true);
	is_text(db, CAUSE_VALUE("v.text", "before"), "CLIENT from 10.0.0.9:40008");
	db_close(db);
	db = in_poll(SECOND_UNREAD, false, false);
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for input");
	db_close(db);
}

static void poll_with_half_an_answer_waits_to_send(void **state)
{
	sqlite3 *db = in_poll(SECOND_OF_ANOTHER, true, false);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting to send");
	is_text(db, CAUSE_VALUE("v.text", "to"), "10.0.0.9:40007");
	db_close(db);
	/* an event loop that has read another one, too, waits for anything */
	db = in_poll(SECOND_READ, true, false);
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for input");
	db_close(db);
}

/* Half of the pause on a CPU, half waiting for one: both are said. */
static void a_pause_of_two_states_names_both(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	long t;

	(void)state;
	head(&x);
	many(&x, 100, 600, MS);
	t = x.t;
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t + 2000);
	text_line(&x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", t + 3000);
	text_line(&x, "%ld 100 switch next=300 state=0", t + 140 * MS);
	text_line(&x, "%ld 300 switch next=100 state=1", t + 300 * MS);
	x.t = t + 301 * MS;
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	db = judged(&x);
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a CPU");
	is_text(db, CAUSE_VALUE("v.text", "second"), "on CPU");
	is_within(db, CAUSE_VALUE("v.number", "second_share"), 40, 50);
	db_close(db);
}

#define ROOT_VALUE(what, name_) FINDING_VALUE("pause_root", name_, what)

/* 100 waits in mmap until 101, which has a CPU all the time, wakes it; call: that 101 is in. */
static sqlite3 *held_maps(const char *call)
{
	struct text x = { 0 };
	long t, end;

	head(&x);
	many(&x, 100, 600, MS);
	t = x.t;
	end = t + 300 * MS;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	text_line(&x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", t + 3000);
	text_line(&x, "%ld 100 switch next=0 state=2\n@cpu 1", t + 10000);
	text_line(&x, "%ld 0 switch next=101\n%ld 101 waking target=100", t - MS, end);
	if (call)
		text_line(&x, "%ld 101 syscall_args nr=%s dur=%ld", end + 1000, call, 299 * MS);
	text_line(&x, "%ld 101 switch next=0 state=1\n@cpu 0", end + MS);
	text_line(&x, "%ld 0 switch next=100", end + 1000);
	text_line(&x, "%ld 100 syscall_args nr=mmap dur=%ld", end + 2000, 300 * MS - 6000);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", end + 3000);
	x.t = end + 4000;
	return judged(&x);
}

/* The thread that others wait for is in one system call, or computes in many or none. */
static void the_end_of_a_chain_names_its_system_call(void **state)
{
	sqlite3 *db = held_maps("munmap");

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "uninterruptible (D)");
	is_text(db, CAUSE_VALUE("v.text", "call"), "mmap");
	is_number(db, CAUSE_VALUE("v.id", "waker"), 101);
	is_number(db, ROOT_VALUE("v.id", "end"), 101);
	is_text(db, ROOT_VALUE("v.text", "call"), "munmap");
	db_close(db);
	db = held_maps(NULL);
	is_number(db, CAUSE_VALUE("v.id", "waker"), 101);
	is_number(db, ROOT_VALUE("count(*)", "call"), 0);
	db_close(db);
}

/* 100 waits for work of 101, which shares its CPU with the thread other, and has less of it. */
static sqlite3 *shares(int other, const char *change)
{
	struct text x = { 0 };
	long t, end, k;

	head(&x);
	text_line(&x, "@recorder\n7 102 thread pid=100 state=83 comm=\"server\"\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	end = t + 300 * MS;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	sleeps(&x, "futex", -1, 101);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", t - MS);
	for (k = t; k < end; k += 50 * MS) {
		text_line(&x, "%ld 101 switch next=%d state=0", k + 20 * MS, other);
		text_line(&x, "%ld %d switch next=101 state=0", k + 50 * MS - 5000, other);
	}
	text_line(&x, "%ld 101 switch next=0 state=1\n@cpu 0", end + MS);
	return judged_after(&x, change);
}

/* A pool of threads that computes on too few CPUs; not one that another program delays. */
static void threads_that_share_a_cpu_compute(void **state)
{
	sqlite3 *db = shares(102, NULL);

	(void)state;
	is_number(db, CAUSE_VALUE("v.id", "waker"), 101);
	is_number(db, ROOT_VALUE("v.id", "end"), 101);
	is_text(db, ROOT_VALUE("v.text", "state"),
		"computing, or queued for a CPU of its own threads");
	is_within(db, ROOT_VALUE("v.number", "share"), 98, 100);
	is_number(db, ROOT_VALUE("v.number", "others"), 1);
	db_close(db);
	db = shares(200, NULL);
	is_number(db, ROOT_VALUE("count(*)", "end"), 0);
	is_text(db, CAUSE_VALUE("v.text", "did"), "queued for a CPU");
	db_close(db);
}

#define SAMPLED(function)                                                                      \
	"INSERT INTO module VALUES(1, 'file', '/lib/libjvm.so', NULL, 0, 0);"                  \
	"INSERT INTO frame(id, address, module) VALUES(1, 1, 1), (2, 2, 1);"                   \
	"INSERT INTO symbol VALUES(1, 'start', 0, NULL, 0, 1), (2, '" function                 \
	"', 0, NULL, 0, 1); INSERT INTO stack VALUES(1, 0, 1), (2, 1, 2); INSERT INTO sample"  \
	" SELECT ts + i.value * 10000000, 101, 100, 0, 10000000, 0, 2, 0, 0, NULL FROM pause," \
	" json_each('[1,2,3,4,5,6,7,8,9]') i WHERE pause.id=1"

/* What it does is said before that another program delays it. */
static void the_end_of_a_chain_collects_garbage(void **state)
{
	sqlite3 *db = shares(200, SAMPLED("GenMarkSweep::invoke_at_safepoint"));

	(void)state;
	is_number(db, ROOT_VALUE("v.id", "end"), 101);
	is_text(db, ROOT_VALUE("v.text", "state"), "garbage collection of Java");
	is_within(db, ROOT_VALUE("v.number", "share"), 98, 100);
	is_within(db, ROOT_VALUE("v.number", "queued"), 59, 61);
	db_close(db);
	db = shares(200, SAMPLED("GenericHeap::collect"));
	is_number(db, ROOT_VALUE("count(v.number)", "queued"), 0);
	is_number(db, "SELECT count(*) FROM finding_value WHERE text LIKE 'garbage%'", 0);
	db_close(db);
}

/* A request takes 300 ms of CPU time: in one system call, as a fork of a large process, or not. */
static sqlite3 *computing(const char *call)
{
	struct text x = { 0 };
	long t;

	head(&x);
	many(&x, 100, 600, MS);
	t = x.t;
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t + 2000);
	text_line(&x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", t + 3000);
	x.t = t + 300 * MS;
	if (call)
		text_line(&x, "%ld 100 syscall_args nr=%s ret=400 dur=%ld", x.t - 2000, call,
			  290 * MS);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	return judged(&x);
}

static void a_pause_on_a_cpu_names_its_system_call(void **state)
{
	sqlite3 *db = computing("clone");

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "on CPU");
	is_text(db, CAUSE_VALUE("v.text", "call"), "clone");
	db_close(db);
	db = computing(NULL);
	is_text(db, CAUSE_VALUE("v.text", "state"), "on CPU");
	is_number(db, CAUSE_VALUE("count(v.text)", "call"), 0);
	db_close(db);
}

/* 101 reads a request, or nothing, and sleeps in write until to. */
static void another_writes(struct text *x, bool serves, long from, long to)
{
	text_line(x, "@cpu 1\n%ld 0 waking target=101\n%ld 0 switch next=101", from - 9000,
		  from - 8000);
	if (serves)
		text_line(x, "%ld 101 syscall nr=read fd=6 ret=29 count=99 dur=200", from - 5000);
	text_line(x, "%ld 101 switch next=0 state=1", from);
	text_line(x, "%ld 200 waking target=101\n%ld 0 switch next=101", to, to + 1000);
	text_line(x, "%ld 101 syscall nr=write fd=9 ret=40 count=40 dur=%ld", to + 2000,
		  to - from + 2500);
	if (serves)
		text_line(x, "%ld 101 syscall nr=write fd=6 ret=9 count=9 dur=200", to + 9000);
	text_line(x, "%ld 101 switch next=0 state=1\n@cpu 0", to + 10000);
}

/* 100 writes to a FIFO that is full. Its reader, 200, is stopped until 300 continues it. */
static sqlite3 *with_full_pipe(bool other_serves)
{
	struct text x = { 0 };
	long t;

	head(&x);
	text_line(&x, "@recorder\n25 100 fd pid=100 fd=9 mode=010000 ino=9 path=\"/run/log\"");
	text_line(&x, "26 300 thread pid=300 state=83 comm=\"sh\"\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	wakes(&x);
	stays(&x, "write", 9, 200);
	text_line(&x, "%ld 100 syscall nr=write fd=7 ret=9 count=9 dur=200", x.t - 1);
	another_writes(&x, other_serves, t + 20000, t + 300 * MS);
	text_line(&x, "@cpu 2\n%ld 0 switch next=200\n%ld 200 switch next=0 state=4", t - MS, t);
	text_line(&x, "%ld 300 waking target=200\n%ld 0 switch next=200", t + 299 * MS,
		  t + 299 * MS + 1000);
	text_line(&x, "%ld 200 switch next=0 state=1\n@cpu 3", t + 301 * MS);
	text_line(&x, "%ld 0 switch next=300\n%ld 300 switch next=0 state=1", t - MS, t);
	text_line(&x, "%ld 0 waking target=300 context=1\n%ld 0 switch next=300", t + 298 * MS,
		  t + 298 * MS + 1000);
	text_line(&x, "%ld 300 syscall_args nr=clock_nanosleep ret=0 dur=%ld", t + 298 * MS + 2000,
		  298 * MS);
	text_line(&x, "%ld 300 switch next=0 state=1\n@cpu 0", t + 302 * MS);
	return judged(&x);
}

/* Not who continued it. Others wait if they have a request. */
static void a_chain_ends_at_a_stopped_thread(void **state)
{
	sqlite3 *db = with_full_pipe(true);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting to write");
	is_text(db, CAUSE_VALUE("v.text", "to"), "/run/log");
	is_number(db, CAUSE_VALUE("v.number", "others"), 1);
	is_number(db, CAUSE_VALUE("v.id", "waker"), 200);
	is_text(db, CAUSE_VALUE("v.text", "did"), "stopped");
	is_number(db, ROOT_VALUE("count(v.id)", "end"), 0);
	db_close(db);
	db = with_full_pipe(false);
	is_text(db, CAUSE_VALUE("v.text", "to"), "/run/log");
	is_number(db, CAUSE_VALUE("count(v.number)", "others"), 0);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_pause_of_two_states_names_both),
		T(a_pause_names_the_client_that_it_waits_for),
		T(poll_is_no_wait_for_requests_that_were_read),
		T(poll_with_half_an_answer_waits_to_send),
		T(the_end_of_a_chain_names_its_system_call),
		T(threads_that_share_a_cpu_compute),
		T(the_end_of_a_chain_collects_garbage),
		T(a_pause_on_a_cpu_names_its_system_call),
		T(a_chain_ends_at_a_stopped_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
