// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions that were called too often for an event each (--hot): their calls come as histograms,
 * which join those of their calls with events. The buckets of both are the same.
 */
#include "track_calls.h"

/* Of what a recording claims, a sum stays at its end. */
static void add(u64 *sum, u64 v)
{
	*sum = *sum + v < v ? UINT64_MAX : *sum + v;
}

/* In the first pass: no call of it may count for a service. */
static int counted_first(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_call_count *ev = rec->event;
	struct call_stat *s = calls_stat(r, ev->site, e);

	if (!s)
		return ERR_FAIL;
	s->no_service = true;
	return 0;
}

static int counted_on_call_count(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_call_count *ev = rec->event;
	struct call_stat *s = calls_stat(r, ev->site, e);
	struct row_call_count *row;

	if (!s)
		return ERR_FAIL;
	add(&s->counted, ev->entries);
	add(&s->timed, ev->n);
	add(&s->timed_total, ev->wall);
	add(&s->timed_cpu, ev->cpu);
	s->timed_longest = ev->longest > s->timed_longest ? ev->longest : s->timed_longest;
	row = bulk_add(r->bulk, call_count);
	row->ts = replay_time(r, elapsed(ev->dur, rec->ts));
	row->dur = ev->dur & INT64_MAX;
	row->tid = rec->tid;
	row->site = ev->site;
	row->entries = ev->entries & INT64_MAX;
	row->n = ev->n & INT64_MAX;
	row->total = ev->wall & INT64_MAX;
	row->cpu = ev->cpu & INT64_MAX;
	row->migrated = ev->migrated;
	return 0;
}

static int counted_on_call_bucket(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_call_bucket *ev = rec->event;
	struct call_stat *s = calls_stat(r, ev->site, e);

	if (!s)
		return ERR_FAIL;
	hist_add_times(ev->what ? &s->on_cpu : &s->latency, ev->low, ev->n);
	return 0;
}

static int counted_on_call_mode(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_call_mode *ev = rec->event;
	struct row_call_mode *row = bulk_add(r->bulk, call_mode);

	(void)e;
	row->ts = replay_time(r, rec->ts);
	row->site = ev->site;
	row->counted = ev->mode == HOT_ON;
	row->rate = ev->rate & INT64_MAX;
	row->above = ev->limit & INT64_MAX;
	return 0;
}

static const struct handler handlers[] = {
	{ EV_call_count, true, counted_first },
	{ EV_call_count, false, counted_on_call_count },
	{ EV_call_bucket, false, counted_on_call_bucket },
	{ EV_call_mode, false, counted_on_call_mode },
	{ 0 },
};

const struct tracker track_counted = {
	.name = "counted",
	.handlers = handlers,
};
