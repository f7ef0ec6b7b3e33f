/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For unit tests: the text of a recording of threads that do nothing, but for one switch. */
#pragma once

#include "format/buf.h"

/*
 * One process of this many threads, tids from 100 on, and `more` processes of one thread each, tids
 * from 1000 on; from 1000 ns on, for the duration in ns.
 */
static inline void idle_threads(struct buf *text, struct err *e, int threads, int more,
				long long duration)
{
	int i;

	buf_printf(text, e,
		   "@recorder\n0 0 info text=\"targets=all\"\n"
		   "1 0 info text=\"groups=core,syscalls,sched\"\n");
	for (i = 0; i < threads; i++)
		buf_printf(text, e, "2 %d thread pid=100 state=83 comm=\"t%d\"\n", 100 + i, i);
	for (i = 0; i < more; i++)
		buf_printf(text, e, "3 %d thread pid=%d state=83 comm=\"idle\"\n", 1000 + i,
			   1000 + i);
	buf_printf(text, e,
		   "1000 0 info text=\"begin=1000\"\n%lld 0 info text=\"stopped=%lld\"\n@cpu 0\n"
		   "2000 100 syscall nr=read fd=5 dur=500 ret=1\n3000 100 switch next=0 state=1\n",
		   1000 + duration, 1000 + duration);
}
