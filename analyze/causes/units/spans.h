/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The intervals of threads around chosen moments, in memory: what causes and timeline
 * look into. One scan of table thread_state, whatever is asked afterwards.
 */
#pragma once

#include "analyze/base/idmap.h"
#include "analyze/store/db.h"

#define SPANS_MAX     1000000 /* in memory at one time */
#define PIECES_MAX    200000
#define SPURIOUS_MOST 50000 /* ns: one that runs shorter and sleeps again was woken in vain */

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
	u32 waker; /* 0: none or not known */
	s32 nr;	   /* -1: none */
	u16 cpu;
	u8 state;
	u8 context; /* enum wake_context; SPAN_NO_WAKE: not known */
};

#define SPAN_NO_WAKE 255

struct moment {
	s64 from, to;
};

/* Sorts the moments and joins those that touch; returns how many are left. */
size_t moments_join(struct moment *m, size_t n);
/* Does from..to touch one of the joined moments? */
bool moments_touch(const struct moment *m, size_t n, s64 from, s64 to);

/* A part of an interval that something waited in; weight: what 1 ns of it counts. */
struct piece {
	u32 tid;
	u8 state;
	s64 object;
	s64 from, to;
	double weight;
};

struct pieces {
	struct piece *v;
	size_t n, cap;
	bool cut; /* there were more than PIECES_MAX, or no memory for them */
};

void pieces_add(struct pieces *p, const struct piece *piece);
void pieces_free(struct pieces *p);

struct spans {
	struct span *v; /* by thread, then by time */
	size_t n;
	struct idmap first; /* thread -> index + 1 */
	bool cut;	    /* there were more than SPANS_MAX */
};

/* Loads all intervals that touch one of the moments; these are sorted and joined. */
int spans_load(struct spans *s, sqlite3 *db, struct moment *list, size_t n, struct err *e);

/*
 * Sleeps of a thread in from..to that follow each other in one state, and on one object, are one
 * wait if it put out nothing between them (outs: when it did, rising): the last wakeup ends it.
 */
void spans_join_chained(struct spans *s, u32 tid, s64 from, s64 to, const s64 *outs, size_t n);

/* The first interval of the thread that ends after ts; NULL: none. Its neighbours follow it. */
const struct span *spans_at(const struct spans *s, u32 tid, s64 ts);

/* The interval after p of the same thread; NULL: none. */
const struct span *spans_next(const struct spans *s, const struct span *p);

/* How much of the interval lies within from..to. */
s64 span_within(const struct span *p, s64 from, s64 to);

void spans_free(struct spans *s);

/* Who is who. */
struct who {
	u32 tid, pid;
	char comm[20];	  /* of the thread */
	char process[20]; /* of the process */
	u32 parent;	  /* of the process; 0: not known */
	s64 cgroup;	  /* of the process; 0: not known */
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
