/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Examples of slow and of baseline units, with the intervals of all threads around them and the
 * requests that their threads served then: what causes are looked for in.
 */
#pragma once

#include "analyze/analyses/waits/cpu_quota.h"
#include "causes_compare.h"

#define SAMPLED_MAX (UNIT_BLOCKS * UNIT_SAMPLES)
#define SERVED_MAX  500000
#define HELD_MAX    500000

/* A request that a thread of the examples served. */
struct served {
	s64 rowid; /* of table request */
	s64 ts, end;
	u32 tid;
	s64 client; /* client.id; 0: none */
};

/* Who held a lock when a thread of the examples began to wait for it. */
struct held {
	s64 ts, futex;
	u32 tid, holder;
};

struct samples {
	sqlite3 *db;
	const struct units *u;
	const struct comparison *cmp;
	struct unit slow[SAMPLED_MAX];
	size_t n;
	struct unit baseline[SAMPLED_MAX]; /* some of those that they are compared with */
	size_t n_baseline;
	struct spans spans;
	struct served *served; /* by thread, then by ts */
	size_t n_served;
	struct held *held; /* by thread, then by ts */
	size_t n_held;
	struct names names;
	bool everything;  /* all threads of the host were recorded */
	struct idmap own; /* processes that the units are of */
};

int samples_open(struct samples *d, sqlite3 *db, const struct units *u,
		 const struct comparison *cmp, struct err *e);
void samples_close(struct samples *d);

/* The process that stands for those of the units; 0: none. Is pid one of these? */
u32 samples_own(const struct samples *d);
bool samples_is_own(const struct samples *d, s64 pid);

/* Of requests: adds what their runtime runs on its threads, as column process.green; or nothing. */
int samples_green(const struct samples *d, struct buf *to, struct err *e);

/* Calls back for each interval of a category within the slow units, or the baseline ones. */
typedef void (*each_fn)(void *arg, const struct unit *u, const struct span *p, s64 ns);
void samples_each(struct samples *d, bool baseline, enum category category, each_fn fn, void *arg);

/* The same as pieces, weighted. */
void samples_pieces(struct samples *d, bool baseline, enum category category, struct pieces *to);

/*
 * What 1 ns within this example stands for in the mean of all units of its kind: examples of the
 * tail were drawn evenly, others by their duration.
 */
double samples_weight(const struct samples *d, const struct unit *u, bool baseline);

/* The thread that held the lock when the wait began; 0: not known, or no lock. */
u32 samples_holder(const struct samples *d, const struct span *wait);

/* First start and last end of the slow units. */
struct moment samples_around(const struct samples *d);

/* What a CPU quota did to the process while its units were slow. */
int samples_quota(const struct samples *d, struct quota *ret, struct err *e);

/* Name of a system call of the recording; "" if there is none. */
int samples_call(struct samples *d, s32 nr, char *text, size_t size, struct err *e);
