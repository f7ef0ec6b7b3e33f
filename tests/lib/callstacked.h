/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings with call stacks, in text. */
#pragma once

#include "format/buf.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

/*
 * main > work > inner, main > idle > read in the C library, and the kernel's side of fsync. The
 * frame of idle has no symbol.
 */
#define STACKS                                                                               \
	"10 0 module id=1 kind=3 build_id0=0x1122334455667788 path=\"/srv/bin/app\"\n"       \
	"10 0 module id=2 kind=1 path=\"[kernel]\"\n"                                        \
	"10 0 module id=3 kind=3 path=\"/usr/lib/libc.so.6\"\n"                              \
	"10 0 frame id=1 module=1 address=0x1000\n10 0 frame id=2 module=1 address=0x2000\n" \
	"10 0 frame id=3 module=1 address=0x3000\n10 0 frame id=4 module=1 address=0x1234\n" \
	"10 0 frame id=5 module=3 address=0x500\n10 0 frame id=6 module=2 address=0x600\n"   \
	"10 0 frame id=7 module=2 address=0x700\n"                                           \
	"10 0 stack id=1 frame=1\n10 0 stack id=2 caller=1 frame=2\n"                        \
	"10 0 stack id=3 caller=2 frame=3\n10 0 stack id=4 caller=1 frame=4\n"               \
	"10 0 stack id=5 caller=4 frame=5\n10 0 stack id=6 frame=6\n"                        \
	"10 0 stack id=7 caller=6 frame=7\n"                                                 \
	"9000 0 symbol frame=1 text=\"main\"\n"                                              \
	"9000 0 symbol frame=2 line=12 text=\"work\\x09src/work.c\"\n"                       \
	"9000 0 symbol frame=3 text=\"inner\"\n9000 0 symbol frame=5 text=\"read\"\n"        \
	"9000 0 symbol frame=6 text=\"vfs_fsync\"\n"                                         \
	"9000 0 symbol frame=7 text=\"jbd2_log_wait_commit.isra.0\"\n"

#define HEAD                                                                              \
	"@recorder\n0 0 info text=\"targets=all\"\n"                                      \
	"1 0 info text=\"groups=core,syscalls,sched,cpu\"\n"                              \
	"1 0 info text=\"stack_threshold=1000000\"\n"                                     \
	"2 100 thread pid=100 state=83 comm=\"app\"\n"                                    \
	"3 101 thread pid=100 state=83 comm=\"helper\"\n"                                 \
	"4 0 request_name id=1 protocol=4 name=\"GET\"\n"                                 \
	"4 100 fd pid=100 fd=5 mode=0140000 ino=77 family=2 role=2 socktype=1 sport=80\n" \
	"4 100 fd pid=100 fd=6 mode=0140000 ino=78 family=2 role=2 socktype=1 sport=80\n" \
	"8 0 clock monotonic=8 realtime=1700000000000000000 boottime=8\n"                 \
	"9 0 info text=\"begin=9\"\n" STACKS "1_000_000_000 0 info text=\"stopped=1000000000\"\n"

static inline sqlite3 *app(const char *events)
{
	struct err e = { 0 };
	struct buf text = { 0 };

	assert_int_equal(buf_printf(&text, &e, "%s@cpu 0\n%s", HEAD, events), 0);
	return analysed(loaded_buf(&text), NULL);
}

#define METRIC(analysis, metric, subject)                                          \
	"SELECT value FROM metric WHERE analysis='" analysis "' AND name='" metric \
	"' AND subject LIKE '" subject "'"
#define PROFILE(metric, function) METRIC("profile", metric, "% " function)
