/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What hostile recordings may claim at most, at one time. */
#pragma once

#define HOST_LIMIT    8	      /* hosts merged into one: of a device number three bits are free */
#define TASK_LIMIT    300000  /* threads; processes */
#define FD_TOTAL      2000000 /* fds of all processes */
#define FD_MEMORY     (192u << 20) /* bytes of their tables */
#define REQUEST_LIMIT 1000000	   /* block requests in flight */
#define STAT_LIMIT    500000	   /* (process, system call) pairs */
#define FRAME_LIMIT   4096	   /* open probed calls of one thread */
#define FRAME_TOTAL   500000	   /* of all threads */
#define SPAN_TOTAL    250000	   /* open spans with a key; then the oldest are given up */
#define WAIT_LIMIT    65536	   /* sleeps of one thread whose reason is not known yet */
#define SOCKET_LIMIT  500000	   /* TCP connections at one time */
#define WINDOW_LIMIT  1000000	   /* windows of one process */
#define FUTEX_LIMIT   200000	   /* futexes; what comes after them shares one row */
#define PAIR_LIMIT    500000  /* (futex, thread), (process, contender): further ones share a row */
#define PAST_TOTAL    1000000 /* past intervals of all threads, beyond the first of each */
