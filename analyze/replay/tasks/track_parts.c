// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parts of the time that threads had a CPU: switches contain what the hypervisor stole and
 * what softirqs and interrupts took since the switch before, and by how much the kernel's own
 * clock of the thread differs.
 */
#define _GNU_SOURCE /* memmem */
#include "track_parts.h"

#include "analyze/replay/requests/track_series.h"

#include <string.h>

/* What this kernel reports; older recordings lack it. */
struct parts_known {
	bool any, stolen, throttled;
};

/* Of a thread: parts of clock[STATE_run]. */
struct parts {
	s64 away;
	u64 stolen, softirq, irq, throttled;
};

/* "switch_parts=stolen,softirq,irq,throttled" */
static int parts_on_info(struct replay *r, const struct record *rec, struct err *e)
{
	static const char key[] = "switch_parts=";
	struct parts_known *known = r->own[TRACK_parts];
	size_t n = sizeof(key) - 1;

	(void)e;
	if (rec->tail_len < n || memcmp(rec->tail, key, n) != 0)
		return 0;
	known->any = true;
	known->stolen = memmem(rec->tail, rec->tail_len, "stolen", 6) != NULL;
	known->throttled = memmem(rec->tail, rec->tail_len, "throttled", 9) != NULL;
	return 0;
}

/* A part of the time since the thread got the CPU: when is not known, so at its end. */
static void in_series(struct replay *r, const struct thread *t, enum series_kind kind, u64 ts,
		      u64 part)
{
	u64 from = elapsed(part, ts);

	if (part && t->seen && t->state == STATE_run)
		series_add(r, kind, t->tid, 0, from > t->since ? from : t->since, ts, 0, 0);
}

/* A thread that is not known yet was not seen to get the CPU: its run is not known either. */
static int parts_on_switch(struct replay *r, const struct record *rec, struct err *e)
{
	const struct parts_known *known = r->own[TRACK_parts];
	const struct ev_switch *ev = rec->event;
	struct thread *t = known->any ? idmap_get(&r->threads, rec->tid) : NULL;
	struct parts *p;

	(void)e;
	if (!t)
		return 0;
	p = t->own[TRACK_parts];
	p->away += ev->away;
	p->stolen += ev->stolen;
	p->softirq += ev->softirq;
	p->irq += ev->irq;
	p->throttled += (ev->flags & SWITCH_THROTTLED) != 0;
	in_series(r, t, SERIES_softirq, rec->ts, ev->softirq);
	in_series(r, t, SERIES_irq, rec->ts, ev->irq);
	in_series(r, t, SERIES_stolen, rec->ts, ev->stolen);
	return 0;
}

/* A part cannot be larger than the whole, whatever a recording claims. */
static s64 within(u64 part, u64 whole)
{
	return (s64)((part < whole ? part : whole) & INT64_MAX);
}

void parts_fill(const struct replay *r, const struct thread *t, struct row_thread *row)
{
	const struct parts_known *known = r->own[TRACK_parts];
	const struct parts *p = t->own[TRACK_parts];
	u64 run = t->clock[STATE_run];
	u64 less = p->away > 0 ? (u64)p->away : 0;
	u64 more = p->away < 0 ? -(u64)p->away : 0;
	bool any = known->any && t->tracked;

	row->exec = any ? (s64)((elapsed(less, run) + more) & INT64_MAX) : BULK_NULL;
	row->stolen = any && known->stolen ? within(p->stolen, run) : BULK_NULL;
	row->softirq = any ? within(p->softirq, run) : BULK_NULL;
	row->irq = any ? within(p->irq, run) : BULK_NULL;
	row->throttled = any && known->throttled ? (s64)(p->throttled & INT64_MAX) : BULK_NULL;
}

static const struct handler handlers[] = {
	{ EV_info, true, parts_on_info },
	{ EV_switch, false, parts_on_switch },
	{ 0 },
};

const struct tracker track_parts = {
	.name = "parts",
	.handlers = handlers,
	.of_replay = sizeof(struct parts_known),
	.of_thread = sizeof(struct parts),
};
