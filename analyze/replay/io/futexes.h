/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of futexes while a recording is replayed; see track_futex.c. */
#ifndef OBS_FUTEXES_H
#define OBS_FUTEXES_H

#include "analyze/replay/track.h"

struct futex {
	u32 id, pid;
	u64 address, moved_to;
	u64 waits, total, longest, attempts, timeouts, interrupted;
	u64 wakes, woken, unseen, cycles, requeued, lossy;
	u64 signature;
	u32 same; /* futex of another process that this one is; 0: none is known */
};

struct user {
	u32 futex, tid;
	u64 waits, total, wakes;
	bool waited; /* and has called no wake since */
	struct release {
		u32 waker;
		u64 n, total, observed;
	} * releases;
	u32 n_releases;
};

struct futexes {
	struct futex **list; /* by id; [0] stands for those beyond the limit */
	u32 n, cap;
	struct idmap users; /* futex << 32 | thread */
	/* numbers of the calls: in both tables */
	s32 futex[2], wait[2], waitv[2], wake[2], requeue[2];
};

#endif
