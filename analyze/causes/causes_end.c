// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits that a wakeup ended: the waker, and the end of the wakeup chain. */
#include "causes.h"

#include <stdio.h>

#define NOTABLE	  0.25 /* of the time: an end with less is not named */
#define UNSEEN_AT 0.1  /* of the time without a wakeup: is said */

static void on_slept(void *arg, const struct unit *u, const struct span *p, s64 ns)
{
	struct slept *s = arg;
	s64 from = p->ts > u->ts ? p->ts : u->ts;

	tally_add(&s->objects, p->object, ns);
	if (p->context == SPAN_NO_WAKE)
		s->unknown += ns;
	else if (p->context != CONTEXT_TASK || !p->waker)
		s->interrupts += ns;
	else
		tally_add(&s->wakers, p->waker, ns);
	s->chain.weight = samples_weight(s->d, u, false);
	chain_follow(&s->chain, &s->d->spans, &s->d->names, p, from, from + ns);
}

void slept_follow(struct slept *s, struct samples *d, enum category category, struct pieces *ends)
{
	*s = (struct slept){ .d = d, .chain = { .ends = ends } };
	samples_each(d, false, category, on_slept, s);
	tally_sort(&s->objects);
	tally_sort(&s->wakers);
}

void slept_free(struct slept *s)
{
	tally_free(&s->objects);
	tally_free(&s->wakers);
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

/* The thread that is not recorded and ended the wait of this end; 0: none. */
static u32 stranger_of(const struct slept *s, s64 key, bool process)
{
	const struct link *best = NULL;
	u32 i;

	for (i = 0; i < s->chain.n; i++) {
		const struct link *l = &s->chain.links[i];

		if (chain_is_end(l) && end_key(s, l, process) == key && (!best || l->ns > best->ns))
			best = l;
	}
	return best ? best->by : 0;
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
	if (c->waker.kind != SUBJECT_thread || c->end.kind != SUBJECT_thread ||
	    c->end.id == c->waker.id || names_of(&s->d->names, c->end.id).kernel ||
	    ended_at(s, c->waker.id) >= NOTABLE)
		return;
	c->offender = c->end;
	c->part = c->end_part;
}

static void add_child(struct cause *c, u32 by)
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
		CHILD_VALUE(child, VALUE_SUBJECT, "by", thread, by);
}

int slept_end(struct slept *s, struct cause *c, struct err *e)
{
	struct cause_child *child;
	struct tally_row end;
	bool process = false, found = largest_end(s, false, &end);
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
		add_child(c, stranger_of(s, end.key, process));
		blame_root(s, c);
	}
	if (ret == 0 && all > 0 && s->unknown >= UNSEEN_AT * all) {
		child = cause_child(c, FINDING_caveat_no_wakeup, OBSERVED);
		CHILD_VALUE(child, VALUE_NUMBER, "part", 100 * s->unknown / all, "%");
	}
	return ret;
}
