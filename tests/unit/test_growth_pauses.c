// SPDX-License-Identifier: GPL-2.0-or-later
/* Work that grows with pauses, leaks, restarts and silent peers: one shape for each. */
#include "tests/lib/growth.h"

#define SECOND	  1000 /* of the time between units, which is 1 ms */
#define MS	  1000000L
#define LISTENING "mode=0140000 family=2 role=1 socktype=1"
#define ACCEPTED  "mode=0140000 family=2 role=2 socktype=1"
#define CONNECTED "mode=0140000 family=2 role=3 socktype=1"

/* Facts of the start, before the first unit; a server on port 80 with clients as fds 5 to 8. */
static void start(struct buf *x, int i, const char *facts)
{
	int fd;

	if (i > 0)
		return;
	line(x, "@recorder\n12 0 info text=\"groups=core,syscalls,sched,block,uprobe,net,files,"
		"process,requests\"\n13 0 request_name id=1 protocol=1 name=\"GET /\"");
	line(x, "13 200 thread pid=200 state=83 comm=\"logger\"");
	for (fd = 5; fd < 9; fd++)
		line(x,
		     "13 100 fd pid=100 fd=%d " ACCEPTED " ino=%d sport=80 dport=%d saddr=127.0.0.1"
		     " daddr=10.0.0.9",
		     fd, 1000 + fd, 40000 + fd);
	line(x, "%s@cpu 0", facts);
}

static void wakes(struct buf *x, long t, int fd)
{
	line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", t, t + 1000);
	line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1", t + 2000);
	line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", t + 3000, fd);
}

static void answers(struct buf *x, long t, int fd)
{
	line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", t, fd);
	line(x, "%ld 100 switch next=0 state=1", t + 1000);
}

/* Requests that are answered at once. */
static void served(struct buf *x, long t, int n, long gap)
{
	int k;

	for (k = 0; k < n; k++) {
		wakes(x, t + k * gap, 5 + k % 3);
		answers(x, t + k * gap + 24000, 5 + k % 3);
	}
}

/* Each second, the thread waits 300 ms for a write to a file. */
static void paused_by_a_file(struct buf *x, int i, long t)
{
	t *= SECOND;
	start(x, i, "13 100 fd pid=100 fd=12 mode=0100644 ino=50 dev=8 path=\"/log\"\n");
	served(x, t, 16, 10 * MS);
	wakes(x, t + 300 * MS, 7);
	line(x, "%ld 100 syscall nr=write fd=12 ret=9000 count=9000 dur=%ld", t + 599 * MS,
	     298 * MS);
	answers(x, t + 600 * MS, 7);
}

/* The same for a full pipe. */
static void paused_by_a_pipe(struct buf *x, int i, long t)
{
	t *= SECOND;
	start(x, i,
	      "13 100 fd pid=100 fd=14 mode=0010600 ino=77 path=\"pipe:[77]\"\n"
	      "13 200 fd pid=200 fd=0 mode=0010600 ino=77 path=\"pipe:[77]\"\n");
	served(x, t, 16, 10 * MS);
	wakes(x, t + 300 * MS, 7);
	line(x, "%ld 100 switch next=0 state=1", t + 301 * MS);
	line(x, "%ld 0 switch next=200", t + 590 * MS);
	line(x, "%ld 200 syscall nr=read fd=0 ret=4096 count=4096 dur=200", t + 591 * MS);
	line(x, "%ld 200 waking target=100", t + 592 * MS);
	line(x, "%ld 200 switch next=100 state=1", t + 593 * MS);
	line(x, "%ld 100 syscall nr=write fd=14 ret=9 count=9 dur=%ld", t + 594 * MS, 293 * MS);
	answers(x, t + 600 * MS, 7);
}

/* The same for a file that the thread reads again, as a signal asks. */
static void paused_by_a_signal(struct buf *x, int i, long t)
{
	t *= SECOND;
	start(x, i, "");
	served(x, t, 16, 10 * MS);
	line(x, "%ld 200 signal_sent target=100 pid=100 number=1 sender=200 comm=\"logger\"",
	     t + 299 * MS);
	wakes(x, t + 300 * MS, 7);
	line(x, "%ld 100 file_open nr=openat ret=9 dur=1 dir=-100 path=\"/conf%d\"", t + 302 * MS,
	     i);
	answers(x, t + 600 * MS, 7);
}

/* Each request keeps a connection of its own, and the thread waits for a lock at its end. */
static void leaking(struct buf *x, int i, long t)
{
	t *= SECOND;
	start(x, i, "");
	served(x, t, 16, 10 * MS);
	wakes(x, t + 300 * MS, 7);
	line(x,
	     "%ld 100 fd pid=100 fd=%d " CONNECTED " ino=%d sport=%d dport=5432 saddr=127.0.0.1"
	     " daddr=10.0.0.7",
	     t + 301 * MS, 50 + i, 20000 + i, 5000 + i);
	line(x, "%ld 100 syscall nr=write fd=%d ret=9 count=9 dur=2", t + 302 * MS, 50 + i);
	line(x, "%ld 100 syscall nr=read fd=%d ret=9 count=9 dur=2", t + 303 * MS, 50 + i);
	line(x, "%ld 100 switch next=0 state=1", t + 304 * MS);
	line(x, "%ld 0 waking target=100 context=2\n%ld 0 switch next=100", t + 500 * MS,
	     t + 500 * MS + 9);
	line(x, "%ld 100 syscall_args nr=futex arg0=4096 dur=%ld ret=-110", t + 501 * MS, 196 * MS);
	answers(x, t + 502 * MS, 7);
}

/* Each second, another process listens on the port that the server asks; none for 300 ms. */
static void replaced(struct buf *x, int i, long t)
{
	int p = 1000 + i;

	t *= SECOND;
	start(x, i, "");
	served(x, t, 16, 10 * MS);
	line(x, "%ld 200 fork child=%d child_pid=%d pid=200 comm=\"app\"", t + 200 * MS, p, p);
	line(x, "%ld 200 wakeup_new target=%d prio=120\n%ld 0 switch next=%d", t + 200 * MS + 1, p,
	     t + 201 * MS, p);
	line(x, "%ld %d fd pid=%d fd=3 " LISTENING " ino=%d sport=81", t + 202 * MS, p, p,
	     30000 + i);
	line(x,
	     "%ld 100 fd pid=100 fd=50 " CONNECTED " ino=%d sport=%d dport=81 saddr=10.0.0.1"
	     " daddr=10.0.0.2",
	     t + 203 * MS, 40000 + i, 5000 + i);
	line(x,
	     "%ld %d fd pid=%d fd=4 " ACCEPTED " ino=%d sport=81 dport=%d saddr=10.0.0.2"
	     " daddr=10.0.0.1",
	     t + 204 * MS, p, p, 50000 + i, 5000 + i);
	line(x, "%ld 200 signal_sent target=%d pid=%d number=15 sender=200 comm=\"sh\"",
	     t + 500 * MS, p, p);
	line(x, "%ld %d syscall nr=close fd=3 ret=0 dur=1", t + 502 * MS, p);
	line(x, "%ld %d exit pid=%d\n%ld %d ended pid=%d parent=200 code=15", t + 503 * MS, p, p,
	     t + 503 * MS + 1, p, p);
	line(x, "%ld %d switch next=0 state=128", t + 504 * MS, p);
	wakes(x, t + 510 * MS, 7);
	line(x, "%ld 100 syscall nr=close fd=50 ret=0 dur=1", t + 511 * MS);
	answers(x, t + 900 * MS, 7);
}

/* A name server is asked, on sockets of their own, and answers nothing; each request fails. */
static void without_names(struct buf *x, int i, long t)
{
	start(x, i, "14 0 connection sock=1 ino=1007 conn=1 family=2 side=1\n");
	served(x, t, 2, 50000);
	line(x, "%ld 0 segment conn=1 pos=%d len=29", t + 300000 - 9, 29 * i);
	wakes(x, t + 300000, 7);
	line(x, "%ld 100 head conn=1 pos=%d len=29 name=1 requests=1", t + 300000 + 3000, 29 * i);
	line(x,
	     "%ld 100 fd pid=100 fd=%d mode=0140000 family=2 role=3 socktype=2 ino=%d sport=%d"
	     " dport=53 saddr=127.0.0.1 daddr=10.0.%d.%d",
	     t + 301000, 50 + i, 20000 + i, 5000 + i, i / 250, i % 250);
	line(x, "%ld 100 syscall nr=sendto fd=%d ret=40 count=40 dur=2", t + 302000, 50 + i);
	line(x, "%ld 100 answer conn=1 pos=%d len=900 status=502 protocol=1", t + 400000, 900 * i);
	answers(x, t + 400000, 7);
}

/* Requests are answered by two writes, the second of which waits for the ACK of the first. */
static void delayed_acks(struct buf *x, int i, long t)
{
	t *= SECOND;
	start(x, i, "14 0 connection sock=1 ino=1007 conn=1 family=2 side=1\n");
	line(x, "%ld 0 segment conn=1 pos=%d len=29 written=%d unacked=0", t - 9, 29 * i, 956 * i);
	wakes(x, t, 7);
	line(x, "%ld 100 syscall nr=write fd=7 ret=56 count=56 dur=200", t + 10000);
	answers(x, t + 20000, 7);
	line(x, "%ld 0 segment conn=1 pos=%d len=0 written=%d unacked=0", t + 40 * MS, 29 * i + 29,
	     956 * i + 956);
}

/* Questions of a waiting thread, whose waker has read from a peer before. */
static void awaited(struct buf *x, int i, long t)
{
	t *= SECOND;
	start(x, i,
	      "13 200 fd pid=200 fd=30 " ACCEPTED " ino=2000 sport=81 dport=5000"
	      " saddr=10.0.0.1 daddr=10.0.0.7\n");
	served(x, t, 16, 10 * MS);
	wakes(x, t + 300 * MS, 7);
	line(x, "%ld 100 switch next=0 state=1", t + 301 * MS);
	line(x, "%ld 0 switch next=200", t + 590 * MS);
	line(x, "%ld 200 syscall nr=read fd=30 ret=34 count=4096 dur=200", t + 591 * MS);
	line(x, "%ld 200 waking target=100", t + 592 * MS);
	line(x, "%ld 200 switch next=100 state=1", t + 593 * MS);
	line(x, "%ld 100 syscall nr=epoll_wait fd=4 ret=1 dur=%ld", t + 594 * MS, 293 * MS);
	answers(x, t + 600 * MS, 7);
}

#define LINEAR(unit)                        \
	static void of_##unit(void **state) \
	{                                   \
		(void)state;                \
		grows_linearly(unit);       \
	}
LINEAR(paused_by_a_file)
LINEAR(paused_by_a_pipe)
LINEAR(paused_by_a_signal)
LINEAR(leaking)
LINEAR(replaced)
LINEAR(without_names)
LINEAR(delayed_acks)
LINEAR(awaited)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(of_paused_by_a_file), T(of_paused_by_a_pipe), T(of_paused_by_a_signal),
		T(of_leaking),		T(of_replaced),		T(of_without_names),
		T(of_delayed_acks),	T(of_awaited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
