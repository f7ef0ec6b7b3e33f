// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long a request waited in its server before it was received. Which moment it became ready at
 * is not recorded, but there are bounds. A thread that slept in the receive itself, or in poll, was
 * woken because data were there: the first request that it receives then was ready at the
 * wake-up. Others that the same call of epoll reported became ready one after the other (epoll
 * keeps that order) before the call returned: they are spread evenly over the time since the
 * wake-up, or, when the call did not sleep, since the call before it, which had reported all
 * earlier ones. A request is never ready before its connection's last answer.
 *
 * This wait is not a part of the request, which begins with the receive: it has a column of its
 * own.
 */
#include "track_ready.h"

#include "analyze/replay/track_loss.h"

#include <stdlib.h>
#include <string.h>

struct ready {
	u64 wake;	      /* the last that ended a sleep; 0: none */
	u64 woken, preempted; /* clocks then */
	u64 from, at;	      /* what the last poll reported became ready in between */
	u32 n, taken;	      /* descriptors that it reported, requests received since */
	bool slept;	      /* the first of them ended its sleep */
	u64 spent[N_STATES];  /* from..at */
	u64 clock[N_STATES];  /* at */
};

/* What a thread has: memory only if it serves. */
struct ready_slot {
	struct ready *ready;
};

static struct ready *ready_of(const struct thread *t)
{
	return ((struct ready_slot *)t->own[TRACK_ready])->ready;
}

int ready_begin(struct thread *t, struct err *e)
{
	struct ready_slot *s = t->own[TRACK_ready];

	if (!s->ready && !(s->ready = calloc(1, sizeof(*s->ready))))
		return err_set(e, ERR_FAIL, "out of memory for requests");
	return 0;
}

void ready_woken(struct thread *t, u64 ts)
{
	struct ready *rd = ready_of(t);

	if (!rd)
		return;
	rd->wake = ts;
	rd->woken = t->clock[STATE_woken];
	rd->preempted = t->clock[STATE_preempted];
}

/* Where the thread's time went from its last wake-up to now; sleeps are none since. */
static u64 since_wake(const struct thread *t, u64 now, u64 spent[N_STATES])
{
	const struct ready *rd = ready_of(t);
	u64 all = elapsed(rd->wake, now);

	memset(spent, 0, N_STATES * sizeof(*spent));
	spent[STATE_woken] = elapsed(rd->woken, t->clock[STATE_woken]);
	spent[STATE_preempted] = elapsed(rd->preempted, t->clock[STATE_preempted]);
	spent[STATE_run] = elapsed(spent[STATE_woken] + spent[STATE_preempted], all);
	return all;
}

/* Adds where the time went from a moment, at which the clocks were these, to now. */
static u64 since_clock(const struct thread *t, const u64 clock[N_STATES], u64 from, u64 now,
		       u64 spent[N_STATES])
{
	u64 all = elapsed(from, now), off = 0, part;
	int i;

	for (i = STATE_run + 1; i < N_STATES; i++) {
		part = elapsed(clock[i], t->clock[i]);
		spent[i] += part;
		off += part;
	}
	spent[STATE_run] += elapsed(off, all);
	return all;
}

void ready_polled(struct thread *t, struct file *epoll, const struct call_view *v)
{
	struct ready *rd = ready_of(t);
	u64 before = epoll ? epoll->polled : 0;

	if (epoll)
		epoll->polled = v->ts;
	if (!rd)
		return;
	memset(rd->spent, 0, sizeof(rd->spent));
	rd->slept = rd->wake && rd->wake >= elapsed(v->dur, v->ts) && rd->wake <= v->ts;
	rd->from = v->ts;
	if (rd->slept) {
		rd->from = rd->wake;
		since_wake(t, v->ts, rd->spent);
	} else if (rd->at && before == rd->at) { /* no other poll since */
		rd->from = rd->at;
		since_clock(t, rd->clock, rd->at, v->ts, rd->spent);
	}
	rd->at = v->ts;
	rd->n = v->ret > 0 && v->ret <= UINT32_MAX ? v->ret : 0;
	rd->taken = 0;
	memcpy(rd->clock, t->clock, sizeof(rd->clock));
}

/* When the next of the requests that the last poll reported became ready. */
static u64 next_ready(struct ready *rd, u64 last)
{
	u64 all = elapsed(rd->from, rd->at), at;
	u32 k = rd->taken++;

	at = rd->from + (rd->slept ? (u64)((double)all * k / rd->n)
				   : (u64)((double)all * (k + 1) / (rd->n + 1.0)));
	return at > last ? at : last;
}

u64 ready_take(const struct replay *r, struct thread *t, const struct call_view *v, u64 last,
	       u64 spent[N_STATES])
{
	struct ready *rd = ready_of(t);
	u64 all, at;
	int i;

	memset(spent, 0, N_STATES * sizeof(*spent));
	if (!rd)
		return 0;
	if (rd->wake && rd->wake >= elapsed(v->dur, v->ts) && rd->wake <= v->ts) {
		all = since_wake(t, v->ts, spent);
	} else if (rd->at && rd->taken < rd->n && last < rd->at) {
		at = next_ready(rd, last);
		for (i = 0; i < N_STATES; i++)
			spent[i] = rd->at > at ? (u64)((double)rd->spent[i] * elapsed(at, rd->at) /
						       elapsed(rd->from, rd->at))
					       : 0;
		all = elapsed(at, rd->at);
		all += since_clock(t, rd->clock, rd->at, v->ts, spent);
	} else {
		return 0;
	}
	if (r->n_losses && loss_overlaps(r, elapsed(all, v->ts), v->ts))
		return 0;
	return all;
}

static void ready_thread_free(void *own)
{
	free(((struct ready_slot *)own)->ready);
}

const struct tracker track_ready = {
	.name = "ready",
	.of_thread = sizeof(struct ready_slot),
	.thread_free = ready_thread_free,
};
