// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a recording as one stream of records in order of time: a heap of streams,
 * each with at most one decoded block. A stream's next block is decoded only when
 * its first timestamp comes up, so streams that do not overlap cost nothing. Blocks of one stream
 * may overlap a little: what is later than the start of a later block waits for that one.
 */
#include "ahead.h"
#include "catalog.h"
#include "frame.h"
#include "grow.h"
#include "planes.h"
#include "spool.h"
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_RECORDS 65536 /* between two calls of tick */

struct reader {
	int fd;
	struct catalog catalog;
	struct schema *schema;
	struct recording_state state;
	struct block_decoder *dec;
	bool threaded;
	struct ahead *ahead; /* NULL: no thread */
	struct buf packed;
	struct stream *streams;
	size_t n_streams;
	struct stream **heap; /* streams that have something left, smallest key first */
	size_t n_heap;
	u64 from, to;
	bool whole; /* records outside from..to of overlapping blocks are returned, too */
	u32 early;  /* groups for which blocks before from are read */
	reader_tick tick;
	void *tick_arg;
	u64 done;			      /* records given */
	struct reader_choice chosen, *choice; /* NULL: from and to alone */
	bool started;
	bool given; /* the top stream's record is the caller's until the next call */
	u64 memory; /* of the streams' buffers */
	struct spares spares;
	u64 scratch[EV_SIZE_MAX / 8];
};

static struct stream *stream_of(struct reader *r, u32 id, struct err *e)
{
	size_t i;

	for (i = 0; i < r->n_streams; i++)
		if (r->streams[i].id == id)
			return &r->streams[i];
	if (GROW(r->streams, r->n_streams, "the list of blocks", e) < 0)
		return NULL;
	r->streams[r->n_streams] = (struct stream){ .id = id };
	return &r->streams[r->n_streams++];
}

/* Deals the catalog's blocks out to streams. */
static int make_streams(struct reader *r, struct err *e)
{
	struct stream *s;
	size_t i;

	for (i = 0; i < r->catalog.n; i++) {
		s = stream_of(r, r->catalog.blocks[i].stream, e);
		if (!s || GROW(s->blocks, s->n_blocks, "the list of blocks", e) < 0)
			return ERR_FAIL;
		s->blocks[s->n_blocks++] = i;
	}
	r->heap = calloc(r->n_streams + 1, sizeof(*r->heap));
	return r->heap ? 0 : err_set(e, ERR_FAIL, "out of memory for the list of streams");
}

int reader_open(struct reader **ret, const char *path, struct err *e)
{
	struct err why = { 0 };
	int fd = spool_open(path, e);
	int got = fd < 0 ? fd : reader_open_fd(ret, fd, &why);

	return fd >= 0 && got < 0 ? err_set(e, got, "%.300s: %s", path, why.text) : got;
}

int reader_twin(struct reader **ret, const struct reader *of, struct err *e)
{
	int fd = fcntl(of->fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? err_errno(e, ERR_FAIL, "cannot open the recording once more")
		      : reader_open_fd(ret, fd, e);
}

int reader_open_fd(struct reader **ret, int fd, struct err *e)
{
	struct reader *r = calloc(1, sizeof(*r));
	int got = ERR_FAIL;

	if (!r) {
		close(fd);
		return err_set(e, ERR_FAIL, "out of memory for the recording");
	}
	r->to = UINT64_MAX;
	r->fd = fd;
	got = catalog_read(&r->catalog, &r->schema, &r->state, r->fd, e);
	if (got == 0)
		got = make_streams(r, e);
	if (got < 0)
		goto out;
	r->dec = block_decoder_new(e);
	if (!r->dec) {
		got = ERR_FAIL;
		goto out;
	}
	*ret = r;
	r = NULL;
out:
	reader_free(r);
	return got;
}

const struct recording_state *reader_state(const struct reader *r)
{
	return &r->state;
}

const struct schema *reader_schema(const struct reader *r)
{
	return r->schema;
}

const struct block_info *reader_blocks(const struct reader *r, size_t *ret_n)
{
	*ret_n = r->catalog.n;
	return r->catalog.blocks;
}

void reader_limit(struct reader *r, u64 from, u64 to)
{
	r->from = from;
	r->to = to;
	r->whole = false;
	r->early = 0;
	r->choice = NULL;
}

void reader_choose(struct reader *r, const struct reader_choice *choice)
{
	reader_limit(r, choice->from, choice->to);
	r->chosen = *choice;
	r->choice = &r->chosen;
}

void reader_excerpt(struct reader *r, u64 from, u64 to, u32 early)
{
	reader_limit(r, from, to);
	r->whole = true;
	r->early = early;
}

void reader_ahead(struct reader *r, u32 cpus)
{
	r->threaded = cpus_to_use(cpus) > 1;
}

void reader_watch(struct reader *r, reader_tick tick, void *arg)
{
	r->tick = tick;
	r->tick_arg = arg;
}

/* ---- one stream ---- */

static bool wanted_block(const struct reader *r, const struct block_info *b)
{
	const struct reader_choice *c = r->choice;

	if (c && (!(b->groups & c->groups) || (c->stream >= 0 && c->stream != b->stream) ||
		  b->ts_max < c->from || b->ts_min >= c->to))
		return false;
	return b->records &&
	       (b->stream == STREAM_RECORDER || (b->ts_max >= r->from && b->ts_min < r->to) ||
		(b->ts_max < r->from && b->groups & r->early));
}

/* When the next blocks of the stream begin: what is later waits for them. */
static u64 next_begin(const struct reader *r, const struct stream *s)
{
	u64 limit = UINT64_MAX;
	size_t i, seen = 0;

	for (i = s->next_block; i < s->n_blocks && seen < LOOK_AHEAD; i++) {
		const struct block_info *b = &r->catalog.blocks[s->blocks[i]];

		if (wanted_block(r, b) && ++seen && b->ts_min < limit)
			limit = b->ts_min;
	}
	return limit;
}

/* Counts what the stream's buffers take now. */
static int count_memory(struct reader *r, struct stream *s, struct err *e)
{
	u64 now = stream_memory(s);

	r->memory += now - s->memory;
	s->memory = now;
	if (r->memory > READER_MEMORY_MAX)
		return err_set(e, ERR_FAIL, "the recording has too many CPUs for %u MiB of memory",
			       READER_MEMORY_MAX >> 20);
	return 0;
}

static int decode_block(struct reader *r, struct stream *s, size_t number, struct err *e)
{
	const struct block_info *b = &r->catalog.blocks[number];
	int ret = 1, held;

	stream_take(s, &r->spares);
	if (r->ahead)
		ret = ahead_take(r->ahead, number, &s->records, e);
	if (ret > 0) {
		ret = catalog_packed(&r->catalog, r->fd, number, &r->packed, e);
		if (ret == 0)
			ret = block_decode(r->dec, b, r->packed.data, &s->records, e);
	}
	if (ret == 0)
		ret = stream_list_all(s, r->schema, b->records, e);
	if (ret == ERR_DAMAGED) { /* none of it, then */
		buf_clear(&s->records);
		if (stream_list_all(s, r->schema, 0, e) < 0)
			ret = ERR_FAIL;
	}
	held = ret == ERR_FAIL ? ERR_FAIL : stream_hold(s, next_begin(r, s), e);
	if (held < 0)
		ret = held;
	s->block = number;
	r->state.decoded++;
	return ret == ERR_FAIL || count_memory(r, s, e) < 0 ? ERR_FAIL : ret;
}

int reader_block(struct reader *r, size_t number, struct buf *packed, struct buf *records,
		 struct err *e)
{
	struct stream s = { .records = *records };
	int ret = catalog_packed(&r->catalog, r->fd, number, packed, e);

	if (ret == 0)
		ret = block_decode(r->dec, &r->catalog.blocks[number], packed->data, &s.records, e);
	if (ret == 0)
		ret = stream_list(&s, r->schema, r->catalog.blocks[number].records, e);
	*records = s.records;
	free(s.at);
	r->state.decoded++;
	return ret;
}

/* Makes key that of the next record or block; 0 when the stream has nothing left. */
static int stream_key(struct reader *r, struct stream *s)
{
	if (s->next < s->n) {
		s->key = planes_load((u8 *)s->records.data + s->at[s->next]);
		return 1;
	}
	s->n = s->next = 0;
	stream_give(s, &r->spares);
	count_memory(r, s, NULL);
	while (s->next_block < s->n_blocks &&
	       !wanted_block(r, &r->catalog.blocks[s->blocks[s->next_block]]))
		s->next_block++;
	if (s->next_block == s->n_blocks)
		return 0;
	s->key = r->catalog.blocks[s->blocks[s->next_block]].ts_min;
	if (s->n_held && s->held_ts < s->key)
		s->key = s->held_ts;
	return 1;
}

/* ---- all streams ---- */

static bool before(const struct stream *a, const struct stream *b)
{
	return a->key != b->key ? a->key < b->key : a->id < b->id;
}

static void heap_down(struct reader *r, size_t i)
{
	struct stream *s = r->heap[i];
	size_t child;

	while ((child = 2 * i + 1) < r->n_heap) {
		if (child + 1 < r->n_heap && before(r->heap[child + 1], r->heap[child]))
			child++;
		if (!before(r->heap[child], s))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = s;
}

struct expected {
	u64 ts;
	u32 stream;
	size_t number;
};

static int by_need(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Blocks are needed when their first timestamp comes up, those of a stream in their order. */
static void start_ahead(struct reader *r)
{
	struct expected *list = malloc((r->catalog.n + 1) * sizeof(*list));
	size_t *numbers = malloc((r->catalog.n + 1) * sizeof(*numbers)), i, k, n = 0;

	for (i = 0; list && numbers && i < r->n_streams; i++) {
		const struct stream *s = &r->streams[i];
		u64 ts = 0;

		for (k = 0; k < s->n_blocks; k++) {
			const struct block_info *b = &r->catalog.blocks[s->blocks[k]];

			ts = b->ts_min > ts ? b->ts_min : ts;
			if (wanted_block(r, b))
				list[n++] = (struct expected){ ts, s->id, s->blocks[k] };
		}
	}
	if (n)
		qsort(list, n, sizeof(*list), by_need);
	for (i = 0; i < n; i++)
		numbers[i] = list[i].number;
	free(list);
	r->ahead = ahead_start(r->fd, &r->catalog, numbers, n);
}

static void heap_start(struct reader *r)
{
	size_t i;

	for (i = 0; i < r->n_streams; i++)
		if (stream_key(r, &r->streams[i]))
			r->heap[r->n_heap++] = &r->streams[i];
	for (i = r->n_heap; i-- > 0;)
		heap_down(r, i);
	if (r->threaded)
		start_ahead(r);
	r->started = true;
}

/* The top stream has moved on: puts it where it belongs now. */
static void heap_moved(struct reader *r)
{
	if (!stream_key(r, r->heap[0]))
		r->heap[0] = r->heap[--r->n_heap];
	if (r->n_heap)
		heap_down(r, 0);
}

/* Decodes the top stream's next block; a damaged one is counted and left out. */
static int load_top(struct reader *r, struct err *e)
{
	struct stream *s = r->heap[0];
	int ret = decode_block(r, s, s->blocks[s->next_block++], e);

	if (ret == ERR_DAMAGED) {
		r->state.damaged += 1 + s->n_waiting;
		s->n_waiting = 0;
		ret = 0;
	}
	heap_moved(r);
	return ret;
}

static void fill_record(struct reader *r, const struct stream *s, const u8 *raw, struct record *rec)
{
	rec->ts = s->key;
	rec->tid = le_get(raw + 8, 4);
	rec->type = le_get(raw + 12, 2);
	rec->size = le_get(raw + 14, 2);
	rec->stream = s->id;
	rec->block = s->block;
	rec->desc = r->schema->by_id[rec->type];
	rec->raw = raw;
	rec->event = schema_project(r->schema, rec->type, raw, r->scratch);
	rec->tail = event_tail(rec->desc, raw, rec->size, &rec->tail_len);
}

int reader_next(struct reader *r, struct record *rec, struct err *e)
{
	struct stream *s;
	const u8 *raw;
	int ret;

	if (!r->started)
		heap_start(r);
	for (;;) {
		if (r->given) {
			r->heap[0]->next++;
			heap_moved(r);
			r->given = false;
		}
		if (!r->n_heap)
			return 0;
		s = r->heap[0];
		if (s->next == s->n) {
			ret = load_top(r, e);
			if (ret < 0)
				return ret;
			continue;
		}
		raw = (const u8 *)s->records.data + s->at[s->next];
		fill_record(r, s, raw, rec);
		r->given = true;
		if (++r->done % TICK_RECORDS == 0 && r->tick) {
			ret = r->tick(r->tick_arg, r->done, r->state.records, e);
			if (ret < 0)
				return ret;
		}
		if (r->whole || (s->id == STREAM_RECORDER && !r->choice) ||
		    (rec->ts >= r->from && rec->ts < r->to))
			return 1;
	}
}

void reader_rewind(struct reader *r)
{
	size_t i;

	ahead_stop(r->ahead);
	r->ahead = NULL;
	for (i = 0; i < r->n_streams; i++) {
		r->streams[i].next_block = r->streams[i].n = r->streams[i].n_held = 0;
		r->streams[i].decoded = r->streams[i].waited = 0;
	}
	r->n_heap = 0;
	r->started = r->given = false;
	r->state.damaged = r->state.duplicates;
	r->done = 0;
}

void reader_free(struct reader *r)
{
	size_t i;

	if (!r)
		return;
	ahead_stop(r->ahead);
	for (i = 0; i < r->n_streams; i++)
		stream_free(&r->streams[i]);
	spares_free(&r->spares);
	free(r->streams);
	free(r->heap);
	catalog_free(&r->catalog);
	schema_free(r->schema);
	block_decoder_free(r->dec);
	buf_free(&r->packed);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}
