// SPDX-License-Identifier: GPL-2.0-or-later
/* Work that grows with what fails, waits, is lost or is killed: one shape for each. */
#include "tests/lib/growth.h"

#define GROUPS                                                                           \
	"@recorder\n12 0 info text=\"groups=core,syscalls,sched,block,uprobe,net,files," \
	"process,pagecache,requests,cpu,offsets,pressure,hops\"\n"

/* Facts of the start, before the first unit. */
static void start(struct buf *x, int i, const char *facts)
{
	if (i == 0)
		line(x, GROUPS "%s@cpu 0", facts);
}

/* A connection of a client of its own to port 80, as fd 10 + i of process pid. */
static void accepted(struct buf *x, long t, int tid, int pid, int i)
{
	line(x,
	     "%ld %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80 "
	     "dport=%d saddr=10.255.0.1 daddr=10.0.%d.%d",
	     t, tid, pid, 10 + i, 500000 + i, 2000 + i, i / 250, i % 250);
}

static void socket_state(struct buf *x, long t, int i, const char *what)
{
	line(x,
	     "%ld 0 tcp_state sock=%d ino=%d family=2 sport=80 dport=%d saddr=10.255.0.1 "
	     "daddr=10.0.%d.%d %s",
	     t, 70000 + i, 500000 + i, 2000 + i, i / 250, i % 250, what);
}

/* A thread of the server that has the CPU from t + 3 on. */
static void worker(struct buf *x, long t, int tid)
{
	line(x, "%ld 100 fork child=%d child_pid=100 pid=100 comm=\"worker\"", t, tid);
	line(x, "%ld 100 wakeup_new target=%d prio=120", t + 1, tid);
	line(x, "%ld 100 switch next=%d prio=120 state=1", t + 3, tid);
}

/* Connections that are answered and closed without a read, next to an accept queue that is full. */
static void turned_away(struct buf *x, int i, long t)
{
	start(x, i,
	      "13 100 fd pid=100 fd=3 mode=0140000 ino=33 family=2 role=1 socktype=1 sport=80\n");
	socket_state(x, t, i, "from=3 to=1");
	line(x, "%ld 100 syscall_args nr=accept4 arg0=3 dur=3 ret=%d", t + 5, 10 + i);
	accepted(x, t + 6, 100, 100, i);
	line(x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=2", t + 10, 10 + i);
	line(x, "%ld 100 syscall nr=close fd=%d ret=0 dur=2", t + 12, 10 + i);
	socket_state(x, t + 13, i, "from=1 to=7 error=-104");
	line(x, "@recorder\n%ld 0 accept_queue ino=33 netns=1 queue=%d limit=10 port=80 drops=%d",
	     t + 20, i % 11, i);
	line(x, "%ld 0 accept_queue netns=1 overflows=%d drops=%d\n@cpu 0", t + 21, i, i);
}

/* Threads that are refused by one server. */
static void refused(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	start(x, i, "");
	worker(x, t, p);
	line(x,
	     "%ld %d fd pid=100 fd=7 mode=0140000 ino=%d family=2 role=3 socktype=1 sport=%d "
	     "dport=99 saddr=10.255.0.1 daddr=10.0.0.9",
	     t + 4, p, 500000 + i, 2000 + i);
	line(x,
	     "%ld %d tcp_state sock=%d ino=%d family=2 sport=%d dport=99 from=2 to=7 "
	     "saddr=10.255.0.1 daddr=10.0.0.9 error=-111",
	     t + 5, p, 70000 + i, 500000 + i, 2000 + i);
	line(x, "%ld %d syscall_args nr=connect arg0=7 dur=2 ret=-111", t + 6, p);
	line(x, "%ld %d syscall nr=close fd=7 ret=0 dur=1", t + 7, p);
	line(x, "%ld %d switch next=100 prio=120 state=1", t + 8, p);
}

/* Questions in datagrams to many peers, half of them answered. */
static void asked_in_datagrams(struct buf *x, int i, long t)
{
	start(x, i, "13 100 fd pid=100 fd=7 mode=0140000 ino=77 family=2 socktype=2 sport=5353\n");
	line(x, "%ld 100 datagram family=2 dport=53 daddr=10.0.%d.%d", t, i / 250, i % 250);
	line(x, "%ld 100 syscall_args nr=sendto arg0=7 arg2=30 dur=2 ret=30", t);
	if (i % 2)
		line(x,
		     "%ld 100 datagram family=2 dport=53 daddr=10.0.%d.%d\n"
		     "%ld 100 syscall_args nr=recvfrom arg0=7 arg2=300 dur=2 ret=30",
		     t + 900, i / 250, i % 250, t + 900);
	line(x, "%ld 100 syscall_args nr=poll arg2=9 dur=9 ret=0", t + 990);
}

/* Threads that wait for good, each for the lock of the one before, with a request. */
static void chained(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	start(x, i, "");
	worker(x, t, p);
	accepted(x, t + 4, p, 100, i);
	line(x, "%ld %d syscall nr=read fd=%d ret=9 count=99 dur=2", t + 5, p, 10 + i);
	line(x, "%ld %d futex_wait address=%d value=2 holder=%d own=%d", t + 6, p, 0x5000 + 64 * i,
	     p - 1, p);
	line(x, "%ld %d switch next=100 prio=120 state=1", t + 8, p);
	line(x, "@recorder\n%ld %d sleeper dur=%ld pid=100\n@cpu 0", t + 9, p, t);
}

/* Processes that are killed while they serve, each with the port of the one before. */
static void killed(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	start(x, i, "");
	line(x, "%ld 100 fork child=%d child_pid=%d pid=100 comm=\"server\"", t, p, p);
	line(x, "%ld 100 wakeup_new target=%d prio=120", t + 1, p);
	line(x, "%ld 100 switch next=%d prio=120 state=1", t + 3, p);
	line(x, "%ld %d fd pid=%d fd=3 mode=0140000 ino=%d family=2 role=1 socktype=1 sport=80",
	     t + 4, p, p, 900000 + i);
	accepted(x, t + 5, p, p, i);
	line(x, "%ld %d syscall nr=read fd=%d ret=9 count=99 dur=2", t + 6, p, 10 + i);
	line(x, "%ld %d switch next=100 prio=120 state=1", t + 7, p);
	line(x, "%ld 100 signal_sent target=%d pid=%d number=9 sender=100 comm=\"server\"", t + 9,
	     p, p);
	line(x, "%ld 100 switch next=%d prio=120 state=1", t + 10, p);
	line(x, "%ld %d exit pid=%d\n%ld %d ended pid=%d parent=100 code=9", t + 12, p, p, t + 13,
	     p, p);
	line(x, "%ld %d switch next=100 prio=120 state=128", t + 14, p);
}

/* Locks of one file, each process waits for the one before. */
static void file_locks(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	start(x, i, "");
	line(x, "%ld 100 fork child=%d child_pid=%d pid=100 comm=\"locker\"", t, p, p);
	line(x, "%ld %d fd pid=%d fd=5 mode=0100000 ino=9 dev=8 path=\"/f\"", t + 1, p, p);
	line(x, "%ld %d syscall_args nr=fcntl arg0=5 arg1=7 arg3=1 dur=800 ret=0 flags=16", t + 900,
	     p);
	line(x, "@recorder\n%ld 0 file_lock ino=9 dev=8 from=%d to=%d pid=%d holder=%d flags=1",
	     t + 950, i, i, p, i ? p - 1 : 0);
	line(x, "%ld 0 file_lock ino=9 dev=8 from=%d to=%d pid=%d holder=%d flags=5\n@cpu 0",
	     t + 951, i, i, p, i ? p - 1 : 0);
}

/* Requests of one thread that fail, each of another client, in deadlocks; answers sent again. */
static void deadlocked(struct buf *x, int i, long t)
{
	start(x, i, "13 0 request_name id=1 protocol=6 name=\"Query SELECT\"\n");
	line(x,
	     "%ld 0 connection conn=%d sock=%d ino=%d family=2 sport=80 dport=%d side=1 "
	     "saddr=10.255.0.1 daddr=10.0.%d.%d",
	     t, i + 1, 70000 + i, 500000 + i, 2000 + i, i / 250, i % 250);
	accepted(x, t + 1, 100, 100, i);
	line(x, "%ld 0 segment conn=%d pos=1 len=99", t + 2, i + 1);
	line(x, "%ld 100 head conn=%d pos=1 len=99 name=1 requests=1", t + 5, i + 1);
	line(x, "%ld 100 syscall nr=read fd=%d ret=99 count=999 dur=2", t + 5, 10 + i);
	line(x, "%ld 100 answer conn=%d pos=1 len=99 status=1 protocol=6 code=\"40P01\"", t + 9,
	     i + 1);
	line(x, "%ld 100 syscall nr=write fd=%d ret=99 count=99 dur=2", t + 9, 10 + i);
	line(x,
	     "%ld 0 tcp_retransmit sock=%d ino=%d family=2 sport=80 dport=%d state=1 "
	     "saddr=10.255.0.1 daddr=10.0.%d.%d",
	     t + 20, 70000 + i, 500000 + i, 2000 + i, i / 250, i % 250);
	line(x, "%ld 0 segment conn=%d pos=100 len=0 written=100 flags=8", t + 900000, i + 1);
}

/* The same on one connection, with a name for each request. */
static void deadlocked_on_one(struct buf *x, int i, long t)
{
	start(x, i,
	      "13 0 connection conn=1 sock=7 ino=500000 " PEERS " sport=80 dport=99 side=1\n"
	      "14 100 fd pid=100 fd=10 " INET " role=2 ino=500000 sport=80 dport=99\n");
	line(x, "@recorder\n%ld 0 request_name id=%d protocol=6 name=\"Query X%d\"\n@cpu 0", t,
	     1 + i, i);
	line(x, "%ld 0 segment conn=1 pos=%d len=9", t + 4, 1 + 9 * i);
	line(x, "%ld 100 head conn=1 pos=%d len=9 name=%d requests=1", t + 5, 1 + 9 * i, 1 + i);
	line(x, "%ld 100 syscall nr=read fd=10 ret=9 count=999 dur=2", t + 5);
	line(x, "%ld 100 answer conn=1 pos=%d len=9 status=1 protocol=6 code=\"40P01\"", t + 9,
	     1 + 9 * i);
	line(x, "%ld 100 syscall nr=write fd=10 ret=9 count=9 dur=2", t + 9);
}

/* Errors with a code each, of threads of their own. */
static void failing(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	start(x, i, "13 0 request_name id=1 protocol=4 name=\"GET\"\n");
	worker(x, t, p);
	line(x,
	     "%ld 0 connection conn=%d sock=%d ino=%d family=2 sport=80 dport=%d side=1 "
	     "saddr=10.255.0.1 daddr=10.0.%d.%d",
	     t + 4, i + 1, 70000 + i, 500000 + i, 2000 + i, i / 250, i % 250);
	accepted(x, t + 4, p, 100, i);
	line(x, "%ld 0 segment conn=%d pos=1 len=99", t + 4, i + 1);
	line(x, "%ld %d head conn=%d pos=1 len=99 name=1 requests=1", t + 5, p, i + 1);
	line(x, "%ld %d syscall nr=read fd=%d ret=99 count=999 dur=2", t + 5, p, 10 + i);
	line(x, "%ld %d answer conn=%d pos=1 len=99 status=1 protocol=4 code=\"E%d\"", t + 9, p,
	     i + 1, i);
	line(x, "%ld %d syscall nr=write fd=%d ret=99 count=99 dur=2", t + 9, p, 10 + i);
	line(x, "%ld %d switch next=100 prio=120 state=1", t + 12, p);
}

/* Threads that need memory, each in a cgroup at its limit. */
static void reclaimed(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	start(x, i, "");
	line(x, "%ld 100 cgroup_made id=%d parent=%d path=\"/a/%d\"", t, p, i ? p - 1 : 9, i);
	worker(x, t, p);
	accepted(x, t + 4, p, 100, i);
	line(x, "%ld %d cgroup_move cgroup=%d target=%d", t + 4, p, p, p);
	line(x, "%ld %d syscall nr=read fd=%d ret=9 count=99 dur=2", t + 5, p, 10 + i);
	line(x, "%ld %d reclaim dur=500 pages=9 kind=%d", t + 600, p, i % 3);
	line(x, "%ld %d syscall nr=write fd=%d ret=9 count=99 dur=2", t + 620, p, 10 + i);
	line(x, "%ld %d switch next=100 prio=120 state=1", t + 625, p);
	line(x,
	     "@recorder\n%ld 0 cgroup_memory cgroup=%d current=9 max=9 hit_max=%d path=\"/a/%d\"",
	     t + 700, p, i, i);
	line(x, "%ld 0 psi cgroup=%d some=%d resource=2 path=\"/a/%d\"\n@cpu 0", t + 701, p, 10 * i,
	     i);
}

/* Stacks of code of its own for each thread, as it runs, waits, and waits at the end. */
static void stacks(struct buf *x, int i, long t)
{
	int p = 1000 + i, id = i + 1;

	start(x, i, "");
	line(x, "@recorder\n%ld 0 module id=%d kind=3 path=\"/lib/m%d\"", t, id, i);
	line(x, "%ld 0 frame id=%d address=4096 module=%d", t, id, id);
	line(x, "%ld 0 symbol frame=%d source=1 text=\"f%d\"", t, id, i);
	line(x, "%ld 0 stack id=%d caller=%d frame=%d\n@cpu 0", t, id, i % 100 ? i : 0, id);
	worker(x, t, p);
	line(x, "%ld %d sample weight=10000 user_stack=%d pid=100 cpu=0", t + 4, p, id);
	line(x, "%ld %d switch next=100 prio=120 state=1", t + 9, p);
	line(x, "%ld 100 switch next=%d prio=120 state=1", t + 900, p);
	line(x, "%ld %d offcpu dur=891 user_stack=%d pid=100 state=1", t + 900, p, id);
	line(x, "%ld %d switch next=100 prio=120 state=1", t + 910, p);
	line(x, "@recorder\n%ld %d sleeper dur=9 user_stack=%d pid=100\n@cpu 0", t + 920, p, id);
}

/* Requests that wait for a server of their own each, which does not answer. */
static void silent_servers(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	start(x, i, "");
	worker(x, t, p);
	accepted(x, t + 4, p, 100, i);
	line(x,
	     "%ld %d fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=3 socktype=1 sport=%d "
	     "dport=99 saddr=10.255.0.1 daddr=10.1.%d.%d",
	     t + 4, p, 5000 + i, 800000 + i, 2000 + i, i / 250, i % 250);
	line(x, "%ld %d syscall nr=read fd=%d ret=9 count=99 dur=2", t + 5, p, 10 + i);
	line(x, "%ld %d syscall nr=write fd=%d ret=9 count=9 dur=1", t + 6, p, 5000 + i);
	line(x, "%ld %d switch next=100 prio=120 state=1", t + 8, p);
}

/* Processes at their limit of open files. */
static void without_fds(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	start(x, i, "");
	line(x, "%ld 100 fork child=%d child_pid=%d pid=100 comm=\"s%d\"", t, p, p, i);
	line(x, "%ld %d fd pid=%d fd=3 mode=0140000 ino=%d family=2 role=1 socktype=1 sport=%d",
	     t + 1, p, p, 900000 + i, 1 + i);
	line(x, "%ld %d syscall_args nr=accept4 arg0=3 dur=3 ret=-24", t + 9, p);
	line(x, "@recorder\n%ld %d limits files=10\n@cpu 0", t + 10, p);
}

/* Spans with keys, io_uring requests and disk requests under way; reads of a file at many places.
 */
static void under_way(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	start(x, i,
	      "13 0 site id=5 flags=4 text=\"/bin/x:a:b\"\n"
	      "14 100 fd pid=100 fd=5 mode=0100000 ino=5000 dev=8 path=\"/f\"\n");
	worker(x, t, p);
	line(x, "%ld %d usdt site=5 which=3 args=1 arg0=%d text=\"s%d\"", t + 4, p, i, i);
	line(x, "%ld %d uring_submit request=%d ring=5 user_data=%d ino=%d dev=8 opcode=22", t + 5,
	     p, i + 1, i, 9000 + i);
	line(x,
	     "%ld %d file_io pos=%d size=100000000 ino=5000 dev=8 fd=5 bytes=9 count=9 nr=pread64 "
	     "flags=8",
	     t + 6, p, i * 7919 % 20000 * 100);
	line(x, "%ld %d syscall_args nr=pread64 arg0=5 arg2=9 ret=9 dur=1", t + 6, p);
	line(x, "%ld %d block_start request=%d sector=%d dev=7 bytes=4096", t + 7, p, i + 1, 8 * i);
	line(x, "%ld %d switch next=100 prio=120 state=2 flags=2", t + 8, p);
	if (i % 2)
		line(x, "%ld 0 block_complete request=%d sector=%d dev=7 bytes=4096", t + 900,
		     i / 2, 8 * (i / 2 - 1));
	if (i % 2)
		line(x, "%ld 0 uring_complete request=%d ring=5 user_data=%d ret=9", t + 901, i / 2,
		     i / 2 - 1);
	if (i % 2)
		line(x, "%ld 100 usdt site=5 which=4 args=1 arg0=%d", t + 902, i / 2);
}

/* Sockets with an address in the file system. */
static void unix_sockets(struct buf *x, int i, long t)
{
	start(x, i, "");
	line(x, "%ld 0 connection conn=%d sock=%d ino=%d family=1", t, i + 1, 70000 + i,
	     500000 + i);
	line(x, "%ld 100 fd pid=100 fd=%d mode=0140000 ino=%d family=1 socktype=2 path=\"/s%d\"",
	     t + 1, 10 + i, 500000 + i, i);
	line(x, "%ld 0 ready conn=%d len=9 queued=1", t + 2, i + 1);
	line(x, "%ld 100 syscall_args nr=recvfrom arg0=%d arg2=99 ret=9 dur=2", t + 5, 10 + i);
}

#define LINEAR(unit)                        \
	static void of_##unit(void **state) \
	{                                   \
		(void)state;                \
		grows_linearly(unit);       \
	}
LINEAR(turned_away)
LINEAR(refused)
LINEAR(asked_in_datagrams)
LINEAR(chained)
LINEAR(killed)
LINEAR(file_locks)
LINEAR(deadlocked)
LINEAR(deadlocked_on_one)
LINEAR(failing)
LINEAR(reclaimed)
LINEAR(stacks)
LINEAR(silent_servers)
LINEAR(without_fds)
LINEAR(under_way)
LINEAR(unix_sockets)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(of_turned_away),
		T(of_refused),
		T(of_asked_in_datagrams),
		T(of_chained),
		T(of_killed),
		T(of_file_locks),
		T(of_deadlocked),
		T(of_deadlocked_on_one),
		T(of_failing),
		T(of_reclaimed),
		T(of_stacks),
		T(of_silent_servers),
		T(of_without_fds),
		T(of_under_way),
		T(of_unix_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
