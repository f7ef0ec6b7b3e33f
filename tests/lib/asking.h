/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For unit tests: requests with names and arrivals, as text (textpack.h). */
#pragma once

#include "format/buf.h"

#define NAMES	4
#define SECONDS 10

/* A request of a name on the connection of one: it arrives at ts, is read and answered later. */
static inline void ask_on(struct buf *b, int conn, int name, int reader, int tid, long ts,
			  long read, long end)
{
	static long at[NAMES + 1];
	struct err e = { 0 };
	long pos = at[conn] += 10;
	int fd = 4 + conn;

	buf_printf(b, &e, "%ld 0 segment conn=%d pos=%ld len=10 unread=0\n", ts, conn, pos);
	buf_printf(b, &e, "%ld %d syscall nr=read fd=%d dur=1 ret=10\n", read, reader, fd);
	buf_printf(b, &e, "%ld %d head conn=%d pos=%ld len=10 name=%d requests=1\n", read, reader,
		   conn, pos, name);
	buf_printf(b, &e, "%ld %d syscall nr=write fd=%d dur=1 ret=20\n", end, tid, fd);
}

static inline void ask_and(struct buf *b, int name, int reader, int tid, long ts, long read,
			   long end)
{
	ask_on(b, name, name, reader, tid, ts, read, end);
}

static inline void ask(struct buf *b, int name, int tid, long ts, long read, long end)
{
	ask_and(b, name, tid, tid, ts, read, end);
}

/* A request at t ms of a name that has a thread of its own; it takes so long, and a little. */
static inline void ask_own(struct buf *b, int name, long t, long took)
{
	ask(b, name, 100 + name, t * 1000000L, t * 1000000L + 20000,
	    t * 1000000L + took + t * 137 % 50000);
}

/* An answer of 20 bytes that reports an error. */
static inline void error_of(struct buf *x, long ts, int conn, int status, int protocol)
{
	struct err e = { 0 };

	buf_printf(x, &e, "%ld 100 answer conn=%d pos=0 len=20 status=%d protocol=%d%s\n", ts, conn,
		   status, protocol, status == 1 ? " code=\"25P03\"" : "");
}

static inline void begin_host(struct buf *b)
{
	static const char *const names[NAMES] = { "GET /a", "GET /report/:id", "GET /c", "KEYS" };
	struct err e = { 0 };
	int i;

	buf_printf(b, &e,
		   "@recorder\n0 0 info text=\"targets=all\"\n"
		   "1 0 info text=\"groups=core,syscalls,sched,requests\"\n"
		   "2 100 thread pid=100 state=83 comm=\"server\"\n");
	for (i = 1; i <= NAMES; i++) {
		buf_printf(b, &e, "3 10%d thread pid=100 state=83 comm=\"server\"\n", i);
		buf_printf(b, &e,
			   "4 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1"
			   " sport=80 dport=%d daddr=10.0.0.%d\n",
			   4 + i, 70 + i, i, i);
		buf_printf(b, &e, "4 0 request_name id=%d protocol=1 name=\"%s\"\n", i,
			   names[i - 1]);
	}
	buf_printf(b, &e,
		   "8 0 clock monotonic=8 realtime=1700000000000000000 boottime=8\n"
		   "10 0 info text=\"begin=10\"\n%ld 0 info text=\"stopped=%ld\"\n",
		   SECONDS * 1000 * 1000000L, SECONDS * 1000 * 1000000L);
	buf_printf(b, &e, "@cpu 0\n90 0 waking target=100\n90 0 switch next=100\n");
	for (i = 1; i <= NAMES; i++)
		buf_printf(b, &e, "100 0 connection sock=%d ino=%d conn=%d family=2 side=1\n", i,
			   70 + i, i);
}

/* Connections that have no names, of port 80; the last one is of port 81. */
#define MORE_FIRST 9
#define MORE	   12
#define OTHER_PORT (MORE_FIRST + MORE - 1)

/* After begin_host. */
static inline void begin_more(struct buf *b)
{
	struct err e = { 0 };
	int i;

	buf_printf(b, &e, "@recorder\n");
	for (i = MORE_FIRST; i <= OTHER_PORT; i++)
		buf_printf(b, &e,
			   "5 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1"
			   " sport=%d dport=%d daddr=10.0.0.%d\n",
			   i, 70 + i, i == OTHER_PORT ? 81 : 80, i, i);
	buf_printf(b, &e, "@cpu 0\n");
	for (i = MORE_FIRST; i <= OTHER_PORT; i++)
		buf_printf(b, &e, "100 0 connection sock=%d ino=%d conn=%d family=2 side=1\n", i,
			   70 + i, i);
}

/* An exchange on one of these. */
static inline void ask_more(struct buf *b, int fd, int reader, int tid, long ts, long read,
			    long end)
{
	static long at[OTHER_PORT + 1];
	struct err e = { 0 };

	buf_printf(b, &e, "%ld 0 segment conn=%d pos=%ld len=10 unread=0\n", ts, fd, at[fd] += 10);
	buf_printf(b, &e, "%ld %d syscall nr=read fd=%d dur=1 ret=10\n", read, reader, fd);
	buf_printf(b, &e, "%ld %d syscall nr=write fd=%d dur=1 ret=20\n", end, tid, fd);
}
