// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What was lost, and where. Block headers carry each CPU's running total, so the
 * intervals of loss are known before the first record is read; the counters records
 * say which group and why. Both become rows, and a verdict for each group.
 */
#include "track_loss.h"

#include "analyze/base/counted.h"
#include "format/grow.h"

#include <stdlib.h>
#include <string.h>

#define N_GROUPS GROUP_MAX
#define GAPS_MAX 64

struct cpu_counts {
	u32 cpu;
	struct ev_counters base[N_GROUPS]; /* before the recording: 0 unless it is cut out */
	struct ev_counters last[N_GROUPS];
};

struct loss_counts {
	struct idmap cpus; /* cpu -> struct cpu_counts */
	u64 records[N_GROUPS];
	u64 missed[N_GROUPS];
	struct loss_interval gaps[GAPS_MAX]; /* between recordings that were merged */
	int n_gaps;
};

static struct loss_counts *own(const struct replay *r)
{
	return r->own[TRACK_loss];
}

static int by_from(const void *a, const void *b)
{
	const struct loss_interval *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Sorts and joins intervals that overlap. */
static void join_intervals(struct replay *r)
{
	struct loss_interval *l = r->losses;
	size_t i, n = 0;

	if (!r->n_losses)
		return;
	qsort(l, r->n_losses, sizeof(*l), by_from);
	for (i = 1; i < r->n_losses; i++) {
		if (l[i].from > l[n].to)
			l[++n] = l[i];
		else if (l[i].to > l[n].to)
			l[n].to = l[i].to;
	}
	r->n_losses = n + 1;
}

/* The block before number i of the same stream; NULL if i is the first. */
static const struct block_info *block_before(const struct block_info *blocks, size_t i,
					     const size_t *previous)
{
	return previous[i] == SIZE_MAX ? NULL : &blocks[previous[i]];
}

static int find_previous(const struct block_info *blocks, size_t n, size_t *previous, struct err *e)
{
	struct idmap last = { 0 };
	uintptr_t before;
	size_t i;
	int ret = 0;

	for (i = 0; i < n && ret == 0; i++) {
		before = (uintptr_t)idmap_get(&last, blocks[i].stream);
		previous[i] = before ? before - 1 : SIZE_MAX;
		ret = idmap_put(&last, blocks[i].stream, (void *)(uintptr_t)(i + 1), SIZE_MAX / 2,
				e);
	}
	idmap_free(&last);
	return ret;
}

/* The counters of a CPU, made if need be. */
static struct cpu_counts *counts_of(struct replay *r, u32 cpu, struct err *e)
{
	struct cpu_counts *c = idmap_get(&own(r)->cpus, cpu);

	if (c)
		return c;
	c = idmap_add(&own(r)->cpus, cpu, sizeof(*c), STREAM_MAX, "counters", e);
	if (!c)
		return NULL;
	*c = (struct cpu_counts){ .cpu = cpu };
	return c;
}

/* Counters in the recorder's stream: what they were before the recording begins. */
static int loss_on_base(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_counters *ev = rec->event;
	struct cpu_counts *c;

	if (ev->group >= N_GROUPS)
		return 0;
	c = counts_of(r, ev->cpu, e);
	if (!c)
		return ERR_FAIL;
	c->base[ev->group] = c->last[ev->group] = *ev;
	return 0;
}

/* Events that a CPU had lost before the recording begins. */
static u64 lost_before(const struct replay *r, u32 cpu)
{
	const struct cpu_counts *c = idmap_get(&own(r)->cpus, cpu);
	u64 lost = 0;
	int g;

	for (g = 0; c && g < N_GROUPS; g++)
		lost += c->base[g].lost_full + c->base[g].lost_other;
	return lost;
}

/* Adds to the list, or to its last interval. */
static int add_interval(struct replay *r, u64 from, u64 to, struct err *e)
{
	struct loss_interval *last = r->n_losses ? &r->losses[r->n_losses - 1] : NULL;

	if (last && from <= last->to && from >= last->from) {
		last->to = to > last->to ? to : last->to;
		return 0;
	}
	if (GROW(r->losses, r->n_losses, "the list of losses", e) < 0)
		return ERR_FAIL;
	r->losses[r->n_losses++] = (struct loss_interval){ from, to };
	return 0;
}

static const char *group_name(const struct replay *r, u32 group)
{
	const struct schema *s = reader_schema(r->reader);

	return s->groups[group].name[0] ? s->groups[group].name : "unknown";
}

/* Nothing was recorded then: as good as lost. */
int loss_on_gap(struct replay *r, const char *from_to, struct err *e)
{
	char *end;
	u64 from = strtoull(from_to, &end, 10), to = strtoull(end, NULL, 10);

	if (from >= to || own(r)->n_gaps == GAPS_MAX)
		return err_set(e, ERR_DAMAGED, "the recording's list of gaps is damaged");
	own(r)->gaps[own(r)->n_gaps++] = (struct loss_interval){ from, to };
	return 0;
}

bool loss_has_gaps(const struct replay *r)
{
	return own(r)->n_gaps > 0;
}

/* Of a part, what lies in it. */
static int put_gaps(struct replay *r, struct err *e)
{
	u64 last = r->stopped ? r->stopped : r->end, from, to;
	int i, ret = 0;
	u32 group;

	for (i = 0; i < own(r)->n_gaps && ret == 0; i++) {
		from = own(r)->gaps[i].from > r->begin ? own(r)->gaps[i].from : r->begin;
		to = own(r)->gaps[i].to < last ? own(r)->gaps[i].to : last;
		if (from >= to)
			continue;
		ret = add_interval(r, from, to, e);
		for (group = GROUP_core; group < N_GROUPS && ret == 0; group++)
			if (r->groups & 1u << group)
				ret = row_put(r->db, loss, e, .ts = replay_time(r, from),
					      .dur = elapsed(from, to), .cpu = BULK_NULL,
					      .grp = group_name(r, group), .reason = "gap");
	}
	return ret;
}

static int loss_start(struct replay *r, struct err *e)
{
	const struct block_info *blocks, *b, *prev;
	size_t i, n, *previous;
	int ret = 0;

	blocks = reader_blocks(r->reader, &n);
	previous = calloc(n + 1, sizeof(*previous));
	if (!previous)
		return err_set(e, ERR_FAIL, "out of memory for the list of losses");
	ret = find_previous(blocks, n, previous, e);
	if (ret == 0)
		ret = put_gaps(r, e);
	for (i = 0; i < n && ret == 0; i++) {
		b = &blocks[i];
		prev = block_before(blocks, i, previous);
		if (b->stream == STREAM_RECORDER ||
		    b->lost <= (prev ? prev->lost : lost_before(r, b->stream)))
			continue;
		ret = add_interval(r, prev ? prev->ts_max : r->begin, b->ts_max, e);
	}
	free(previous);
	join_intervals(r);
	return ret;
}

bool loss_overlaps(const struct replay *r, u64 from, u64 to)
{
	size_t low = 0, high = r->n_losses, mid;

	while (low < high) { /* the first interval that ends at or after from */
		mid = (low + high) / 2;
		if (r->losses[mid].to < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low < r->n_losses && r->losses[low].from <= to;
}

void loss_count_record(struct replay *r, const struct record *rec)
{
	/* records that obsrec wrote itself (unfinished calls, snapshots) passed no counter; stacks
	 * did, before it found their callers */
	if (counted_on(rec) != STREAM_RECORDER)
		own(r)->records[rec->desc->group]++;
}

static int loss_row(struct replay *r, u64 from, u64 to, u32 cpu, u32 group, const char *reason,
		    u64 n, struct err *e)
{
	if (!n)
		return 0;
	return row_put(r->db, loss, e, .ts = replay_time(r, from), .dur = elapsed(from, to),
		       .cpu = cpu, .grp = group_name(r, group), .reason = reason,
		       .n = n & INT64_MAX);
}

static int loss_on_counters(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_counters *ev = rec->event;
	struct ev_counters *last;
	struct cpu_counts *c;
	u64 from;
	int ret;

	if (ev->group >= N_GROUPS)
		return 0;
	c = counts_of(r, ev->cpu, e);
	if (!c)
		return ERR_FAIL;
	last = &c->last[ev->group];
	/* counters are written when they change: nothing was lost before the last one of this CPU
	 */
	from = last->h.ts ? last->h.ts : r->begin;
	ret = loss_row(r, from, rec->ts, ev->cpu, ev->group, "full",
		       elapsed(last->lost_full, ev->lost_full), e);
	if (ret == 0)
		ret = loss_row(r, from, rec->ts, ev->cpu, ev->group, "other",
			       elapsed(last->lost_other, ev->lost_other), e);
	memcpy(last, ev, sizeof(*last));
	return ret;
}

static int loss_on_program(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_program *ev = rec->event;
	u32 group = ev->group < N_GROUPS ? ev->group : 0;
	char name[64] = "";

	memcpy(name, rec->tail, rec->tail_len < sizeof(name) ? rec->tail_len : sizeof(name) - 1);
	if (row_put(r->db, program, e, .name = name, .grp = group_name(r, group),
		    .runs = ev->runs & INT64_MAX, .time = ev->time & INT64_MAX,
		    .missed = ev->missed & INT64_MAX) < 0)
		return ERR_FAIL;
	/* older recorders did not look when that was */
	if (!ev->missed || reader_schema(r->reader)->by_id[EV_missed])
		return 0;
	own(r)->missed[group] += ev->missed;
	return row_put(r->db, loss, e, .dur = elapsed(r->begin, r->end), .cpu = BULK_NULL,
		       .grp = group_name(r, group), .reason = "unlocated",
		       .n = ev->missed & INT64_MAX);
}

/* What only describes requests, samples and pages: without it, times of requests and states of
 * threads are as known as before. */
static bool describes(u32 group)
{
	return group == GROUP_requests || group == GROUP_cpu || group == GROUP_pagecache ||
	       group == GROUP_offsets || group == GROUP_hops;
}

/* A program that was already running on the CPU; on which is not known. */
static int loss_on_missed(struct replay *r, const struct record *rec, struct err *e)
{
	const struct ev_missed *ev = rec->event;
	u32 group = ev->group < N_GROUPS ? ev->group : 0;
	u64 from = ev->since > r->begin ? ev->since : r->begin;

	if (!ev->count || rec->ts < from)
		return 0;
	own(r)->missed[group] += ev->count;
	if (!describes(group) && add_interval(r, from, rec->ts, e) < 0)
		return ERR_FAIL;
	return row_put(r->db, loss, e, .ts = replay_time(r, from), .dur = elapsed(from, rec->ts),
		       .cpu = BULK_NULL, .grp = group_name(r, group), .reason = "missed",
		       .n = ev->count & INT64_MAX);
}

static const char *verdict(const struct replay *r, u32 group, u64 lost)
{
	const struct recording_state *st = reader_state(r->reader);

	if (!(r->groups & 1u << group))
		return "ABSENT";
	if (lost || st->gaps || st->damaged)
		return "LOSSY";
	return st->complete ? "COMPLETE" : "TRUNCATED";
}

static int loss_finish(struct replay *r, struct err *e)
{
	const struct cpu_counts *c;
	u32 group;
	int ret = 0;

	for (group = GROUP_core; group < N_GROUPS && ret == 0; group++) {
		u64 seen = 0, emitted = 0, lost = own(r)->missed[group];
		u64 own_events = 0, filtered = 0, no_entry = 0, counted = 0;
		size_t at = 0;

		if (!reader_schema(r->reader)->groups[group].name[0])
			continue;
		while ((c = idmap_each(&own(r)->cpus, &at))) {
			const struct ev_counters *b = &c->base[group], *l = &c->last[group];

			seen += elapsed(b->seen, l->seen);
			emitted += elapsed(b->emitted, l->emitted);
			lost += elapsed(b->lost_full, l->lost_full) +
				elapsed(b->lost_other, l->lost_other);
			own_events += elapsed(b->self, l->self);
			filtered += elapsed(b->filtered, l->filtered);
			no_entry += elapsed(b->nostate, l->nostate);
			counted += elapsed(b->counted, l->counted);
		}
		ret = row_put(r->db, coverage, e, .grp = group_name(r, group),
			      .seen = seen & INT64_MAX, .emitted = emitted & INT64_MAX,
			      .records = own(r)->records[group], .lost = lost & INT64_MAX,
			      .own = own_events & INT64_MAX, .filtered = filtered & INT64_MAX,
			      .no_entry = no_entry & INT64_MAX, .counted = counted & INT64_MAX,
			      .verdict = verdict(r, group, lost));
	}
	return ret;
}

static void loss_free(void *slot)
{
	struct loss_counts *all = slot;

	idmap_free_all(&all->cpus);
}

static const struct handler handlers[] = {
	{ EV_counters, true, loss_on_base },
	{ EV_missed, true, loss_on_missed },
	{ EV_counters, false, loss_on_counters },
	{ EV_program, false, loss_on_program },
	{ 0 },
};

const struct tracker track_loss = {
	.name = "loss",
	.handlers = handlers,
	.of_replay = sizeof(struct loss_counts),
	.start = loss_start,
	.finish = loss_finish,
	.free = loss_free,
};
