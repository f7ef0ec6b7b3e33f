/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What rqclock and its programs in the kernel share. */
#pragma once

#include "format/event.h"

#define RQCLOCK_PROCESSES 64
#define RQCLOCK_THREADS	  16384

/* A sum of ns by two clocks, read at the same tracepoints. */
struct two_clocks {
	u64 real;   /* monotonic time */
	u64 kernel; /* what the run queue's clock stood at: schedstat is counted by it */
};

struct thread_clocks {
	struct two_clocks run, queue;
	struct two_clocks in, queued; /* when it got the CPU; since when it waits for one. 0: not */
	u64 switches;
	u64 left;    /* when it left a CPU last */
	u64 blocked; /* ns asleep without signals, until its wakeup */
	u64 blocks;  /* since when it is so now; 0: it is not */
	u64 unseen;  /* ns: had a CPU by a switch, or waited from a wake-up, that was not seen */
};
