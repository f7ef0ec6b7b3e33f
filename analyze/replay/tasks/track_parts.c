// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What became of the time that threads had a CPU: switches carry what the hypervisor stole and
 * what softirqs and interrupts took since the switch before, and by how much the kernel's own
 * clock of the thread differs.
 */
#define _GNU_SOURCE /* memmem */
#include "track_pressure.h"

#include <string.h>

/* "switch_parts=stolen,softirq,irq,throttled": what this kernel told; older recordings lack it. */
int parts_on_info(struct replay *r, const struct record *rec, struct err *e)
{
	static const char key[] = "switch_parts=";
	size_t n = sizeof(key) - 1;

	(void)e;
	if (rec->tail_len < n || memcmp(rec->tail, key, n) != 0)
		return 0;
	r->has_parts = true;
	r->has_stolen = memmem(rec->tail, rec->tail_len, "stolen", 6) != NULL;
	r->has_throttled = memmem(rec->tail, rec->tail_len, "throttled", 9) != NULL;
	return 0;
}

int parts_on_switch(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_switch *ev = rec->event;
	struct thread *t = rec->tid && r->has_parts ? task_thread(r, rec->tid, e) : NULL;

	if (!t)
		return rec->tid && r->has_parts ? ERR_FAIL : 0;
	t->parts.away += ev->away;
	t->parts.stolen += ev->stolen;
	t->parts.softirq += ev->softirq;
	t->parts.irq += ev->irq;
	t->parts.throttled += (ev->flags & SWITCH_THROTTLED) != 0;
	return 0;
}

/* A part cannot be larger than the whole, whatever a recording claims. */
static s64 within(u64 part, u64 whole)
{
	return (s64)((part < whole ? part : whole) & INT64_MAX);
}

int parts_row(struct replay *r, const struct thread *t, struct err *e)
{
	u64 run = t->clock[STATE_run];
	u64 less = t->parts.away > 0 ? (u64)t->parts.away : 0;
	u64 more = t->parts.away < 0 ? -(u64)t->parts.away : 0;

	if (!r->has_parts)
		return 0;
	return db_run(r->db, e,
		      "UPDATE thread SET exec=?, stolen=nullif(?,-1), softirq=?, irq=?,"
		      " throttled=nullif(?,-1) WHERE rowid=last_insert_rowid()",
		      "iiiii", (s64)((elapsed(less, run) + more) & INT64_MAX),
		      r->has_stolen ? within(t->parts.stolen, run) : (s64)-1,
		      within(t->parts.softirq, run), within(t->parts.irq, run),
		      r->has_throttled ? (s64)(t->parts.throttled & INT64_MAX) : (s64)-1);
}
