// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The streams of an excerpt. A block of the part holds records of one block of the whole, so
 * that losses, which block headers locate, stay where they were.
 */
#include "excerpt_cpu.h"

#include "analyze/base/when.h"
#include "format/frame.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE  (1u << 20)
#define BYTES_LIMIT (64u << 20) /* of all CPUs' unfinished blocks together */
#define GAP	    8		/* any hole in the positions says that something is missing */

struct tally {
	u64 written, dropped; /* records within the part */
	bool based, put;
	struct ev_counters base; /* before the part */
	struct ev_counters last;
	u64 put_written, put_dropped;
};

struct cpu {
	u32 id;
	struct buf records;
	u32 groups;
	u32 block;     /* of the whole, whose records wait */
	bool any;      /* a block of the whole has been seen within the part */
	bool early;    /* blocks before the part were left unread */
	u64 whole_end; /* where that block's span of the ring ended */
	u64 pos;       /* in the part's own count */
	u64 gap;
	u64 lost_before;  /* before the part */
	u64 lost_written; /* the last header said */
	u64 lost_last;	  /* what the last block within the part will say */
	size_t last_block;
	u64 last_ts;
	struct tally group[GROUP_MAX];
};

static struct cpu *cpu_of(struct excerpt *x, u32 id)
{
	struct cpu *c = idmap_get(&x->cpus, id);

	if (c)
		return c;
	c = idmap_add(&x->cpus, id, sizeof(*c), STREAM_MAX, "CPUs", x->e);
	if (!c)
		return NULL;
	c->id = id;
	c->last_ts = x->from > x->origin.begin ? x->from : x->origin.begin;
	return c;
}

int excerpt_cpus_begin(struct excerpt *x)
{
	const struct block_info *b;
	bool lost = false;
	struct cpu *c;
	size_t i, n;

	b = reader_blocks(x->reader, &n);
	for (i = 0; i < n; i++) {
		if (b[i].stream == STREAM_RECORDER || !b[i].records)
			continue;
		c = cpu_of(x, b[i].stream);
		if (!c)
			return ERR_FAIL;
		if (b[i].ts_max < x->from) {
			c->lost_before = b[i].lost;
			c->lost_last = b[i].lost;
			c->early = true;
		} else if (b[i].ts_min < x->to) {
			lost |= b[i].lost > c->lost_last;
			c->lost_last = b[i].lost > c->lost_last ? b[i].lost : c->lost_last;
			c->last_block = i;
		}
	}
	if (lost) /* which group lost how much before is only in the counters */
		x->early |= 1u << GROUP_recorder;
	return 0;
}

static int flush(struct excerpt *x, struct cpu *c)
{
	const struct block_info *all;
	struct block_info info = { .stream = c->id, .groups = c->groups };
	size_t n;
	u64 lost;
	int ret;

	if (!c->records.len)
		return 0;
	all = reader_blocks(x->reader, &n);
	lost = elapsed(c->lost_before, all[c->block].lost);
	c->lost_written = lost > c->lost_written ? lost : c->lost_written;
	info.lost = c->lost_written;
	info.pos_begin = c->pos + c->gap;
	info.pos_end = info.pos_begin + c->records.len;
	c->pos = info.pos_end;
	c->gap = 0;
	ret = writer_append(x->writer, &info, c->records.data, c->records.len, x->e);
	x->bytes -= c->records.len;
	buf_clear(&c->records);
	c->groups = 0;
	return ret;
}

/* Another block of the whole: whether it joins the one before. */
static int enter_block(struct excerpt *x, struct cpu *c, u32 number)
{
	const struct block_info *all;
	size_t n;
	int ret = 0;

	if (c->any && number == c->block)
		return 0;
	all = reader_blocks(x->reader, &n);
	if (c->any) {
		ret = flush(x, c);
		if (all[number].pos_begin != c->whole_end)
			c->gap = GAP;
	}
	c->any = true;
	c->block = number;
	c->whole_end = all[number].pos_end;
	return ret;
}

static int flush_all(struct excerpt *x)
{
	struct cpu *c;
	size_t at = 0;
	int ret = 0;

	while (ret == 0 && (c = idmap_each(&x->cpus, &at)))
		ret = flush(x, c);
	return ret;
}

/* len bytes were added to the CPU's records. */
static int added(struct excerpt *x, struct cpu *c, size_t len, u32 group)
{
	c->groups |= 1u << group;
	x->bytes += len;
	if (c->records.len >= BLOCK_SIZE)
		return flush(x, c);
	return x->bytes > BYTES_LIMIT ? flush_all(x) : 0;
}

int excerpt_record(struct excerpt *x, const struct record *rec, const struct ev_segment *instead,
		   bool keep)
{
	struct cpu *c = cpu_of(x, rec->stream);
	size_t before;
	int ret;

	if (!c)
		return ERR_FAIL;
	ret = enter_block(x, c, rec->block);
	if (ret < 0)
		return ret;
	c->last_ts = rec->ts;
	if (!keep) {
		c->group[rec->desc->group].dropped++;
		return 0;
	}
	c->group[rec->desc->group].written++;
	x->records++;
	before = c->records.len;
	ret = instead ? convert_struct(x->schema->by_id[EV_segment], instead, "", 0, &c->records,
				       x->e)
		      : conversion_put(&x->conversion, rec->raw, &c->records, x->e);
	if (ret >= 0 && rec->type == EV_fork && rec->event && filter_chooses(x->filter))
		record_set(x->schema->by_id[EV_fork], (u8 *)c->records.data + ret, "target",
			   process_state_chosen(x->state,
						((const struct ev_fork *)rec->event)->child));
	return ret < 0 ? ret : added(x, c, c->records.len - before, rec->desc->group);
}

int excerpt_counted(struct excerpt *x, const struct record *rec, u32 cpu, bool keep)
{
	struct cpu *c = cpu_of(x, cpu);

	if (!c)
		return ERR_FAIL;
	if (keep)
		c->group[rec->desc->group].written++;
	else
		c->group[rec->desc->group].dropped++;
	x->records += keep;
	return 0;
}

/* The counters of one group as they hold for the part so far. */
static int put_counters(struct excerpt *x, struct cpu *c, u32 g, u64 ts)
{
	struct tally *t = &c->group[g];
	struct ev_counters ev = { .h = { .ts = ts }, .cpu = c->id, .group = g };
	size_t before = c->records.len;
	int ret;

	ev.emitted = t->written;
	ev.lost_full = elapsed(t->base.lost_full, t->last.lost_full);
	ev.lost_other = elapsed(t->base.lost_other, t->last.lost_other);
	ev.self = elapsed(t->base.self, t->last.self);
	ev.filtered = elapsed(t->base.filtered, t->last.filtered) + t->dropped;
	ev.nostate = elapsed(t->base.nostate, t->last.nostate);
	ev.counted = elapsed(t->base.counted, t->last.counted);
	ev.seen = ev.emitted + ev.lost_full + ev.lost_other + ev.self + ev.filtered + ev.counted;
	t->put = true;
	t->put_written = t->written;
	t->put_dropped = t->dropped;
	ret = convert_struct(x->schema->by_id[EV_counters], &ev, "", 0, &c->records, x->e);
	return ret < 0 ? ret : added(x, c, c->records.len - before, GROUP_recorder);
}

int excerpt_base(struct excerpt *x, const struct record *rec)
{
	const struct ev_counters *ev = rec->event;
	struct cpu *c = ev->group < GROUP_MAX && ev->cpu < STREAM_MAX ? cpu_of(x, ev->cpu) : NULL;

	if (!c)
		return ev->group < GROUP_MAX && ev->cpu < STREAM_MAX ? ERR_FAIL : 0;
	c->group[ev->group].base = c->group[ev->group].last = *ev;
	c->group[ev->group].based = c->group[ev->group].put = true;
	return 0;
}

int excerpt_counters(struct excerpt *x, const struct record *rec, bool within)
{
	const struct ev_counters *ev = rec->event;
	struct cpu *c = cpu_of(x, rec->stream);
	struct tally *t;
	int ret = 0;

	if (!c)
		return ERR_FAIL;
	if (ev->group >= GROUP_MAX)
		return 0;
	t = &c->group[ev->group];
	t->last = *ev;
	if (rec->ts < x->from) {
		t->base = *ev;
		t->based = true;
		return 0;
	}
	/* nothing was lost within, else the counters before had been read */
	if (!t->based && c->early && !(x->early & 1u << GROUP_recorder))
		t->base = *ev;
	t->based = true;
	if (within)
		ret = enter_block(x, c, rec->block);
	if (within && ret == 0)
		ret = put_counters(x, c, ev->group, rec->ts);
	else
		t->put = false;
	return ret;
}

static int end_cpu(struct excerpt *x, struct cpu *c)
{
	bool missing = c->any && c->block != c->last_block; /* the last block could not be read */
	bool owing = missing || elapsed(c->lost_before, c->lost_last) > c->lost_written;
	struct block_info const *all;
	int ret = 0;
	size_t n;
	u32 g;

	if (missing) {
		ret = flush(x, c);
		c->gap = GAP;
		c->block = c->last_block;
	}
	for (g = 0; g < GROUP_MAX && ret == 0; g++) {
		struct tally *t = &c->group[g];

		if (t->written != t->put_written || t->dropped != t->put_dropped ||
		    (t->based && (owing || !t->put)))
			ret = put_counters(x, c, g, c->last_ts);
	}
	all = reader_blocks(x->reader, &n);
	if (c->any && ret == 0 && all[c->last_block].lost > all[c->block].lost)
		c->block = c->last_block;
	return ret < 0 ? ret : flush(x, c);
}

int excerpt_cpus_end(struct excerpt *x)
{
	const struct block_info *b;
	struct cpu *c;
	size_t i, n;
	int ret = 0;

	/* in the order in which they first came, not in the map's, which is random */
	b = reader_blocks(x->reader, &n);
	for (i = 0; i < n && ret == 0; i++) {
		c = b[i].stream == STREAM_RECORDER ? NULL : idmap_take(&x->cpus, b[i].stream);
		if (!c)
			continue;
		ret = end_cpu(x, c);
		buf_free(&c->records);
		free(c);
	}
	return ret;
}

int excerpt_flush_own(struct excerpt *x, bool all)
{
	struct block_info info = { .stream = STREAM_RECORDER, .groups = 1u << GROUP_recorder };
	size_t at;
	int ret;

	if (!x->own.len || (!all && x->own.len < BLOCK_SIZE))
		return 0;
	for (at = 0; at < x->own.len; at += le_get((u8 *)x->own.data + at + 14, 2)) {
		u16 type = le_get((u8 *)x->own.data + at + 12, 2);

		info.groups |= 1u << x->schema->by_id[type]->group;
	}
	ret = writer_append(x->writer, &info, x->own.data, x->own.len, x->e);
	buf_clear(&x->own);
	return ret;
}

void excerpt_cpus_free(struct excerpt *x)
{
	struct cpu *c;
	size_t at = 0;

	while ((c = idmap_each(&x->cpus, &at))) {
		buf_free(&c->records);
		free(c);
	}
	idmap_free(&x->cpus);
}
