/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings of a server, in text, for tests of its pauses. */
#pragma once

#include "analyze/analyses/analysis.h"
#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#define MS 1000000L

/* A value of the finding that names the cause of pauses. */
#define CAUSE_VALUE(what, name_) FINDING_VALUE("pause_cause", name_, what)

static inline void connection(struct text *x, int pid, int fd)
{
	text_line(
		x,
		"20 %d fd pid=%d fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80 dport=%d "
		"saddr=127.0.0.1 daddr=10.0.0.9",
		pid, pid, fd, 1000 * pid + fd, 40000 + fd);
}

static inline void head(struct text *x)
{
	int i;

	text_line(
		x,
		"@recorder\n1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,sched\"");
	text_line(x, "4 100 thread pid=100 state=83 comm=\"server\" cmdline=\"server\"");
	text_line(x, "5 101 thread pid=100 state=83 comm=\"server\"");
	text_line(x, "6 200 thread pid=200 state=83 comm=\"server\" cmdline=\"server\"");
	for (i = 5; i < 9; i++) {
		connection(x, 100, i);
		connection(x, 200, i);
	}
	text_line(x, "30 0 info text=\"snapshot=30\"\n31 0 info text=\"begin=31\"\n@cpu 0");
	x->t = MS;
}

/* The same with thread 100 in cgroup 7, next to thread 300 of another program. */
static inline void head_in_cgroup(struct text *x, const char *other)
{
	head(x);
	text_line(x, "@recorder\n33 0 cgroup id=7 path=\"/web\"");
	text_line(x, "34 100 thread pid=100 state=83 cgroup=7 comm=\"server\"");
	text_line(x, "35 300 thread pid=300 state=83 comm=\"%s\"", other);
}

/* The thread wakes, reads on fd, works, answers, and sleeps in epoll_wait. */
static inline void request(struct text *x, int tid, int fd, long work)
{
	text_line(x, "%ld 0 waking target=%d context=1", x->t, tid);
	text_line(x, "%ld 0 switch next=%d", x->t + 1000, tid);
	text_line(x, "%ld %d syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1", x->t + 2000,
		  tid);
	text_line(x, "%ld %d syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 3000, tid, fd);
	text_line(x, "%ld %d syscall nr=write fd=%d ret=900 count=900 dur=200", x->t + 4000 + work,
		  tid, fd);
	text_line(x, "%ld %d switch next=0 state=1", x->t + 5000 + work, tid);
	x->t += 6000 + work;
}

static inline void many(struct text *x, int tid, int n, long gap)
{
	int i;

	for (i = 0; i < n; i++) {
		request(x, tid, 5 + i % 3, 20000);
		x->t += gap;
	}
}

static inline sqlite3 *answered(struct text *x)
{
	text_line(x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x->t, x->t);
	return analysed(loaded_buf(&x->b), "pauses");
}

/* The same after more requests, and a change of the tables, if any, and judged: the pauses are a
 * problem. */
static inline sqlite3 *judged_after(struct text *x, const char *change)
{
	sqlite3 *db;

	text_line(x, "%ld 100 syscall nr=write fd=7 ret=900 count=900 dur=200", x->t);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 1000);
	x->t += MS;
	many(x, 100, 600, MS);
	db = changed(answered(x), change);
	analysed(db, "verdict");
	is_text(db, "SELECT status || kind FROM verdict WHERE rank=1", "problempauses");
	return db;
}

static inline sqlite3 *judged(struct text *x)
{
	return judged_after(x, NULL);
}

/* 100 wakes and reads a request. */
static inline void wakes(struct text *x)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
		  x->t + 2000);
	text_line(x, "%ld 100 syscall nr=read fd=7 ret=29 count=99 dur=200", x->t + 3000);
}

/* Then it sleeps in call for 300 ms; waker 0: an interrupt ends that. */
static inline void stays(struct text *x, const char *call, int fd, int waker)
{
	long t = x->t;

	text_line(x, "%ld 100 switch next=0 state=1", t + 10000);
	text_line(x, "%ld %d waking target=100%s", t + 300 * MS, waker, waker ? "" : " context=1");
	text_line(x, "%ld 0 switch next=100", t + 300 * MS + 1000);
	text_line(x, "%ld 100 syscall%s nr=%s %s=%d ret=1 dur=%ld", t + 300 * MS + 2000,
		  fd < 0 ? "_args" : "", call, fd < 0 ? "arg0" : "fd", fd < 0 ? 4 : fd,
		  300 * MS - 6000);
	x->t = t + 300 * MS + 4000;
}

static inline void sleeps(struct text *x, const char *call, int fd, int waker)
{
	wakes(x);
	stays(x, call, fd, waker);
}
