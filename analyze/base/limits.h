/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What hostile recordings may claim at most, at one time. */
#ifndef OBS_LIMITS_H
#define OBS_LIMITS_H

#define TASK_LIMIT    300000 /* threads; processes */
#define FD_LIMIT      65536  /* descriptors of one process */
#define FD_TOTAL      2000000
#define REQUEST_LIMIT 1000000 /* block requests in flight */
#define STAT_LIMIT    500000  /* (process, system call) pairs */
#define FRAME_LIMIT   4096    /* open probed calls of one thread */
#define FRAME_TOTAL   500000  /* of all threads */
#define WAIT_LIMIT    65536   /* sleeps of one thread whose reason is not known yet */
#define SOCKET_LIMIT  500000  /* TCP connections at one time */
#define WINDOW_LIMIT  1000000 /* windows of one process */
#define FUTEX_LIMIT   200000  /* futexes; what comes after them shares one row */
#define PAIR_LIMIT    500000  /* (futex, thread), (process, antagonist): further ones share a row */
#define KEPT_TURNS    4000000 /* of all services whose size of requests is not known yet */

#endif
