/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For unit tests: recordings of servers, as text (textpack.h), and what is asked about them. */
#pragma once

#include "format/buf.h"

/* Process 100 with connections 5 and 6 on port 80, 7 on port 81, and datagrams on port 53. */
#define SERVER                                                                                    \
	"@recorder\n"                                                                             \
	"0 0 info text=\"targets=all\"\n1 0 info text=\"groups=core,syscalls\"\n"                 \
	"2 100 thread pid=100 state=83 comm=\"server\"\n3 101 thread pid=100 state=83\n"          \
	"4 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80 dport=9\n" \
	"5 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=2 socktype=1 sport=80 dport=8\n" \
	"6 100 fd pid=100 fd=7 mode=0140000 ino=79 family=2 role=2 socktype=1 sport=81 dport=8\n" \
	"7 100 fd pid=100 fd=8 mode=0140000 ino=80 family=2 role=4 socktype=2 sport=53\n"         \
	"8 0 clock monotonic=8 realtime=1700000000000000000 boottime=8\n"                         \
	"10 0 info text=\"begin=10\"\n"
#define END_AT(seconds) seconds "_000_000_010 0 info text=\"stopped=" seconds "000000010\"\n"

/* A process with connection 5 on port 90. */
#define WORKER(pid)                                                                  \
	"1 " pid " thread pid=" pid " state=83 comm=\"work\"\n1 " pid " fd pid=" pid \
	" fd=5 mode=0140000 ino=" pid " family=2 role=2 socktype=1 sport=90 dport=9\n"

#define METRIC(a, m) \
	"SELECT round(1000 * value) FROM metric WHERE analysis='" a "' AND name='" m "'"

/* Requests every gap ns from first on, answered within dur, by a process with one connection. */
static inline void worker(struct buf *text, int pid, int n, long long first, long long gap, int dur)
{
	struct err e = { 0 };
	int i;

	for (i = 0; i < n; i++) {
		buf_printf(text, &e, "%lld %d syscall nr=read fd=5 ret=20\n", first + i * gap, pid);
		buf_printf(text, &e, "+%d %d syscall nr=write fd=5 ret=20\n", dur, pid);
	}
}
