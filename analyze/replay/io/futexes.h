/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of futexes while a recording is replayed; see track_futex.c. */
#pragma once

#include "analyze/replay/track.h"

struct futex {
	u32 id, pid;
	u64 address, moved_to;
	u64 waits, total, longest, attempts, timeouts, interrupted;
	u64 locks, held; /* calls that expected a contended lock; with a known holder */
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
	u32 n;
	struct idmap users; /* futex << 32 | thread */
};

/* A wake-up that the thread caused in the call that it is in. */
struct roused {
	u64 ts;
	u32 tid;
};

/* Notes for the call that returns later, of a wait and a wake that belong together. */
struct futex_notes {
	u64 noted;	       /* the wake-up that the next two are about; 0: none */
	u32 last_futex;	       /* on which that wake-up was called; 0: not known */
	u32 last_second;       /* FUTEX_WAKE_OP calls on two: the other; 0: none */
	u64 wake;	       /* a wait whose waker has not returned from its call yet; 0: none */
	u32 futex;	       /* on which */
	struct roused *roused; /* up to ROUSED_MAX */
	u32 n_roused;	       /* ever, since the last call returned */
};

/* Number of the futex at that address of the process, as column object of thread_state. */
s64 futex_id(struct replay *r, struct process *p, u64 address, struct err *e);
/* The rows: futex_rows.c. */
int futex_finish(struct replay *r, struct err *e);

static inline struct futexes *futexes_of(const struct replay *r)
{
	return r->own[TRACK_futex];
}
