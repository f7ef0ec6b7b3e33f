// SPDX-License-Identifier: GPL-2.0-or-later
#include "slept.h"

#include "analyze/replay/track_loss.h"
#include "track_states.h"

/* Sleeps for a lock on the way there are uninterruptible. */
int slept_in_call(const struct replay *r, const struct thread *t, u64 from, u64 to)
{
	const struct sleeping *s = sleeping_of(t);
	u32 i;

	for (i = 0; i < s->n_waits; i++)
		if (s->waits[i].start >= from && !s->waits[i].blocked)
			return 1;
	return t->tracked && has_group(r, GROUP_sched) &&
			       !(r->n_losses && loss_overlaps(r, from, to))
		       ? 0
		       : -1;
}
