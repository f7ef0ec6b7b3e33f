// SPDX-License-Identifier: GPL-2.0-or-later
/* The newest blocks, in bounded memory. */
#include "flight.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FACTS_BLOCK (512u << 10) /* bytes of facts in one block */

struct kept {
	struct kept *next;
	int users; /* the store, and snapshots that are being written */
	u32 stream;
	u64 ts_min, ts_max;
	struct cpu_counts counts; /* of its CPU, at its end */
	size_t len;
	u8 block[];
};

struct flight {
	u64 last, limit; /* ns and bytes to keep */
	int n_cpus;
	struct block_encoder *encoder;
	struct buf out;
	pthread_mutex_t lock; /* for all below */
	struct kept *first, *end;
	struct kept *held, *held_end; /* of the recorder's stream, older, but they tell the state */
	struct cpu_counts *base;      /* by CPU: before the first block */
	u64 state_since, newest, taken, kept;
};

struct flight *flight_new(u64 last, u64 bytes, int n_cpus, struct err *e)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (!f || !(f->base = calloc(n_cpus, sizeof(*f->base)))) {
		free(f);
		err_set(e, ERR_FAIL, "out of memory for blocks");
		return NULL;
	}
	f->last = last ? last : UINT64_MAX;
	f->limit = bytes;
	f->n_cpus = n_cpus;
	pthread_mutex_init(&f->lock, NULL);
	f->encoder = writer_encoder(e);
	if (!f->encoder) {
		flight_free(f);
		return NULL;
	}
	return f;
}

static void unuse(struct kept *k)
{
	if (--k->users == 0)
		free(k);
}

static void free_list(struct kept *k)
{
	struct kept *next;

	for (; k; k = next) {
		next = k->next;
		unuse(k);
	}
}

void flight_free(struct flight *f)
{
	if (!f)
		return;
	free_list(f->first);
	free_list(f->held);
	block_encoder_free(f->encoder);
	buf_free(&f->out);
	free(f->base);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* Blocks with an older state are not needed after a newer one is recorded. */
static void drop_held(struct flight *f)
{
	struct kept *k;

	while (f->held && f->held->ts_max < f->state_since) {
		k = f->held;
		f->held = k->next;
		f->kept -= k->len;
		unuse(k);
	}
	if (!f->held)
		f->held_end = NULL;
}

/* Takes the oldest block out; those that still tell the state are put aside. */
static void drop_first(struct flight *f)
{
	struct kept *k = f->first;

	f->first = k->next;
	if (!f->first)
		f->end = NULL;
	if (k->stream == STREAM_RECORDER && k->ts_max >= f->state_since) {
		k->next = NULL;
		if (f->held_end)
			f->held_end->next = k;
		else
			f->held = k;
		f->held_end = k;
		return;
	}
	if (k->stream < (u32)f->n_cpus)
		f->base[k->stream] = k->counts;
	f->kept -= k->len;
	unuse(k);
}

static void make_room(struct flight *f)
{
	while (f->first && f->first != f->end &&
	       (f->kept > f->limit || f->newest - f->first->ts_max > f->last))
		drop_first(f);
	drop_held(f);
}

int flight_append(struct flight *f, struct block_info *info, const struct cpu_counts *counts,
		  const void *records, size_t len, struct err *e)
{
	struct kept *k;

	buf_clear(&f->out);
	info->kind = BLOCK_DATA;
	if (block_encode(f->encoder, info, records, len, &f->out, e) < 0)
		return ERR_FAIL;
	k = malloc(sizeof(*k) + f->out.len);
	if (!k)
		return err_set(e, ERR_FAIL, "out of memory for blocks");
	*k = (struct kept){ .users = 1,
			    .stream = info->stream,
			    .ts_min = info->ts_min,
			    .ts_max = info->ts_max,
			    .len = f->out.len };
	if (counts)
		k->counts = *counts;
	memcpy(k->block, f->out.data, f->out.len);
	pthread_mutex_lock(&f->lock);
	if (f->end)
		f->end->next = k;
	else
		f->first = k;
	f->end = k;
	f->newest = k->ts_max > f->newest ? k->ts_max : f->newest;
	f->taken += k->len;
	f->kept += k->len;
	make_room(f);
	pthread_mutex_unlock(&f->lock);
	return 0;
}

void flight_state_since(struct flight *f, u64 ts)
{
	pthread_mutex_lock(&f->lock);
	f->state_since = ts;
	drop_held(f);
	pthread_mutex_unlock(&f->lock);
}

u64 flight_begin(struct flight *f)
{
	u64 begin;

	pthread_mutex_lock(&f->lock);
	begin = f->first ? f->first->ts_min : 0;
	pthread_mutex_unlock(&f->lock);
	return begin;
}

u64 flight_earliest(struct flight *f)
{
	struct kept *lists[2], *k;
	u64 ts = 0;
	int i;

	pthread_mutex_lock(&f->lock);
	lists[0] = f->held;
	lists[1] = f->first;
	for (i = 0; i < 2; i++)
		for (k = lists[i]; k; k = k->next)
			if (!ts || k->ts_min < ts)
				ts = k->ts_min;
	pthread_mutex_unlock(&f->lock);
	return ts;
}

u64 flight_bytes(struct flight *f)
{
	u64 n;

	pthread_mutex_lock(&f->lock);
	n = f->taken;
	pthread_mutex_unlock(&f->lock);
	return n;
}

u64 flight_kept(struct flight *f)
{
	u64 n;

	pthread_mutex_lock(&f->lock);
	n = f->kept;
	pthread_mutex_unlock(&f->lock);
	return n;
}

/* What is kept now, for writing without the lock. */
struct view {
	struct kept **blocks;
	size_t n;
	struct cpu_counts *base;
};

static int take_view(struct flight *f, struct view *v, struct err *e)
{
	struct kept *k;
	size_t n = 0, i = 0;

	pthread_mutex_lock(&f->lock);
	for (k = f->held; k; k = k->next)
		n++;
	for (k = f->first; k; k = k->next)
		n++;
	v->blocks = calloc(n + 1, sizeof(*v->blocks));
	v->base = calloc(f->n_cpus, sizeof(*v->base));
	if (v->blocks && v->base) {
		for (k = f->held; k; k = k->next)
			v->blocks[i++] = k;
		for (k = f->first; k; k = k->next)
			v->blocks[i++] = k;
		for (v->n = 0; v->n < n; v->n++)
			v->blocks[v->n]->users++;
		memcpy(v->base, f->base, f->n_cpus * sizeof(*v->base));
	}
	pthread_mutex_unlock(&f->lock);
	return v->n == n ? 0 : err_set(e, ERR_FAIL, "out of memory for a snapshot");
}

static void drop_view(struct flight *f, struct view *v)
{
	size_t i;

	pthread_mutex_lock(&f->lock);
	for (i = 0; v->blocks && i < v->n; i++)
		unuse(v->blocks[i]);
	pthread_mutex_unlock(&f->lock);
	free(v->blocks);
	free(v->base);
}

/* Facts as blocks of whole records. */
static int write_facts(struct writer *w, const struct buf *facts, struct err *e)
{
	struct block_info info;
	const struct ev_header *h;
	size_t from = 0, to = 0;
	struct buf part;
	int ret = 0;

	while (ret == 0 && from < facts->len) {
		while (to < facts->len && to - from < FACTS_BLOCK) {
			h = (const struct ev_header *)(facts->data + to);
			to += h->size;
		}
		part = (struct buf){ .data = facts->data + from, .len = to - from };
		info = (struct block_info){ .stream = STREAM_RECORDER,
					    .groups = counts_groups(&part) };
		ret = writer_append(w, &info, part.data, part.len, e);
		from = to;
	}
	return ret;
}

int flight_write(struct flight *f, int fd, const u8 uuid[16], const struct buf *facts,
		 u64 *ret_bytes, struct err *e)
{
	struct cpu_counts none = { 0 };
	struct view v = { 0 };
	struct writer *w = NULL;
	struct buf all = { 0 };
	size_t i;
	int ret = take_view(f, &v, e), cpu;
	u64 ts = v.n ? v.blocks[0]->ts_min : 0;

	if (ret == 0)
		ret = buf_add(&all, facts->data, facts->len, e);
	for (cpu = 0; cpu < f->n_cpus && ret == 0; cpu++, memset(&none, 0, sizeof(none)))
		ret = counts_add(&none, &v.base[cpu], cpu, ts, &all, e);
	if (ret == 0)
		ret = writer_open(&w, fd, uuid, e);
	if (ret == 0)
		ret = write_facts(w, &all, e);
	for (i = 0; i < v.n && ret == 0; i++)
		ret = writer_append_block(w, v.blocks[i]->block, v.blocks[i]->len, e);
	if (ret == 0)
		ret = writer_finish(w, e);
	if (w)
		*ret_bytes = writer_bytes(w);
	writer_free(w);
	buf_free(&all);
	drop_view(f, &v);
	return ret;
}
