// SPDX-License-Identifier: GPL-2.0-or-later
/* Work that grows with what a host has many of: one shape for each. */
#include "tests/lib/growth.h"

/* ---- what a host has many of ---- */

/* A process that is made, opens, serves one request, waits for a lock and a disk, and ends. */
static void short_process(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	line(x, "%ld 100 cgroup_made id=%d parent=9 path=\"/a/%d\"", t, p, p);
	line(x, "%ld 100 fork child=%d child_pid=%d pid=100 comm=\"server\" cgroup=%d", t + 1, p, p,
	     p);
	line(x, "%ld 100 wakeup_new target=%d prio=120", t + 2, p);
	line(x, "%ld 100 switch next=%d prio=120 state=1", t + 3, p);
	line(x, "%ld %d exec pid=%d old_tid=%d comm=\"short%d\" filename=\"/bin/s%d\"", t + 4, p, p,
	     p, i, i);
	line(x, "%ld %d spawn pid=%d parent=100 args=\"/bin/s%d\"", t + 5, p, p, i);
	line(x, "%ld %d file_open nr=openat ret=3 dur=1 dir=-100 path=\"/f%d\"", t + 6, p, i);
	line(x, "%ld %d fd pid=%d fd=3 mode=0100000 ino=%d dev=8 path=\"/f%d\"", t + 7, p, p, p, i);
	line(x, "%ld %d syscall nr=read fd=3 ret=9 count=9 dur=2", t + 10, p);
	line(x, "%ld %d page_get ino=%d dev=8 last=3", t + 11, p, p);
	line(x, "%ld %d page_add ino=%d dev=8 pages=2", t + 12, p, p);
	line(x, "%ld %d block_start request=%d sector=%d dev=7 bytes=4096", t + 13, p, p, 8 * i);
	line(x, "%ld %d switch next=0 state=2 flags=2", t + 14, p);
	line(x, "%ld 0 block_complete request=%d sector=%d dev=7 bytes=4096", t + 300, p, 8 * i);
	line(x, "%ld 0 waking target=%d context=2 prio=120", t + 301, p);
	line(x, "%ld 0 switch next=%d prio=120", t + 400, p);
	line(x,
	     "%ld %d fd pid=%d fd=5 mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80 "
	     "dport=%d saddr=127.0.0.1 daddr=10.0.%d.%d",
	     t + 401, p, p, 100000 + i, 2000 + i, i / 250, i % 250);
	line(x, "%ld %d syscall nr=read fd=5 ret=9 count=99 dur=2", t + 410, p);
	line(x, "%ld %d call site=1 sp=%d", t + 415, p, 64);
	line(x, "%ld %d syscall_args nr=futex arg0=0x5000 arg1=0x80 dur=5 ret=0", t + 420, p);
	line(x, "%ld %d return site=1 sp=%d", t + 425, p, 64);
	line(x, "%ld %d syscall nr=write fd=5 ret=9 count=9 dur=2", t + 430, p);
	line(x, "%ld %d syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=9 ret=1", t + 440, p);
	line(x, "%ld %d exit pid=%d", t + 450, p, p);
	line(x, "%ld %d ended pid=%d parent=100 user=5", t + 451, p, p);
	line(x, "%ld %d switch next=100 state=128 prio=120", t + 460, p);
}

static void short_processes(void **state)
{
	(void)state;
	grows_linearly(short_process);
}

/* Threads of one process wait for one lock, each woken by the one before. */
static void thread_of_one(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	line(x, "%ld 100 fork child=%d child_pid=100 pid=100 comm=\"worker\"", t, p);
	line(x, "%ld 100 wakeup_new target=%d prio=120", t + 1, p);
	line(x, "%ld 100 switch next=%d prio=120 state=1", t + 3, p);
	line(x,
	     "%ld %d fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80 "
	     "dport=%d saddr=127.0.0.1 daddr=10.0.%d.%d",
	     t + 4, p, 10 + i, 5000 + i, 2000 + i, i / 250, i % 250);
	line(x, "%ld %d syscall nr=read fd=%d ret=9 count=99 dur=2", t + 10, p, 10 + i);
	line(x,
	     "%ld %d fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=3 socktype=1 dport=%d "
	     "sport=%d saddr=127.0.0.1 daddr=10.1.0.1",
	     t + 14, p, 5000 + i, 15000 + i, 9000 + i, 3000 + i);
	line(x, "%ld %d syscall nr=write fd=%d ret=9 count=9 dur=2", t + 15, p, 5000 + i);
	line(x, "%ld %d syscall nr=read fd=%d ret=9 count=9 dur=2", t + 18, p, 5000 + i);
	line(x, "%ld %d switch next=0 state=1", t + 20, p);
	line(x, "%ld %d waking target=%d prio=120", t + 500, p - (i > 0), p);
	line(x, "%ld 0 switch next=%d prio=120", t + 510, p);
	line(x, "%ld %d syscall_args nr=futex arg0=%d arg1=0x80 dur=505 ret=0", t + 520, p,
	     0x5000 + 64 * (i / 2));
	line(x, "%ld %d syscall_args nr=futex arg0=%d arg1=0x81 dur=5 ret=1", t + 530, p,
	     0x5000 + 64 * (i / 2));
	line(x, "%ld %d call site=1 sp=%d", t + 535, p, 64);
	line(x, "%ld %d return site=1 sp=%d", t + 545, p, 64);
	line(x, "%ld %d syscall nr=write fd=%d ret=9 count=9 dur=2", t + 550, p, 10 + i);
	line(x, "%ld %d syscall_args nr=poll arg2=9 dur=9 ret=1", t + 560, p);
	line(x, "%ld %d switch next=100 state=1 prio=120", t + 600, p);
}

static void threads_of_one_process(void **state)
{
	(void)state;
	grows_linearly(thread_of_one);
}

/* Clients of one server, each with a connection of its own. */
static void connection_of_one(struct buf *x, int i, long t)
{
	line(x, "%ld 0 waking target=100 context=1 prio=120", t);
	line(x, "%ld 0 switch next=100 prio=120", t + 1);
	line(x,
	     "%ld 0 tcp_state sock=%d ino=%d family=2 sport=80 dport=%d from=3 to=1 saddr=127.0.0.1 "
	     "daddr=10.0.%d.%d",
	     t + 2, 70000 + i, 5000 + i, 2000 + i, i / 250, i % 250);
	line(x,
	     "%ld 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80 "
	     "dport=%d saddr=127.0.0.1 daddr=10.0.%d.%d",
	     t + 4, 10 + i, 5000 + i, 2000 + i, i / 250, i % 250);
	line(x, "%ld 100 syscall_args nr=epoll_ctl arg0=4 arg1=1 arg2=%d dur=1", t + 5, 10 + i);
	line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=1 ret=1", t + 7);
	line(x, "%ld 100 syscall nr=read fd=%d ret=9 count=99 dur=2", t + 10, 10 + i);
	line(x, "%ld 100 tcp_retransmit sock=%d ino=%d family=2 sport=80 dport=%d state=1", t + 12,
	     70000 + i, 5000 + i, 2000 + i);
	line(x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=2", t + 15 + i, 10 + i);
	line(x, "%ld 100 switch next=0 state=1", t + 2000 + i);
}

static void connections_of_one_server(void **state)
{
	(void)state;
	grows_linearly(connection_of_one);
}

/* Files of one process, opened, read, renamed. */
static void file_of_one(struct buf *x, int i, long t)
{
	line(x, "%ld 100 file_open nr=openat ret=%d dur=1 dir=-100 path=\"/f%d\"", t, 10 + i, i);
	line(x, "%ld 100 fd pid=100 fd=%d mode=0100000 ino=%d dev=8 path=\"/f%d\"", t + 1, 10 + i,
	     5000 + i, i);
	line(x, "%ld 100 syscall nr=read fd=%d ret=9 count=9 dur=2", t + 5, 10 + i);
	line(x, "%ld 100 page_get ino=%d dev=8 last=3", t + 6, 5000 + i);
	line(x, "%ld 100 page_add ino=%d dev=8 pages=2", t + 7, 5000 + i);
	line(x, "%ld 100 fd pid=100 fd=%d mode=0010000 ino=%d dev=9", t + 8, 3000 + i, 9000 + i);
	line(x, "%ld 100 syscall nr=read fd=%d ret=9 count=9 dur=2", t + 15, 3000 + i);
	line(x, "%ld 100 file_open nr=openat ret=-2 dur=1 dir=-100 path=\"/none%d\"", t + 20, i);
	line(x, "%ld 100 file_change nr=unlink ret=0 dur=1 dir=-100 path=\"/f%d\"", t + 21, i);
}

static void files_of_one_process(void **state)
{
	(void)state;
	grows_linearly(file_of_one);
}

/* Fds of one process that have neither path nor address: pipes, eventfds. */
static void pipe_of_one(struct buf *x, int i, long t)
{
	line(x, "%ld 100 fd pid=100 fd=%d mode=0010000 ino=%d dev=9", t, 3000 + i, 9000 + i / 2);
	line(x, "%ld 100 fd pid=100 fd=%d mode=0 ino=7 dev=10", t + 1, 10000 + i);
	line(x, "%ld 100 syscall nr=read fd=%d ret=9 count=9 dur=2", t + 10, 3000 + i);
	line(x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=2", t + 15, 10000 + i);
}

static void pipes_of_one_process(void **state)
{
	(void)state;
	grows_linearly(pipe_of_one);
}

/* Locks of one process, each between two threads of its own, and a woken thread that is delayed. */
static void lock_of_one(struct buf *x, int i, long t)
{
	int a = 2000 + 2 * i, b = a + 1;

	line(x, "%ld 100 fork child=%d child_pid=100 pid=100 comm=\"a\"", t, a);
	line(x, "%ld 100 fork child=%d child_pid=100 pid=100 comm=\"b\"", t, b);
	line(x, "%ld 100 switch next=%d prio=120 state=1", t + 1, a);
	line(x, "%ld %d switch next=%d prio=120 state=1", t + 10, a, b);
	line(x, "%ld %d waking target=%d prio=120", t + 100000, b, a);
	line(x, "%ld %d syscall_args nr=futex arg0=%d arg1=0x81 dur=5 ret=1", t + 100010, b,
	     0x5000 + 64 * i);
	line(x, "%ld %d switch next=100 prio=120 flags=1", t + 100020, b);
	line(x, "%ld 100 switch next=%d prio=120 state=1", t + 200000, a);
	line(x, "%ld %d syscall_args nr=futex arg0=%d arg1=0x80 dur=200000 ret=0", t + 200010, a,
	     0x5000 + 64 * i);
	line(x, "%ld %d switch next=%d prio=120 state=1", t + 200020, a, b);
	line(x, "%ld %d switch next=100 prio=120 state=1", t + 200030, b);
}

static void locks_of_one_process(void **state)
{
	(void)state;
	grows_linearly(lock_of_one);
}

/* Requests on one connection, of one thread, with a call of a probed function each. */
static void request_of_one(struct buf *x, int i, long t)
{
	if (i == 0)
		line(x,
		     "%ld 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 "
		     "sport=80 dport=99 saddr=127.0.0.1 daddr=10.0.0.1",
		     t - 10);
	line(x, "%ld 0 waking target=100 context=1 prio=120", t);
	line(x, "%ld 0 switch next=100 prio=120", t + 1000);
	line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=1000 ret=1", t + 2000);
	line(x, "%ld 100 syscall nr=read fd=5 ret=9 count=99 dur=200", t + 3000);
	line(x, "%ld 100 call site=1 sp=64", t + 4000);
	line(x, "%ld 100 return site=1 sp=64", t + 50000);
	line(x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=200", t + 60000);
	line(x, "%ld 100 switch next=0 state=1", t + 70000);
}

static void requests_of_one_thread(void **state)
{
	(void)state;
	grows_linearly(request_of_one);
}

/* Cgroups with a quota, each with a process, read twice. */
static void cgroup_of_many(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	line(x, "@recorder\n%ld 0 cgroup id=%d path=\"/q/%d\"", t, 5000 + i, i);
	line(x, "%ld 0 throttle cgroup=%d quota=1000 period=10000", t, 5000 + i);
	line(x, "%ld 0 throttle cgroup=%d quota=1000 period=10000 periods=9 throttled=9 time=5",
	     t + 900000, 5000 + i);
	line(x, "%ld 0 disk dev=%d name=\"d%d\"\n@cpu 0", t, 100 + i, i);
	line(x, "%ld 100 fork child=%d child_pid=%d pid=100 comm=\"p\" cgroup=%d", t + 1, p, p,
	     5000 + i);
	line(x, "%ld 100 switch next=%d prio=120 flags=1", t + 3, p);
	line(x, "%ld %d block_start request=%d sector=8 dev=%d bytes=4096", t + 13, p, p, 100 + i);
	line(x, "%ld %d block_complete request=%d sector=8 dev=%d bytes=4096", t + 300, p, p,
	     100 + i);
	line(x, "%ld %d switch next=100 state=1 prio=120", t + 400, p);
}

static void cgroups_of_one_host(void **state)
{
	(void)state;
	grows_linearly(cgroup_of_many);
}

/* Functions of one program, as a glob names them, each called once. */
static void function_of_one(struct buf *x, int i, long t)
{
	line(x, "@recorder\n%ld 0 site id=%d flags=3 text=\"/bin/x:g%d\"\n@cpu 0", t, 2 + i, i / 2);
	line(x, "%ld 100 call_text sp=64 site=%d unread=64 text=\"SELECT %c%d\"", t + 1, 2 + i, 'a',
	     i);
	line(x, "%ld 100 return sp=64 site=%d", t + 10, 2 + i);
}

static void functions_of_one_program(void **state)
{
	(void)state;
	grows_linearly(function_of_one);
}

/* Questions of one request on one connection, each with an answer, and segments at two devices. */
static void question_of_one(struct buf *x, int i, long t)
{
	if (i == 0) {
		line(x, "@recorder\n12 0 info text=\"groups=core,syscalls,sched,requests,hops\"");
		line(x, "13 200 thread pid=200 state=83 comm=\"back\"");
		line(x, "14 100 fd pid=100 fd=5 " INET " role=2 ino=71 sport=80 dport=99");
		line(x, "15 100 fd pid=100 fd=6 " INET " role=3 ino=72 sport=99 dport=90");
		line(x, "16 200 fd pid=200 fd=3 " INET " role=2 ino=73 sport=90 dport=99");
		line(x, "@cpu 0\n17 0 connection conn=1 ino=72 " PEERS " sport=99 dport=90");
		line(x, "18 0 connection conn=2 ino=73 " PEERS " sport=90 dport=99");
		line(x, "20 100 syscall nr=read fd=5 ret=9 count=99 dur=2");
	}
	line(x, "%ld 100 syscall nr=write fd=6 ret=9 count=9 dur=2", t);
	line(x, "%ld 0 hop conn=1 seq=%d len=9 ifindex=1 flags=1 device=\"a\"", t + 1, 9 * i);
	line(x, "%ld 0 hop conn=2 seq=%d len=9 ifindex=2 flags=2 device=\"b\"", t + 9, 9 * i);
	line(x, "%ld 200 syscall nr=read fd=3 ret=9 count=99 dur=2", t + 20);
	line(x, "%ld 200 syscall nr=write fd=3 ret=9 count=9 dur=2", t + 800000);
	line(x, "%ld 100 syscall nr=read fd=6 ret=9 count=99 dur=2", t + 900000);
	if (i % 100 == 99)
		line(x, "%ld 100 syscall nr=write fd=5 ret=9 count=9 dur=2", t + 900001);
	if (i % 100 == 99)
		line(x, "%ld 100 syscall nr=read fd=5 ret=9 count=99 dur=2", t + 900009);
}

static void questions_of_one_thread(void **state)
{
	(void)state;
	grows_linearly(question_of_one);
	assert_true(one.hops == 200 && two.hops == 200); /* 100 questions, each seen twice */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(short_processes),	    T(threads_of_one_process), T(connections_of_one_server),
		T(files_of_one_process),    T(locks_of_one_process),   T(requests_of_one_thread),
		T(cgroups_of_one_host),	    T(pipes_of_one_process),   T(functions_of_one_program),
		T(questions_of_one_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
