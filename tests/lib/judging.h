/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings of a server, request by request, and their verdict. */
#pragma once

#include "loaded.h"

#include <stdlib.h>

#define MS 1000000L

/* A server with one thread; connections from fd 5 on. */
static inline void head_of(struct text *x, int connections)
{
	int i;

	text_line(x, "@recorder\n0 0 clock monotonic=1 realtime=1795345200000000001 boottime=1");
	text_line(x, "1 0 info text=\"targets=all\"\n2 0 info text=\"groups=core,syscalls,sched\"");
	text_line(x, "4 100 thread pid=100 state=83 comm=\"server\" cmdline=\"server\"");
	for (i = 5; i < 5 + connections; i++)
		text_line(
			x,
			"20 100 fd pid=100 fd=%d mode=0140000 ino=%d family=2 role=2 socktype=1 sport=80 "
			"dport=%d saddr=127.0.0.1 daddr=10.0.0.9",
			i, 1000 + i, 40000 + i);
	text_line(x, "30 0 info text=\"snapshot=30\"\n31 0 info text=\"begin=31\"\n@cpu 0");
	x->t = MS;
}

static inline void head(struct text *x)
{
	head_of(x, 4);
}

/* One request, that takes work ns. */
static inline void request(struct text *x, int fd, long work)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
		  x->t + 2000);
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 3000, fd);
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", x->t + 4000 + work,
		  fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 5000 + work);
	x->t += 6000 + work;
}

/* As request, but it sleeps instead of computing. */
static inline void sleeping(struct text *x, int fd, long work)
{
	text_line(x, "%ld 0 waking target=100 context=1\n%ld 0 switch next=100", x->t, x->t + 1000);
	text_line(x, "%ld 100 syscall_args nr=epoll_wait arg0=4 arg3=-1 dur=2000 ret=1",
		  x->t + 2000);
	text_line(x, "%ld 100 syscall nr=read fd=%d ret=29 count=99 dur=200", x->t + 3000, fd);
	text_line(x, "%ld 100 switch next=0 state=2", x->t + 3500);
	text_line(x, "%ld 0 waking target=100\n%ld 0 switch next=100", x->t + 3600 + work,
		  x->t + 3700 + work);
	text_line(x, "%ld 100 syscall nr=write fd=%d ret=900 count=900 dur=200", x->t + 4000 + work,
		  fd);
	text_line(x, "%ld 100 switch next=0 state=1", x->t + 5000 + work);
	x->t += 6000 + work;
}

/* n requests that take work ns, 3 of 4 up to half less, so that no two windows are equal. */
static inline void many(struct text *x, int n, long work, long gap)
{
	int i;

	for (i = 0; i < n; i++) {
		request(x, 5 + i % 3, work - (rand() % 4 ? rand() % (work / 2) : 0));
		x->t += gap;
	}
}

/* Ends the recording; facts: SQL to change it, or NULL. */
static inline sqlite3 *judged(struct text *x, const char *facts)
{
	static const char *const run[] = { "pauses", "verdict" };
	sqlite3 *db;
	size_t i;

	text_line(x, "@recorder\n%ld 0 info text=\"stopped=%ld\"", x->t, x->t);
	db = changed(loaded_buf(&x->b), facts);
	for (i = 0; i < 2; i++)
		analysed(db, run[i]);
	return db;
}

static inline void is_verdict(sqlite3 *db, const char *status, const char *kind)
{
	char sql[200];

	snprintf(sql, sizeof(sql), "SELECT status='%s' AND kind='%s' FROM verdict WHERE rank=1",
		 status, kind);
	if (!asked(db, sql)) {
		print_error("%s\n", sql);
		fail_msg("pauses %lld", (long long)asked(db, "SELECT pauses FROM verdict"));
	}
}
