// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/analyses/pause_root.c and pause_disk.c: what a pause waited for, to its end. */
#include "tests/lib/pausing.h"

/* 100 reads a request and sleeps in call for 300 ms; waker 0: an interrupt ends that. */
static void sleeps(struct text *x, const char *call, int fd, int waker)
{
	long t = x->t;

	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1", t + 2000);
	text_line(x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", t + 3000);
	text_line(x, "%ld 100 switch next=0 state=1", t + 10000);
	text_line(x, "%ld %d waking target=100%s", t + 300 * MS, waker, waker ? "" : " context=1");
	text_line(x, "%ld 0 switch next=100", t + 300 * MS + 1000);
	text_line(x, "%ld 100 syscall%s nr=%s %s=%d ret=1 dur=%ld", t + 300 * MS + 2000,
		  fd < 0 ? "_args" : "", call, fd < 0 ? "arg0" : "fd", fd < 0 ? 4 : fd,
		  300 * MS - 6000);
	x->t = t + 300 * MS + 4000;
}

static sqlite3 *judged(struct text *x)
{
	sqlite3 *db;

	text_line(x, "%ld 100 syscall nr=write fd=7 ret=900 count=900 dur=200", x->t);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 1000);
	x->t += MS;
	many(x, 100, 600, MS);
	db = answered(x);
	analysed(db, "verdict");
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
	return db;
}

/* What a thread waits for on a connection: bytes of its client, or room for its answer. */
static void a_pause_names_the_client_that_it_waits_for(void **state)
{
	static const struct {
		const char *call, *state, *from, *to;
		int fd;
	} cases[] = {
		{ "read", "waiting for input", "10.0.0.9:40006", NULL, 6 },
		{ "sendto", "waiting to send", NULL, "10.0.0.9:40008", 8 },
		/* an event loop waits for anything: no client is named */
		{ "epoll_wait", "waiting for input", NULL, NULL, -1 },
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

/*
 * Thread 101 sleeps in epoll until the thread end wakes it; then it wakes 100. Before, 200 reads
 * from fd, writes to -fd, or sleeps in a request (0).
 */
static sqlite3 *chained(int fd, int end)
{
	struct text x = { 0 };
	long t;

	head(&x);
	text_line(
		&x,
		"@recorder\n25 200 fd pid=200 fd=9 mode=0140000 ino=77 family=2 role=3 socktype=1 sport=4000"
		" dport=6379 saddr=127.0.0.1 daddr=10.0.0.3\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", t);
	sleeps(&x, "epoll_wait", -1, 101);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=101", t - MS);
	text_line(&x, "%ld 101 switch next=0 state=1", t - MS + 1000);
	text_line(&x, "%ld %d waking target=101\n%ld 0 switch next=101", t + 299 * MS, end,
		  t + 299 * MS + 1000);
	text_line(&x, "%ld 101 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=%ld",
		  t + 299 * MS + 2000, 300 * MS);
	text_line(&x, "%ld 101 switch next=0 state=1\n@cpu 2", t + 301 * MS);
	text_line(&x, "%ld 0 switch next=200", t - MS);
	if (!fd)
		text_line(&x, "%ld 200 syscall nr=read fd=7 ret=29 count=99 dur=200", t - MS + 500);
	text_line(&x, "%ld 200 switch next=0 state=1", t - MS + 1000);
	text_line(&x, "%ld 0 waking target=200 context=1\n%ld 0 switch next=200", t + 298 * MS,
		  t + 298 * MS + 1000);
	text_line(&x,
		  fd > 0   ? "%ld 200 syscall nr=read ret=29 count=99 dur=%ld fd=%d"
		  : fd < 0 ? "%ld 200 syscall nr=write ret=29 count=99 dur=%ld fd=%d"
			   : "%ld 200 syscall_args nr=clock_nanosleep ret=0 dur=%ld",
		  t + 298 * MS + 2000, 299 * MS + 1500, abs(fd));
	if (!fd)
		text_line(&x, "%ld 200 syscall nr=write fd=7 ret=9 count=9 dur=200", t + 301 * MS);
	text_line(&x, "%ld 200 switch next=0 state=1\n@cpu 0", t + 302 * MS);
	return judged(&x);
}

/* A thread of a pool waits for another server: its address. */
static void a_pause_names_the_upstream_at_the_end_of_its_chain(void **state)
{
	sqlite3 *db = chained(9, 200);

	(void)state;
	is_number(db, ROOT_VALUE("v.id", "end"), 200);
	is_text(db, ROOT_VALUE("v.text", "upstream"), "10.0.0.3:6379");
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting for another server");
	db_close(db);
}

/* Not the waker, which waited itself, but the thread that made it wait, and for whom. */
static void a_pause_names_the_end_of_its_wakeup_chain(void **state)
{
	sqlite3 *db = chained(6, 200);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"),
		"waiting in poll for another thread or process");
	is_number(db, CAUSE_VALUE("v.id", "waker"), 101);
	is_number(db, ROOT_VALUE("v.id", "end"), 200);
	is_text(db, ROOT_VALUE("v.text", "client"), "10.0.0.9:40006");
	is_number(db, ROOT_VALUE("count(v.text)", "reader"), 0);
	is_number(db, ROOT_VALUE("count(v.text)", "serving"), 0);
	is_within(db, ROOT_VALUE("v.number", "share"), 98, 100);
	db_close(db);
	/* it waits until the client has read */
	db = chained(-6, 200);
	is_text(db, ROOT_VALUE("v.text", "state"), "waiting to send");
	is_text(db, ROOT_VALUE("v.text", "reader"), "10.0.0.9:40006");
	is_number(db, ROOT_VALUE("count(v.text)", "client"), 0);
	db_close(db);
	db = chained(0, 200);
	is_number(db, ROOT_VALUE("v.id", "end"), 200);
	is_text(db, ROOT_VALUE("v.text", "state"), "asleep until a timer");
	is_number(db, ROOT_VALUE("count(v.text)", "client"), 0);
	is_text(db, ROOT_VALUE("v.text", "serving"), "request from 10.0.0.9");
	db_close(db);
	/* of 999 nothing is recorded: the chain ends before it */
	db = chained(6, 999);
	is_number(db, ROOT_VALUE("v.id", "end"), 101);
	is_number(db, ROOT_VALUE("v.id", "by"), 999);
	db_close(db);
}

/* 100 asks over UDP and waits in a call on that socket; 300 is bound to the address, or another. */
static sqlite3 *asking(const char *bound, bool accepts)
{
	struct text x = { 0 };

	head(&x);
	text_line(&x,
		  "@recorder\n25 100 fd pid=100 fd=9 mode=0140000 ino=9 family=2 role=connected"
		  " socktype=%d sport=33000 dport=53 saddr=127.0.0.1 daddr=127.0.0.1",
		  accepts ? 1 : 2);
	text_line(&x, "25 300 thread pid=300 state=83 comm=\"dns\"");
	text_line(&x,
		  "26 300 fd pid=300 fd=4 mode=0140000 ino=4 family=2 role=%s socktype=%d sport=53"
		  " dport=%d saddr=%s daddr=%s\n@cpu 0",
		  accepts ? "accepted" : "bound", accepts ? 1 : 2, accepts ? 33001 : 0, bound,
		  accepts ? "127.0.0.1" : "0.0.0.0");
	many(&x, 100, 600, MS);
	text_line(&x, "%ld 100 syscall nr=read fd=5 ret=29 count=99 dur=200", x.t);
	sleeps(&x, "recvfrom", 9, 0);
	text_line(&x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", x.t - 1);
	text_line(&x, "@cpu 1\n%ld 0 switch next=300\n%ld 300 switch next=0 state=1\n@cpu 0",
		  x.t - 400 * MS, x.t);
	return judged(&x);
}

/* Not by the port alone, nor another connection of the same server. */
static void a_pause_names_the_server_of_a_blocking_call(void **state)
{
	sqlite3 *db = asking("127.0.0.1", false);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for an upstream");
	is_text(db, CAUSE_VALUE("v.text", "upstream"), "127.0.0.1:53");
	is_number(db, CAUSE_VALUE("v.id", "peer"), 300);
	is_text(db, CAUSE_VALUE("v.text", "peer_did"), "on a CPU or queued for one");
	db_close(db);
	db = asking("127.0.0.2", false);
	is_text(db, CAUSE_VALUE("v.text", "upstream"), "127.0.0.1:53");
	is_number(db, CAUSE_VALUE("count(v.text)", "peer_did"), 0);
	db_close(db);
	db = asking("127.0.0.1", true);
	is_number(db, CAUSE_VALUE("count(v.text)", "peer_did"), 0);
	db_close(db);
}

/* 101 waits in a call on a connection of its own until it wakes 100: for whom is said. */
static void the_end_of_a_chain_names_its_upstream(void **state)
{
	struct text x = { 0 };
	sqlite3 *db;
	long t;

	(void)state;
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
	db = judged(&x);
	is_number(db, CAUSE_VALUE("v.id", "waker"), 101);
	is_number(db, ROOT_VALUE("v.id", "end"), 101);
	is_text(db, ROOT_VALUE("v.text", "upstream"), "10.0.0.5:6379");
	is_number(db, CAUSE_VALUE("count(v.text)", "upstream"), 0);
	db_close(db);
}

#define DISK_VALUE(what, name_) FINDING_VALUE("pause_disk", name_, what)

/*
 * 100 waits 300 ms in fsync, its block request for `done` ms; within it, or 100 ms after it, one of
 * tid moves 8 MiB.
 */
static sqlite3 *beside_disk_use(int tid, bool within, long done)
{
	struct text x = { 0 };
	long t;

	head(&x);
	text_line(&x, "@recorder\n32 300 thread pid=300 state=83 comm=\"dd\"\n@cpu 0");
	many(&x, 100, 600, MS);
	t = x.t;
	text_line(&x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	text_line(&x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1", t + 2000);
	text_line(&x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", t + 3000);
	text_line(&x, "%ld 100 block_start request=1 dev=8 bytes=4096 sector=8 op=1", t + 4000);
	text_line(&x, "%ld 100 switch next=0 state=2 flags=2", t + 10000);
	t += within ? 10 * MS : 400 * MS;
	text_line(&x, "@cpu 1\n%ld %d block_start request=2 dev=8 bytes=8388608 sector=800 op=1", t,
		  tid);
	text_line(&x, "%ld 0 block_complete request=2 dev=8 bytes=8388608 sector=800\n@cpu 0",
		  t + MS);
	text_line(&x, "%ld 0 block_complete request=1 dev=8 bytes=4096 sector=8",
		  x.t + done * MS - 1000);
	text_line(&x, "%ld 0 waking target=100 context=1", x.t + 300 * MS);
	text_line(&x, "%ld 0 switch next=100", x.t + 300 * MS + 1000);
	text_line(&x, "%ld 100 syscall nr=fsync fd=3 dur=%ld", x.t + 300 * MS + 2000,
		  300 * MS - 6000);
	x.t += 300 * MS + 4000;
	return judged(&x);
}

/* The program that used the disk while the pause waited for it, not at another time. */
static void a_pause_at_a_disk_names_its_user(void **state)
{
	sqlite3 *db = beside_disk_use(300, true, 300);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a disk");
	is_number(db, DISK_VALUE("v.id", "disk"), 8);
	is_number(db, DISK_VALUE("v.id", "user"), 300);
	is_within(db, DISK_VALUE("v.number", "user"), 99, 100);
	is_text(db, "SELECT evidence FROM finding WHERE kind='pause_disk'", "OVERLAP");
	db_close(db);
	db = beside_disk_use(300, false, 300);
	is_number(db, DISK_VALUE("v.id", "user"), 100);
	is_text(db, "SELECT evidence FROM finding WHERE kind='pause_disk'", "OBSERVED");
	db_close(db);
	db = beside_disk_use(100, true, 300);
	is_number(db, DISK_VALUE("v.id", "user"), 100);
	db_close(db);
}

/* Without a request at the disk no program that uses it is to blame. */
static void a_pause_at_an_idle_disk_names_no_user(void **state)
{
	sqlite3 *db = beside_disk_use(300, true, 20);

	(void)state;
	is_text(db, CAUSE_VALUE("v.text", "state"), "waiting for a disk");
	is_number(db, "SELECT count(*) FROM finding WHERE kind='pause_disk'", 0);
	is_within(
		db,
		"SELECT number FROM finding f JOIN finding_value v ON v.finding=f.id WHERE f.kind="
		"'pause_disk_idle' AND name='busy'",
		5, 8);
	db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_pause_of_two_states_names_both),
		T(a_pause_names_the_upstream_at_the_end_of_its_chain),
		T(a_pause_names_the_client_that_it_waits_for),
		T(a_pause_names_the_end_of_its_wakeup_chain),
		T(a_pause_names_the_server_of_a_blocking_call),
		T(the_end_of_a_chain_names_its_upstream),
		T(a_pause_at_a_disk_names_its_user),
		T(a_pause_at_an_idle_disk_names_no_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
