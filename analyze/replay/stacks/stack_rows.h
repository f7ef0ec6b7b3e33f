/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples and waits with stacks, kept until all other rows are written: then they get the wait's
 * state and the request that their thread worked on.
 */
#pragma once

#include "analyze/replay/track.h"

#define OFFCPU_LASTS 32 /* in column flags: the wait lasts until the recording ends */

struct long_wait {
	s64 ts, dur, nr, object;
	u32 tid;
	u8 state;
};

struct stack_rows {
	struct row_sample *samples;
	struct row_offcpu *offcpu;
	struct long_wait *waits;
	size_t n_samples, n_offcpu, n_waits;
	bool samples_left; /* some were not kept */
	u64 shortest;	   /* wait to be kept, ns; 0: none are */
	s64 threshold;	   /* of a wait with a stack, ns */
	s64 always; /* waits from this time on have a stack, ns; 0: all of the threshold have */
};

/* What the slot of tracker stacks begins with. */
static inline struct stack_rows *stack_rows_of(const struct replay *r)
{
	return r->own[TRACK_stacks];
}

/* A thread was away from a CPU: its wait may be one with a stack. */
void stack_rows_wait(struct replay *r, const struct thread *t, enum state state, u64 from, u64 to,
		     s64 nr, s64 object);

struct row_sample *stack_rows_sample(struct replay *r, struct err *e);
struct row_offcpu *stack_rows_offcpu(struct replay *r, struct err *e);

/* Completes the rows and writes them; the tables of waits and requests are written. */
int stack_rows_put(struct replay *r, struct err *e);

void stack_rows_free(struct stack_rows *s);
