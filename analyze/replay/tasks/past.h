/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a thread's time went in the last while: its last states. */
#pragma once

#include "analyze/replay/track.h"

/*
 * The thread serves itself: as much of its past is kept as there is room for. since: what it did
 * since then is known, now on a CPU, if none of it was kept yet.
 */
int past_remember(struct thread *t, u64 since, struct err *e);
/*
 * It was in this state. Of threads whose process serves the last few are kept from the first one
 * on. extra: intervals kept for all threads in addition to the least.
 */
void past_add(struct thread *t, enum state state, u64 from, u64 to, u32 *extra);
/*
 * How long the thread was in each state since then, up to now, a moment at which it is on a CPU and
 * settled; unknown where that is not known. Only with sched, of tracked threads.
 */
void past_since(const struct thread *t, u64 since, u64 now, u64 spent[N_STATES]);
struct past;
void past_free(struct past *p);
