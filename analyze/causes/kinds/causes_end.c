// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits that a wakeup ended: the waker, and the end of the wakeup chain. */
#include "analyze/causes/causes.h"

#include <stdio.h>

#define NOTABLE	  0.25 /* of the time: an end with less is not named */
#define UNSEEN_AT 0.1  /* of the time without a wakeup: is said */

static void on_slept(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	struct slept *s = arg;
	s64 from = p->ts > u->ts ? p->ts : u->ts;
	u32 holder = p->state == SPAN_futex ? samples_holder(s->d, p) : 0;
	bool woken = p->context == CONTEXT_TASK && p->waker;
	struct span wait = *p;

	tally_add(&s->objects, p->object, ns);
	if (holder)
		tally_add(&s->holders, holder, ns);
	if (woken)
		tally_add(&s->wakers, p->waker, ns);
	else if (!holder && p->context == SPAN_NO_WAKE)
		s->unknown += ns;
	else if (!holder)
		s->interrupts += ns;
	if (!woken && holder) { /* timed out, or never woken: the holder was waited for */
		wait.waker = holder;
		wait.context = CONTEXT_TASK;
	}
	s->chain.weight = samples_weight(s->d, u, false);
	chain_follow(&s->chain, &s->d->spans, &s->d->names, &wait, from, from + ns);
}

static void follow_all(struct slept *s, struct samples *d, const enum category *categories, int n,
		       struct pieces *ends)
{
	int i;

	*s = (struct slept){ .d = d, .chain = { .ends = ends } };
	for (i = 0; i < n; i++)
		samples_each(d, false, categories[i], on_slept, s);
	tally_sort(&s->objects);
	tally_sort(&s->wakers);
	tally_sort(&s->holders);
}

void slept_follow(struct slept *s, struct samples *d, enum category category, struct pieces *ends)
{
	follow_all(s, d, &category, 1, ends);
}

void slept_follow_idle(struct slept *s, struct samples *d, struct pieces *ends)
{
	static const enum category idle[] = { CATEGORY_futex, CATEGORY_poll, CATEGORY_timer };

	follow_all(s, d, idle, sizeof(idle) / sizeof(idle[0]), ends);
}

void slept_free(struct slept *s)
{
	tally_free(&s->objects);
	tally_free(&s->wakers);
	tally_free(&s->holders);
	chain_free(&s->chain);
}

u32 slept_waker(struct slept *s)
{
	return s->wakers.n ? s->wakers.of[0].key : 0;
}

/* A thread or a process, its state and its system call, as one number. */
static s64 end_key(const struct slept *s, const struct link *l, bool process)
{
	u32 id = process ? names_of(&s->d->names, l->tid).pid : l->tid;

	return (s64)id << 24 | (s64)l->state << 16 | ((l->call + 1) & 0xffff);
}

/* The largest end of one kind; false: none with a quarter of the time. */
static bool largest_end(const struct slept *s, bool process, struct tally_row *ret)
{
	struct tally ends = { 0 };
	bool found;
	u32 i;

	for (i = 0; i < s->chain.n; i++)
		if (chain_is_end(&s->chain.links[i]))
			tally_add(&ends, end_key(s, &s->chain.links[i], process),
				  s->chain.links[i].ns);
	tally_sort(&ends);
	found = ends.n && ends.of[0].sum >= NOTABLE * s->chain.total;
	if (found)
		*ret = ends.of[0];
	tally_free(&ends);
	return found;
}

/* The thread without intervals that ended most of the waits at this end; key 0: none. */
static struct tally_row stranger_of(const struct slept *s, s64 key, bool process, double end_ns)
{
	struct tally strangers = { 0 };
	struct tally_row ret = { 0 };
	u32 i;

	for (i = 0; i < s->chain.n; i++) {
		const struct link *l = &s->chain.links[i];

		if (l->by && chain_is_end(l) && end_key(s, l, process) == key)
			tally_add(&strangers, l->by, l->ns);
	}
	tally_sort(&strangers);
	if (strangers.n && strangers.of[0].sum > end_ns / 2)
		ret = strangers.of[0];
	tally_free(&strangers);
	return ret;
}

/* Share of the waits that end at the thread which woke, not at one that it waited for. */
static double ended_at(const struct slept *s, u32 waker)
{
	double ns = 0;
	u32 i;

	for (i = 0; i < s->chain.n; i++)
		if (chain_is_end(&s->chain.links[i]) && s->chain.links[i].tid == waker)
			ns += s->chain.links[i].ns;
	return s->chain.total > 0 ? ns / s->chain.total : 0;
}

static void blame_root(struct slept *s, struct cause *c)
{
	if (c->holder.kind != SUBJECT_none || c->waker.kind != SUBJECT_thread ||
	    c->end.kind != SUBJECT_thread || c->end.id == c->waker.id ||
	    names_of(&s->d->names, c->end.id).kernel || ended_at(s, c->waker.id) >= NOTABLE)
		return;
	c->offender = c->end;
	c->part = c->end_part;
}

/* A thread of which nothing is recorded: what delayed it is not known, so the chain stops there. */
static void blame_stranger(struct slept *s, struct cause *c, const struct tally_row *by)
{
	if (c->holder.kind != SUBJECT_none ||
	    (c->waker.kind == SUBJECT_thread && c->waker.id != c->end.id &&
	     ended_at(s, c->waker.id) >= NOTABLE))
		return;
	c->offender = (struct subject){ SUBJECT_thread, by->key };
	c->part = by->sum / s->chain.total;
}

static void add_child(struct cause *c, u32 by, bool outside)
{
	struct cause_child *child = cause_child(c, FINDING_cause_end, CAUSAL);

	CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * c->end_part, "%");
	child_value(child,
		    (struct value){
			    .name = "end", .of = c->end, .number = NAN, .low = NAN, .high = NAN });
	CHILD_VALUE(child, VALUE_TEXT, "state", category_says[category_of(c->end_state)]);
	if (c->end_call[0])
		CHILD_VALUE(child, VALUE_TEXT, "call", c->end_call);
	if (by)
		CHILD_VALUE(child, VALUE_SUBJECT, outside ? "outside" : "by", thread, by);
}

int slept_end(struct slept *s, struct cause *c, struct err *e)
{
	struct cause_child *child;
	struct tally_row end, by;
	struct who stranger;
	bool outside, process = false, found = largest_end(s, false, &end);
	double all = s->objects.total;
	int ret = 0;

	if (!found)
		process = found = largest_end(s, true, &end);
	if (found) {
		c->end = (struct subject){ process ? SUBJECT_process : SUBJECT_thread,
					   end.key >> 24 };
		c->end_state = end.key >> 16 & 0xff;
		c->end_part = end.sum / s->chain.total;
		ret = samples_call(s->d, (s32)(end.key & 0xffff) - 1, c->end_call,
				   sizeof(c->end_call), e);
		by = stranger_of(s, end.key, process, end.sum);
		stranger = names_of(&s->d->names, by.key);
		outside = by.key && !stranger.recorded && !stranger.kernel;
		add_child(c, by.key, outside);
		blame_root(s, c);
		if (outside)
			blame_stranger(s, c, &by);
	}
	if (ret == 0 && all > 0 && s->unknown >= UNSEEN_AT * all) {
		child = cause_child(c, FINDING_caveat_no_wakeup, OBSERVED);
		CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * s->unknown / all, "%");
	}
	return ret;
}
