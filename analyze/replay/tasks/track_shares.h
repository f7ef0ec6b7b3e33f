/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_shares.c: what share of a CPU is fair, by nice values and control groups. */
#pragma once

#include "analyze/replay/track.h"

/* From ts on this CPU shares nothing out (it runs a real-time thread), or does so again. */
void shares_halt(struct replay *r, u16 cpu, bool halt, u64 ts);
/* The thread, which has a weight, is runnable on that CPU; or no more. */
void shares_enqueue(struct replay *r, struct thread *t, u16 cpu, u64 ts);
void shares_dequeue(struct replay *r, struct thread *t, u64 ts);
/* Its fair share since it was looked at last is added to its sums. */
void shares_settle(struct replay *r, struct thread *t, u64 ts);
/* False: it is counted in a group that it is in no more. */
bool shares_in_place(const struct replay *r, const struct thread *t);
/* The group by whose weight it shared CPUs last; 0: none. */
u64 shares_group(const struct thread *t);
/* What a snapshot or the thread's making says of the group that it is in. */
void shares_member(struct thread *t, u64 group, u64 ts);
/* The thread, or its process as a whole, goes to another group. */
void shares_moved(struct replay *r, struct thread *t, bool whole, u64 group, u64 ts);
