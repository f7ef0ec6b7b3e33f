/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of a server with a process for each connection: 300, 400 and 600, children of 50. The
 * clients of 500 are not known.
 */
#pragma once

#include "tests/lib/pausing.h"

enum { BEGINS = 1, UPDATES, COMMITS };

static inline void backend(struct text *x, int pid, int conn)
{
	text_line(x, "5 %d thread pid=%d parent=50 state=83 comm=\"postgres\"", pid, pid);
	text_line(x,
		  "6 %d fd pid=%d fd=5 mode=0140000 ino=%d family=2 role=2 socktype=1 sport=5432"
		  " dport=%d saddr=127.0.0.1 daddr=10.0.0.%d",
		  pid, pid, 70 + conn, 4000 + conn, conn);
}

static inline void start(struct text *x, const char *facts)
{
	static const char *const names[] = { "Query BEGIN", "Query UPDATE", "Query COMMIT" };
	int i;

	text_line(x, "@recorder\n1 0 info text=\"targets=all\"\n2 0 info"
		     " text=\"groups=core,syscalls,sched,requests\"");
	text_line(x, "4 50 thread pid=50 state=83 comm=\"postgres\"");
	backend(x, 300, 1);
	backend(x, 400, 2);
	backend(x, 600, 3);
	text_line(x, "7 500 thread pid=500 parent=50 state=83 comm=\"postgres\"");
	for (i = BEGINS; i <= COMMITS; i++)
		text_line(x, "8 0 request_name id=%d protocol=6 name=\"%s\"", i, names[i - 1]);
	if (facts)
		text_line(x, "%s", facts);
	text_line(x, "30 0 info text=\"snapshot=30\"\n31 0 info text=\"begin=31\"\n@cpu 0");
	for (i = 1; i <= 3; i++)
		text_line(x, "%d 0 connection sock=%d ino=%d conn=%d family=2 side=1", 40 + i, i,
			  70 + i, i);
	x->t = MS;
}

static long position[4];
static int nameless; /* tid */

static inline int conn_of(int tid)
{
	return tid == 300 ? 1 : tid == 400 ? 2 : 3;
}

static inline void arrives(struct text *x, int tid, long ts)
{
	int conn = conn_of(tid);

	position[conn] += 10;
	text_line(x, "%ld 0 segment conn=%d pos=%ld len=10 unread=0", ts, conn, position[conn]);
}

/* The thread is on a CPU since ts - 1000 and reads a request there. */
static inline void reads(struct text *x, int tid, int name, long ts)
{
	int conn = conn_of(tid);

	text_line(x, "%ld 0 waking target=%d context=1\n%ld 0 switch next=%d", ts - 1500, tid,
		  ts - 1000, tid);
	text_line(x, "%ld %d syscall nr=recvfrom fd=5 dur=1 ret=10", ts, tid);
	if (tid != nameless)
		text_line(x, "%ld %d head conn=%d pos=%ld len=10 name=%d requests=1", ts, tid, conn,
			  position[conn], name);
}

static inline void answers(struct text *x, int tid, long ts)
{
	text_line(x, "%ld %d syscall nr=sendto fd=5 dur=1 ret=20\n%ld %d switch next=0 state=1", ts,
		  tid, ts + 1000, tid);
}

static inline void requests(struct text *x, int n)
{
	int i;

	for (i = 0; i < n; i++, x->t += MS) {
		text_line(x, "@cpu %d", i % 2);
		arrives(x, i % 2 ? 400 : 300, x->t + 1000);
		reads(x, i % 2 ? 400 : 300, BEGINS, x->t + 5000);
		answers(x, i % 2 ? 400 : 300, x->t + 50000);
	}
}
