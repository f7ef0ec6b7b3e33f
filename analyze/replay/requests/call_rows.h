/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of calls and spans, and what each adds to the sums of its site. */
#pragma once

#include "call_stats.h"

/* A probed call that has not returned. */
struct frame {
	u64 ts;
	u64 sp;
	u32 site;
	u32 n_args;
	bool nested; /* below so many open calls that the kernel gives no return probe */
	bool span;   /* it need not nest with others */
	s64 args[SITE_ARGS_MAX], text, value;
	u64 children;	     /* wall time of probed calls made from it */
	u64 clock[N_STATES]; /* the thread's clocks at entry */
	u64 inner[N_STATES]; /* time in each state of probed calls made from it */
};

/* The end of a call. */
struct call_end {
	u64 ts;
	u32 depth;   /* frames below it */
	bool lossy;  /* events were lost while it ran */
	bool moved;  /* it ended on another thread than it started: states are those of no thread */
	s64 end_tid; /* of a span with a key; BULK_NULL */
	const u64 *spent; /* N_STATES; NULL: where the time went is not known */
};

/* What the thread's clocks gained while the call ran; false: its time is not known. */
bool call_split(const struct replay *r, const struct thread *t, const struct frame *f, u64 wall,
		u64 spent[N_STATES]);

void call_row(struct replay *r, u32 tid, const struct frame *f, const struct call_end *end);

/* A call whose return is not recorded: a row without times. */
void call_entry_row(struct replay *r, const struct thread *t, const struct frame *f, u32 depth);

/* Adds a call to the sums of its site; false: it is excluded, events or states are missing. */
bool call_stat_add(struct call_stat *s, const struct frame *f, const struct call_end *end);
