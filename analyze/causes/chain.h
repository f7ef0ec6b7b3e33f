/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a thread that another one waited for took so long: its own waits are followed along
 * their wakers, as wPerf cascades them (Zhou et al., OSDI 2018), until something is found
 * that does not wait for a thread. Each nanosecond of a wait ends in exactly one link.
 */
#pragma once

#include "analyze/causes/units/spans.h"

#define CHAIN_DEPTH 64	    /* hops: more than threads of a pool that pass a lock on */
#define CHAIN_LINKS 65536   /* different ends; more are only in `others` */
#define CHAIN_STEPS 1000000 /* intervals looked at, for all waits added to one chain */

enum chain_stop {
#define STOP(name, doc) STOP_##name,
#include "analyze/store/stops.def"
#undef STOP
};

/* Where time ended: this thread, in this state, was found at this depth. */
struct link {
	u32 tid;
	u32 by;	  /* who ended its wait, where the chain stops at a stranger; 0 */
	s32 call; /* the system call that it was in; -1: none */
	u8 state; /* enum span_state */
	u8 stop;  /* enum chain_stop */
	u8 depth; /* 0: the waiting thread itself */
	s64 object;
	u32 first; /* the thread that ended the wait that was followed */
	s64 ns;
};

struct chain {
	struct link *links;
	u32 *index; /* open hash of the links: number + 1; 0: free */
	u32 n, cap; /* cap: a power of two, or 0 */
	s64 total;  /* ns: of the links and the others */
	s64 others; /* ns without an end: the limits above, or no memory */
	int steps;
	double weight; /* of what is followed next, for the pieces */
	struct pieces
		*ends; /* gets where it ends in the run queue, a disk or an upstream; or NULL */
};

/*
 * Follows the part from..to of a wait. Zero-initialise the chain; add as many waits as you like.
 * Afterwards links are in no order.
 */
void chain_follow(struct chain *c, const struct spans *s, const struct names *names,
		  const struct span *wait, s64 from, s64 to);

/* Is the link an end that may be named? Not where the chain was left for want of data. */
bool chain_is_end(const struct link *l);

void chain_free(struct chain *c);

/* Is this a sleep that a wakeup had to end? */
bool span_is_wait(u8 state);
