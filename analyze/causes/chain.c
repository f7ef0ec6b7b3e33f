// SPDX-License-Identifier: GPL-2.0-or-later
/* From waker to waker, until something does not wait for a thread. */
#include "chain.h"

#include "analyze/causes/units/category.h"

#include <stdlib.h>
#include <string.h>

#define CAUSALITY 2000 /* ns: clocks of two CPUs may differ by so much */

#define TOTAL_MAX (1ll << 62) /* ns of a chain */

struct walk {
	struct chain *c;
	const struct spans *s;
	const struct names *names;
	u32 path[CHAIN_DEPTH + 1]; /* threads that wait for the next one */
};

bool span_is_wait(u8 state)
{
	return state != SPAN_run && state != SPAN_woken && state != SPAN_preempted &&
	       state != SPAN_unknown;
}

static bool same(const struct link *a, const struct link *b)
{
	return a->tid == b->tid && a->by == b->by && a->call == b->call && a->state == b->state &&
	       a->stop == b->stop && a->object == b->object && a->first == b->first &&
	       !a->depth == !b->depth;
}

/* ---- the table of links ---- */

/* The place of the link in the index: its own, or a free one. */
static u32 place_of(const struct chain *c, const struct link *l)
{
	u64 h = l->tid;
	u32 i;

	h = h * 31 + l->by;
	h = h * 31 + (u32)l->call;
	h = h * 31 + l->state;
	h = h * 31 + l->stop;
	h = h * 31 + (u64)l->object;
	h = (h * 31 + l->first) * 0x9e3779b97f4a7c15u;
	for (i = h >> 32 & (2 * c->cap - 1); c->index[i]; i = (i + 1) & (2 * c->cap - 1))
		if (same(&c->links[c->index[i] - 1], l))
			break;
	return i;
}

static bool grow(struct chain *c)
{
	u32 i, cap = c->cap ? 2 * c->cap : 64;
	struct link *links;
	u32 *index;

	if (c->cap >= CHAIN_LINKS)
		return false;
	links = realloc(c->links, cap * sizeof(*links));
	if (!links)
		return false;
	c->links = links;
	index = calloc(2 * (size_t)cap, sizeof(*index));
	if (!index)
		return false;
	free(c->index);
	c->index = index;
	c->cap = cap;
	for (i = 0; i < c->n; i++)
		c->index[place_of(c, &c->links[i])] = i + 1;
	return true;
}

static void add(struct chain *c, const struct link *l)
{
	u32 at;

	if (c->n == c->cap && !grow(c)) {
		if (!c->cap || !c->index[at = place_of(c, l)]) {
			c->others += l->ns;
			return;
		}
	} else {
		at = place_of(c, l);
	}
	if (c->index[at]) {
		c->links[c->index[at] - 1].ns += l->ns;
		return;
	}
	c->links[c->n++] = *l;
	c->index[at] = c->n;
}

void chain_free(struct chain *c)
{
	free(c->links);
	free(c->index);
	*c = (struct chain){ 0 };
}

bool chain_is_end(const struct link *l)
{
	return l->depth && l->stop != STOP_depth && l->stop != STOP_cycle;
}

/* Keeps the end of from..to. by: a stranger that the chain would go on with; 0: none. */
static void end(struct walk *w, int depth, const struct span *p, u32 tid, enum chain_stop stop,
		u32 by, s64 from, s64 to)
{
	struct link l = { .tid = tid,
			  .by = by,
			  .call = p ? p->nr : -1,
			  .state = p ? p->state : SPAN_unknown,
			  .stop = stop,
			  .depth = depth,
			  .object = p ? p->object : -1,
			  .first = depth ? w->path[1] : by,
			  .ns = to - from };

	/* waits of a hostile recording can claim more than 64 bits in all */
	if (l.ns > TOTAL_MAX - w->c->total)
		l.ns = TOTAL_MAX - w->c->total;
	if (l.ns <= 0)
		return;
	w->c->total += l.ns;
	if (w->c->steps >= CHAIN_STEPS)
		w->c->others += l.ns;
	else
		add(w->c, &l);
	if (w->c->ends && depth && p && category_is_shared(category_of(p->state)))
		pieces_add(w->c->ends, &(struct piece){ .tid = tid,
							.state = p->state,
							.object = p->object,
							.from = from,
							.to = to,
							.weight = w->c->weight });
}

/* What an interrupt's wake-up ends. */
static enum chain_stop by_interrupt(u8 state)
{
	switch (state) {
	case SPAN_disk:
		return STOP_device;
	case SPAN_socket:
	case SPAN_client:
	case SPAN_poll:
		return STOP_network;
	case SPAN_timer:
		return STOP_timer;
	default:
		return STOP_interrupt;
	}
}

static bool on_path(const struct walk *w, int depth, u32 tid)
{
	int i;

	for (i = 0; i <= depth; i++)
		if (w->path[i] == tid)
			return true;
	return false;
}

static void follow(struct walk *w, int depth, const struct span *wait, s64 from, s64 to);

/* What the waker of the wait did from..to; where that is not known, the wait is the end. */
static void follow_waker(struct walk *w, int depth, const struct span *wait, s64 from, s64 to)
{
	u32 tid = wait->waker;
	const struct span *p = spans_at(w->s, tid, from);
	s64 at = from, start, stop;

	w->path[depth] = tid;
	for (; p && p->ts < to && w->c->steps < CHAIN_STEPS; p = spans_next(w->s, p)) {
		start = p->ts > from ? p->ts : from;
		stop = p->ts + p->dur < to ? p->ts + p->dur : to;
		w->c->steps++;
		end(w, depth - 1, wait, wait->tid, STOP_history, tid, at, start);
		at = stop > at ? stop : at;
		if (p->state == SPAN_run)
			end(w, depth, p, tid, STOP_running, 0, start, stop);
		else if (p->state == SPAN_unknown)
			end(w, depth - 1, wait, wait->tid, STOP_loss, tid, start, stop);
		else if (p->state == SPAN_stopped)
			end(w, depth, p, tid, STOP_stopped, 0, start, stop);
		else if (!span_is_wait(p->state))
			end(w, depth, p, tid, STOP_queued, 0, start, stop);
		else
			follow(w, depth, p, start, stop);
	}
	end(w, depth - 1, wait, wait->tid, STOP_history, tid, at, to);
}

/* wait is of the thread path[depth]; from..to is a part of it. */
static void follow(struct walk *w, int depth, const struct span *wait, s64 from, s64 to)
{
	enum chain_stop stop;
	u32 by = 0, tid = wait->tid;

	if (to <= from)
		return;
	if (wait->context == SPAN_NO_WAKE) {
		stop = STOP_no_wakeup;
	} else if (wait->context != CONTEXT_TASK || !wait->waker) {
		stop = by_interrupt(wait->state); /* or the idle task, as its interrupt ended */
	} else if (on_path(w, depth, wait->waker)) {
		stop = STOP_cycle;
		tid = wait->waker;
	} else if (depth == CHAIN_DEPTH || w->c->steps >= CHAIN_STEPS) {
		stop = STOP_depth;
	} else if (spans_at(w->s, wait->waker, from - CAUSALITY)) {
		follow_waker(w, depth + 1, wait, from, to);
		return;
	} else {
		stop = names_of(w->names, wait->waker).kernel ? STOP_worker : STOP_stranger;
		by = wait->waker;
	}
	end(w, depth, wait, tid, stop, by, from, to);
}

void chain_follow(struct chain *c, const struct spans *s, const struct names *names,
		  const struct span *wait, s64 from, s64 to)
{
	struct walk w = { .c = c, .s = s, .names = names, .path = { wait->tid } };

	follow(&w, 0, wait, from, to);
}
