/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests whose threads wait for a lock or a disk, or are stopped (verdict_stuck.c). */
#pragma once

#include "verdict.h"

/* Calls of System V semaphores, which may be for news as well as for a lock. */
#define SEMAPHORES "(SELECT nr FROM syscall_name WHERE name IN ('semop', 'semtimedop', 'ipc'))"

/* Of rows s of thread_state: the thread waits for no news of a client. A futex is a lock if it has
 * an owner: a condition variable has none. A call for a lock begins so much earlier than its wait
 * at most. */
#define STUCK                                                                                   \
	"(s.state IN (state_id('disk'), state_id('blocked'), state_id('stopped')) OR"           \
	" (s.state=state_id('lock') AND s.nr NOT IN " SEMAPHORES                                \
	") OR (s.state=state_id('futex') AND EXISTS (SELECT 1 FROM"                             \
	" futex_holder h WHERE h.tid=s.tid AND h.futex=s.object AND h.holder NOT NULL AND h.ts" \
	" BETWEEN s.ts - 1000000 AND s.ts + s.dur)))"

#define STUCK_ENTRY 1000000 /* ns, as in STUCK */

/* A wait of a thread with a request; call, fd: of the call that it waited in, fd -1: not seen. */
struct stuck {
	s64 tid, ts, till, waker, since, object;
	s64 call, fd, dev, ino; /* of the file whose lock it waits for */
	int state;
	bool before;   /* the request was read before the recording */
	bool by_count; /* other threads of its process may serve it: only their numbers say so */
	s64 holder;    /* if so, the thread that has the lock; 0: not known */
};

/* Who has what a thread waits for. */
struct stuck_holder {
	s64 tid;     /* 0: not known */
	bool before; /* since before the recording */
};

#define STUCKS_MOST 4096

struct stucks {
	struct stuck *v; /* to free; those that wait for the same stand together */
	int n;		 /* no more than STUCKS_MOST */
	/* of all requests: how many, first and last, and ns in the recording; the longest wait */
	double requests, start, end, waited, max;
	double of; /* file_waits_read: all requests of their names */
	/* overdue_read: the name of most of them; how many names; the longest of their others, ns
	 */
	s64 name;
	double names, usual;
};

/* Whether a thread surely serves a request. */
enum stuck_serves { STUCK_MAY_SERVE, STUCK_SERVES };

/* Adds one to the sums. */
static inline void stuck_add(struct stucks *s, const struct stuck *w)
{
	double since = fmax((double)w->since, 0); /* in the recording, as what else is judged */

	s->requests++;
	s->start = fmin(s->start, since);
	s->end = fmax(s->end, (double)w->till);
	s->waited += (double)w->till - since;
	s->max = fmax(s->max, (double)(w->till - w->since));
}

/*
 * verdict_file_waits.c: to *s, which is empty, requests that ended, waited for the lock of a file
 * for most of their time, and took longer than others of their name, most of which did not wait so.
 */
int file_waits_read(struct stucks *s, struct analysis_ctx *c, const struct judged *j,
		    const struct limits *l, struct err *e);

/*
 * verdict_stuck_states.c: makes temporary table stuck_state of all rows of thread_state that are
 * STUCK and as long as a pause, if it does not exist.
 */
int stuck_states(sqlite3 *db, const struct limits *l, struct err *e);
int stuck_states_forget(sqlite3 *db, struct err *e);

/*
 * verdict_overdue.c: to *s, which is empty, requests without an answer at the end although all
 * others of their names had one in far less time; each thread of them has waited for a futex since.
 */
int overdue_read(struct stucks *s, struct analysis_ctx *c, const struct judged *j, struct err *e);
/* Whether it found some. */
static inline bool stucks_are_overdue(const struct stucks *s)
{
	return s->names > 0;
}
/* Under j->finding: where these threads wait. */
int overdue_threads(struct analysis_ctx *c, const struct judged *j, const struct stucks *s,
		    struct err *e);

/* Fills *s; free s->v also after an error. */
int stuck_read(struct stucks *s, struct analysis_ctx *c, const struct judged *j,
	       const struct limits *l, enum stuck_serves serves, struct err *e);

/* Fills *ret, zeroed: the thread in the lock when the wait began, or that has the bytes of a file.
 */
int stuck_holder(struct stuck_holder *ret, sqlite3 *db, const struct stuck *w, struct err *e);

/* Of the order of stuck_read: 0: they wait for the same. */
int stuck_same(const struct stuck *x, const struct stuck *y);

/*
 * Without a problem of more latency in the recording, requests without an answer of which the
 * threads wait for a lock or a disk: a problem, kind "stuck".
 */
int verdict_stuck(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
/* What it keeps for verdict_stuck_say. */
void verdict_stuck_free(struct judged *j);

/* verdict_stuck_say.c */
int verdict_stuck_say(struct analysis_ctx *c, struct judged *j, struct err *e);
/* Under the pauses of one of n servers: what the threads of the server wait for that it asks. */
int verdict_stuck_asked(struct analysis_ctx *c, const struct judged *j, const struct judged *all,
			int n, struct err *e);
/* pause_pipe.c: under pauses: a full pipe that most of the threads with requests wait for. */
int verdict_pipe(struct analysis_ctx *c, const struct judged *j, bool *ret_said, struct err *e);
/* A note: a thread that waits so, and a request that may be its own. */
int verdict_stuck_maybe(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
			struct err *e);

/* What a thread did for most of this time; *ret_did unchanged: not known. */
int verdict_did(const char **ret_did, double *ret_share, sqlite3 *db, s64 tid, s64 from, s64 to,
		struct err *e);
