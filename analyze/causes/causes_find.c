// SPDX-License-Identifier: GPL-2.0-or-later
/* What is found about a category: its mechanism, an example, and how general it is. */
#include "causes.h"

/* Time of a sampled unit by category. */
static void split(struct samples *d, const struct unit *u, s64 sums[N_CATEGORIES])
{
	const struct span *p;

	for (p = spans_at(&d->spans, u->tid, u->ts); p && p->ts < u->ts + u->dur;
	     p = spans_next(&d->spans, p))
		sums[category_of(p->state)] += span_within(p, u->ts, u->ts + u->dur);
	sums[CATEGORY_behind] = u->behind;
	sums[CATEGORY_cpu] -= u->behind < sums[CATEGORY_cpu] ? u->behind : sums[CATEGORY_cpu];
}

/* In how many of the slow units is this category the largest part? Which has most of it? */
static void find_example(struct samples *d, struct cause *c)
{
	size_t i, largest = 0;
	int k;

	for (i = 0; i < d->n; i++) {
		s64 sums[N_CATEGORIES] = { 0 };

		split(d, &d->slow[i], sums);
		/* answers that an event loop waits for are waited for in poll */
		if (c->category == CATEGORY_client)
			sums[c->category] += sums[CATEGORY_poll];
		for (k = 0; k < N_CATEGORIES; k++)
			if (k != (int)c->category && sums[k] > sums[c->category])
				break;
		largest += k == N_CATEGORIES && sums[c->category] > 0;
		if (sums[c->category] > c->example_ns) {
			c->example = d->slow[i];
			c->example_ns = sums[c->category];
		}
	}
	c->largest = d->n ? (double)largest / d->n : 0;
}

static void find_self(struct cause *c)
{
	c->kind = "self";
	c->finding = FINDING_cause_self;
	c->evidence = OBSERVED;
	c->own = true;
	cause_child(c, FINDING_caveat_interrupts, OBSERVED);
}

static enum finding_kind kind_of_sleep(enum category category)
{
	switch (category) {
	case CATEGORY_poll:
		return FINDING_cause_poll;
	case CATEGORY_server:
		return FINDING_cause_server;
	case CATEGORY_blocked:
		return FINDING_cause_blocked;
	case CATEGORY_timer:
		return FINDING_cause_timer;
	case CATEGORY_child:
		return FINDING_cause_child;
	case CATEGORY_filelock:
		return FINDING_cause_filelock;
	case CATEGORY_stopped:
		return FINDING_cause_stopped;
	default:
		return FINDING_cause_other;
	}
}

int cause_find(struct samples *d, const struct ranking *r, enum category category, struct cause *c,
	       struct err *e)
{
	*c = (struct cause){ .category = category,
			     .evidence = OVERLAP,
			     .kind = category_names[category],
			     .passed = r->passed[category],
			     .passed_low = r->passed_low[category] };
	find_example(d, c);
	switch (category) {
	case CATEGORY_cpu:
		find_self(c);
		return 0;
	case CATEGORY_behind:
		return cause_behind(d, c, e);
	case CATEGORY_runq:
		return cause_runq(d, &r->ends, c, e);
	case CATEGORY_futex:
		return cause_futex(d, c, e);
	case CATEGORY_disk:
		return cause_disk(d, &r->ends, c, e);
	case CATEGORY_client:
		return cause_upstream(d, &r->ends, c, e);
	case CATEGORY_pipe:
		return cause_pipe(d, c, e);
	default:
		c->finding = kind_of_sleep(category);
		return cause_sleep(d, c, e);
	}
}
