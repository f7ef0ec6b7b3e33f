/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The intervals of threads around chosen moments, in memory: what causes and timeline
 * look into. One scan of table thread_state, whatever is asked afterwards.
 */
#ifndef OBS_SPANS_H
#define OBS_SPANS_H

#include "analyze/base/idmap.h"
#include "analyze/store/db.h"

#define SPANS_MAX     1000000 /* in memory at one time */
#define SPURIOUS_MOST 50000   /* ns: one that runs shorter and sleeps again was woken in vain */

enum span_state {
#define STATE(id, name, ...) SPAN_##name = (id),
#include "analyze/store/waits.def"
#undef STATE
	N_SPAN_STATES
};

struct span {
	s64 ts, dur;
	s64 object; /* as in thread_state; -1: NULL */
	u32 tid;
	u32 waker; /* 0: nobody or not known */
	s32 nr;	   /* -1: none */
	u16 cpu;
	u8 state;
	u8 context; /* enum wake_context; SPAN_NO_WAKE: not known */
};

#define SPAN_NO_WAKE 255

struct moment {
	s64 from, to;
};

struct spans {
	struct span *v; /* by thread, then by time */
	size_t n;
	struct idmap first; /* thread -> index + 1 */
	bool cut;	    /* there were more than SPANS_MAX */
};

/* Loads all intervals that touch one of the moments; these are sorted and joined. */
int spans_load(struct spans *s, sqlite3 *db, struct moment *list, size_t n, struct err *e);

/*
 * Joins waits that were interrupted in vain: a thread that is woken, runs less than SPURIOUS_MOST
 * and sleeps again for the same thing waited for the one who woke it last. spans_load has done it.
 */
void spans_join(struct spans *s);

/* The first interval of the thread that ends after ts; NULL: none. Its neighbours follow it. */
const struct span *spans_at(const struct spans *s, u32 tid, s64 ts);

/* The interval behind p of the same thread; NULL: none. */
const struct span *spans_next(const struct spans *s, const struct span *p);

/* How much of the interval lies within from..to. */
s64 span_within(const struct span *p, s64 from, s64 to);

void spans_free(struct spans *s);

/* Who is who. */
struct who {
	u32 tid, pid;
	char comm[20];	  /* of the thread */
	char process[20]; /* of the process */
	bool kernel;	  /* a thread of the kernel */
	bool recorded;	  /* its switches are in the recording */
};

struct names {
	struct who *v;
	size_t n;
	struct idmap by_tid;
};

int names_load(struct names *names, sqlite3 *db, struct err *e);
/* Never NULL: unknown threads are their own process, called "?". */
struct who names_of(const struct names *names, u32 tid);
void names_free(struct names *names);

#endif
