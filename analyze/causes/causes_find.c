// SPDX-License-Identifier: GPL-2.0-or-later
/* What is found about a category: its mechanism, an example, and how general it is. */
#include "causes.h"

#include <stdio.h>
#include <stdlib.h>

/* Time of a sampled unit by category. */
static void split(struct samples *d, const struct unit *u, s64 sums[N_CATEGORIES])
{
	const struct span *p;
	s64 sent = unit_sent(u);

	for (p = spans_at(&d->spans, u->tid, u->ts); p && p->ts < sent;
	     p = spans_next(&d->spans, p))
		sums[category_of(p->state)] += span_within(p, u->ts, sent);
	sums[CATEGORY_unsent] = u->held;
	sums[CATEGORY_queue] = u->in_queue;
	sums[CATEGORY_cpu] -= u->in_queue < sums[CATEGORY_cpu] ? u->in_queue : sums[CATEGORY_cpu];
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

/* By windows of series: those that touch the slow time range, and the others. */
int cause_parts(struct cause *c, sqlite3 *db, const struct moment *slow, u32 tid, struct err *e)
{
	static const char sql[] =
		"SELECT ts < ?3 AND ts + (SELECT CAST(value AS INTEGER) FROM recording WHERE"
		" key='step_ns') > ?2 AS slow, 100 * total(time) FILTER (WHERE kind=series_id('softirq')) / total(time)"
		" FILTER (WHERE kind=series_id('runtime')), 100 * total(time) FILTER (WHERE kind=series_id('irq')) / total(time) FILTER"
		" (WHERE kind=series_id('runtime')), 100 * total(time) FILTER (WHERE kind=series_id('stolen')) / total(time) FILTER (WHERE"
		" kind=series_id('runtime')) FROM series WHERE kind IN (series_id('runtime'), series_id('softirq'), series_id('irq'), series_id('stolen')) AND tid IN (SELECT tid FROM thread WHERE"
		" softirq NOT NULL AND pid IN (SELECT pid FROM thread WHERE tid=?1)) GROUP BY slow"
		" HAVING total(time) FILTER (WHERE kind=series_id('runtime')) > 0 ORDER BY slow DESC";
	static const char *const names[2][3] = { { "softirq_else", "irq_else", "stolen_else" },
						 { "softirq", "irq", "stolen" } };
	struct cause_child *child = NULL;
	bool range = slow->to > 0;
	sqlite3_stmt *q;
	int i, ret = db_query(&q, db, e, sql, "iii", (s64)tid, range ? slow->from : (s64)0,
			      range ? slow->to : INT64_MAX);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0) {
		bool in = sqlite3_column_int(q, 0);

		if (!child && in)
			child = cause_child(c, FINDING_cause_parts, OBSERVED);
		for (i = 0; i < 3 && child; i++)
			CHILD_VALUE(child, VALUE_NUMBER, names[in][i],
				    sqlite3_column_double(q, i + 1), "%");
	}
	sqlite3_finalize(q);
	if (ret == 0 && !child)
		cause_child(c, FINDING_caveat_interrupts, OBSERVED);
	return ret;
}

static int find_self(struct samples *d, const struct ranking *r, struct cause *c, struct err *e)
{
	c->kind = "self";
	c->finding = FINDING_cause_self;
	c->evidence = OBSERVED;
	c->own = true;
	if (r->queued > 0)
		CAUSE_VALUE(c, VALUE_NUMBER, "queued", 100 * r->queued, "%");
	return cause_parts(c, d->db, &d->cmp->when, d->n ? d->slow[0].tid : 0, e);
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

/* For something outside of the runtime. */
static bool is_outside(u8 state)
{
	enum category category = category_of(state);

	return category == CATEGORY_disk || category == CATEGORY_blocked ||
	       category == CATEGORY_filelock || category == CATEGORY_child ||
	       category == CATEGORY_pipe || category == CATEGORY_client;
}

/*
 * What the thread waited for that gave work to the idle one. Nothing is said of one that was idle
 * as well, or ran: its work may be another's.
 */
static int find_green_end(struct samples *d, struct cause *c, struct err *e)
{
	struct cause without = *c; /* its texts are constants, or in c */
	struct slept s;
	int ret;

	slept_follow_idle(&s, d, NULL);
	ret = slept_end(&s, c, e);
	slept_free(&s);
	if (c->end_part > 0 && is_outside(c->end_state))
		c->finding = FINDING_cause_green_end;
	else
		*c = without;
	return ret;
}

/* Of a runtime with green threads, which wait where no thread does. */
static int find_green(struct samples *d, struct cause *c, struct err *e)
{
	struct buf kind = { 0 };
	int ret = samples_green(d, &kind, e);

	if (ret == 0 && kind.len) {
		c->finding = FINDING_cause_green;
		snprintf(c->file, sizeof(c->file), "%s", kind.data);
		ret = find_green_end(d, c, e);
		CAUSE_VALUE(c, VALUE_TEXT, "kind", c->file);
	}
	buf_free(&kind);
	return ret;
}

/* How often a thread of slow units is stopped: by a tracer, at each of its calls. */
static void count_stops(struct samples *d, struct cause *c)
{
	double n = 0, ns = 0;
	const struct span *p;
	size_t i;

	for (i = 0; i < d->n; i++) {
		const struct unit *u = &d->slow[i];

		for (p = spans_at(&d->spans, u->tid, u->ts); p && p->ts < unit_sent(u);
		     p = spans_next(&d->spans, p))
			n += p->state == SPAN_stopped;
		ns += (double)(unit_sent(u) - u->ts);
	}
	if (n > d->n && ns > 0 && 1e9 * n >= ns) /* once per second, or more often */
		CAUSE_VALUE(c, VALUE_NUMBER, "stops", 1e9 * n / ns, "");
}

static int find_sleep(struct samples *d, enum category category, struct cause *c, struct err *e)
{
	if (category == CATEGORY_other && find_green(d, c, e) < 0)
		return ERR_FAIL;
	if (c->finding == FINDING_cause_green || c->finding == FINDING_cause_green_end)
		return 0;
	c->finding = kind_of_sleep(category);
	if (category == CATEGORY_stopped)
		count_stops(d, c);
	if (cause_sleep(d, c, e) < 0)
		return ERR_FAIL;
	return category == CATEGORY_filelock ? cause_filelock(d, c, e) : 0;
}

int cause_find(struct samples *d, const struct ranking *r, enum category category, struct cause *c,
	       struct err *e)
{
	*c = (struct cause){ .category = category,
			     .evidence = OVERLAP,
			     .kind = category_names[category],
			     .passed = r->passed[category],
			     .moved = r->moved[category] };
	find_example(d, c);
	switch (category) {
	case CATEGORY_cpu:
		return find_self(d, r, c, e);
	case CATEGORY_queue:
		return cause_queue(d, c, e);
	case CATEGORY_runq:
		return cause_runq(d, r, c, e);
	case CATEGORY_futex:
		return cause_futex(d, c, e);
	case CATEGORY_disk:
		return cause_disk(d, r, c, e);
	case CATEGORY_client:
		return cause_upstream(d, &r->ends, c, e);
	case CATEGORY_pipe:
		return cause_pipe(d, c, e);
	case CATEGORY_unsent:
		c->finding = FINDING_cause_unsent;
		c->evidence = OBSERVED;
		return 0;
	default:
		return find_sleep(d, category, c, e);
	}
}
