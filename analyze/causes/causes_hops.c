// SPDX-License-Identifier: GPL-2.0-or-later
/* The second hop and the last one: what those did that slow units waited for. */
#include "causes.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const does[N_SPAN_STATES] = {
#define STATE(id, name, off, category, series, label, does, doc) [id] = (does),
#include "analyze/store/waits.def"
#undef STATE
};

/* Name of a system call of the recording; "" if there is none. */
static int call_name(struct drill *d, s32 nr, char *text, size_t size, struct err *e)
{
	sqlite3_stmt *q;
	int ret;

	text[0] = '\0';
	if (nr < 0)
		return 0;
	ret = db_query(&q, d->db, e, "SELECT name FROM syscall_name WHERE nr=? LIMIT 1", "i",
		       (s64)nr);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		snprintf(text, size, "%s", db_text(q, 0));
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* "computing 80 %, asleep in nanosleep 15 %": what the thread that was waited for did meanwhile. */
static int list_states(struct drill *d, struct tally *states, struct found *f, struct err *e)
{
	size_t at = 0;
	char call[40];
	int i, state, ret = 0;

	for (i = 0; i < states->n && i < 2 && ret == 0 && at < sizeof(f->second); i++) {
		if (states->of[i].ns < 0.15 * states->total)
			break;
		state = (states->of[i].key >> 16) % N_SPAN_STATES;
		ret = call_name(d, (s32)(states->of[i].key & 0xffff) - 1, call, sizeof(call), e);
		at += snprintf(f->second + at, sizeof(f->second) - at, "%s%s%s%s %.0f %%",
			       i ? ", " : "", does[state], call[0] ? " in " : "", call,
			       100 * states->of[i].ns / states->total);
	}
	return ret;
}

/* Where most of the time ends, behind all hops: a thread, its state, and why it goes no further. */
static int say_end(struct drill *d, struct slept *s, u32 waker, struct found *f, struct err *e)
{
	struct tally ends = { 0 };
	const struct link *l = NULL;
	char name[64], by[64] = "", call[40];
	int i, ret;

	for (i = 0; i < s->chain.n; i++) /* all that end at one thread in one state and call */
		tally_add(&ends,
			  (s64)s->chain.links[i].tid << 24 | (s64)s->chain.links[i].state << 16 |
				  (s->chain.links[i].call + 1),
			  s->chain.links[i].ns);
	tally_sort(&ends);
	for (i = 0; i < s->chain.n && ends.n; i++)
		if (((s64)s->chain.links[i].tid << 24 | (s64)s->chain.links[i].state << 16 |
		     (s->chain.links[i].call + 1)) == ends.of[0].key &&
		    (!l || s->chain.links[i].ns > l->ns))
			l = &s->chain.links[i];
	/* at the first hop it was said already */
	if (!l || l->depth == 0 || (l->tid == waker && l->depth == 1 && !l->by) ||
	    ends.of[0].ns < 0.25 * ends.total)
		return 0;
	ret = call_name(d, l->call, call, sizeof(call), e);
	if (ret < 0)
		return ret;
	if (l->by)
		thread_text(&d->names, l->by, by, sizeof(by));
	thread_text(&d->names, l->tid, name, sizeof(name));
	snprintf(f->behind, sizeof(f->behind), "%s, %s%s%s (%.0f %%)", name, does[l->state],
		 call[0] ? " in " : "", call, 100 * ends.of[0].ns / ends.total);
	return buf_printf(&f->text, e, "; behind all hops it is %s, %s%s%s (%.0f %%: %s%s%s)", name,
			  does[l->state], call[0] ? " in " : "", call,
			  100 * ends.of[0].ns / ends.total, stop_docs[l->stop], by[0] ? ", " : "",
			  by);
}

int drill_second(struct drill *d, struct slept *s, u32 waker, struct found *f, struct err *e)
{
	struct tally states = { 0 };
	int i, ret;

	for (i = 0; i < s->chain.n; i++) {
		const struct link *l = &s->chain.links[i];

		if (l->first == waker)
			tally_add(&states, (s64)l->through << 16 | (l->nr + 1), l->ns);
	}
	tally_sort(&states);
	ret = list_states(d, &states, f, e);
	if (ret == 0 && f->second[0])
		ret = buf_printf(&f->text, e, "; meanwhile that thread was %s", f->second);
	return ret < 0 ? ret : say_end(d, s, waker, f, e);
}

int drill_ends(struct drill *d, enum category category, double ret_share[N_CATEGORIES],
	       struct err *e)
{
	struct slept *s = calloc(1, sizeof(*s));
	int i;

	for (i = 0; i < N_CATEGORIES; i++)
		ret_share[i] = 0;
	if (!s)
		return err_set(e, ERR_FAIL, "out of memory for waits");
	s->d = d;
	drill_each(d, category, drill_on_slept, s);
	for (i = 0; i < s->chain.n; i++)
		if (s->chain.links[i].depth)
			ret_share[category_of(s->chain.links[i].state)] +=
				(double)s->chain.links[i].ns / s->chain.total;
	free(s);
	return 0;
}
