// SPDX-License-Identifier: GPL-2.0-or-later
/* From waker to waker, until something waits for nobody. */
#include "chain.h"

#include <stdlib.h>
#include <string.h>

#define CAUSALITY 2000 /* ns: clocks of two CPUs may differ by so much */

const char *const stop_docs[N_STOPS] = {
#define STOP(name, doc) [STOP_##name] = doc,
#include "analyze/store/stops.def"
#undef STOP
};

#define TOTAL_MAX (1ll << 62) /* ns of a chain */

struct walk {
	struct chain *c;
	const struct spans *s;
	const struct names *names;
	u32 path[CHAIN_DEPTH + 1]; /* threads that wait for the next one */
	u8 through;
	s32 nr;
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
	       a->through == b->through && a->nr == b->nr;
}

/* by: a stranger that the chain would go on with; 0: none. */
static void end(struct walk *w, int depth, const struct span *p, u32 tid, enum chain_stop stop,
		u32 by, s64 ns)
{
	struct link l = { .tid = tid,
			  .by = by,
			  .call = p ? p->nr : -1,
			  .state = p ? p->state : SPAN_unknown,
			  .stop = stop,
			  .depth = depth,
			  .object = p ? p->object : -1,
			  .first = depth ? w->path[1] : by,
			  .through = depth ? w->through : (u8)SPAN_unknown,
			  .nr = depth ? w->nr : -1,
			  .ns = ns };
	struct chain *c = w->c;
	int i;

	/* waits of a hostile recording can claim more than 64 bits in all */
	if (ns > TOTAL_MAX - c->total)
		l.ns = ns = TOTAL_MAX - c->total;
	if (ns <= 0)
		return;
	c->total += ns;
	for (i = 0; i < c->n; i++)
		if (same(&c->links[i], &l) || i == CHAIN_LINKS - 1) {
			c->links[i].ns += ns;
			return;
		}
	c->links[c->n++] = l;
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

/* What the waker itself did from..to. */
static void follow_waker(struct walk *w, int depth, u32 tid, s64 from, s64 to)
{
	const struct span *p = spans_at(w->s, tid, from);
	s64 covered = 0, ns;

	w->path[depth] = tid;
	for (; p && p->ts < to && w->c->steps < CHAIN_STEPS; p = spans_next(w->s, p)) {
		ns = span_within(p, from, to);
		w->c->steps++;
		covered += ns;
		if (depth == 1) {
			w->through = p->state;
			w->nr = p->nr;
		}
		if (p->state == SPAN_run)
			end(w, depth, p, tid, STOP_running, 0, ns);
		else if (p->state == SPAN_unknown)
			end(w, depth, p, tid, STOP_loss, 0, ns);
		else if (!span_is_wait(p->state))
			end(w, depth, p, tid, STOP_queued, 0, ns);
		else
			follow(w, depth, p, p->ts > from ? p->ts : from,
			       p->ts + p->dur < to ? p->ts + p->dur : to);
	}
	if (depth == 1) {
		w->through = SPAN_unknown;
		w->nr = -1;
	}
	end(w, depth, NULL, tid, w->c->steps < CHAIN_STEPS ? STOP_history : STOP_depth, 0,
	    to - from - covered);
}

/* wait is of the thread path[depth]; from..to is a part of it. */
static void follow(struct walk *w, int depth, const struct span *wait, s64 from, s64 to)
{
	struct who who;
	s64 ns = to - from;

	if (ns <= 0)
		return;
	if (wait->context == SPAN_NO_WAKE)
		end(w, depth, wait, wait->tid, STOP_nobody, 0, ns);
	else if (wait->context != CONTEXT_TASK)
		end(w, depth, wait, wait->tid, by_interrupt(wait->state), 0, ns);
	else if (!wait->waker) /* the idle task: what woke it ran before interrupts were over */
		end(w, depth, wait, wait->tid, by_interrupt(wait->state), 0, ns);
	else if (on_path(w, depth, wait->waker))
		end(w, depth, wait, wait->waker, STOP_cycle, 0, ns);
	else if (depth == CHAIN_DEPTH || w->c->steps >= CHAIN_STEPS)
		end(w, depth, wait, wait->tid, STOP_depth, 0, ns);
	else if (spans_at(w->s, wait->waker, from - CAUSALITY))
		follow_waker(w, depth + 1, wait->waker, from, to);
	else {
		who = names_of(w->names, wait->waker);
		end(w, depth, wait, wait->tid, who.kernel ? STOP_worker : STOP_stranger,
		    wait->waker, ns);
	}
}

void chain_follow(struct chain *c, const struct spans *s, const struct names *names,
		  const struct span *wait, s64 from, s64 to)
{
	struct walk w = { .c = c, .s = s, .names = names, .path = { wait->tid } };

	follow(&w, 0, wait, from, to);
}

static int by_time(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

void chain_sort(struct chain *c)
{
	qsort(c->links, c->n, sizeof(*c->links), by_time);
}
