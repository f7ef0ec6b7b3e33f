// SPDX-License-Identifier: GPL-2.0-or-later
/* From the rings to the file. */
#include "pump.h"

#include "chunk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POOL_BYTES     (32u << 20) /* chunks in use at most, all CPUs together */
#define CHUNK_MAX      (1u << 20)
#define CHUNK_MIN      (64u << 10)
#define CHUNK_AGE      500000000ull /* ns: SIGKILL costs at most this and what is being written */
#define PERIOD_MIN     1000000	    /* ns between two looks at the rings */
#define PERIOD_MAX     20000000
#define FLUSH_SECONDS  5
#define DRAIN_ATTEMPTS 1000 /* of 1 ms, for records that are reserved but not committed */

struct pump {
	struct ring *rings;
	int n_rings;
	const struct cpu_counts *counts; /* the kernel's, live */
	struct cpu_counts *written;	 /* those that the file has */
	struct writer *writer;		 /* NULL in flight mode */
	struct flight *flight;		 /* NULL: blocks are written */
	struct buf *diverted;		 /* where records of obsrec go; NULL: to recorder */
	struct chunk **filling;		 /* by CPU; NULL: none started */
	struct buf recorder;		 /* records of the recorder's stream, not yet queued */
	pthread_t drainer, compressor;
	bool drainer_runs, compressor_runs;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t wake, done;
	u64 flush, flushed; /* number of the last one that was asked for; that is done */
	struct queue queue, pool;
	size_t chunk_size;
	size_t pool_left; /* chunks that may still be made */
	bool stop_draining, stop_compressing;
	struct err failed; /* code 0 while all is well */
	u64 ring_bytes;
	u64 file_bytes;
	u64 drainer_cpu, compressor_cpu;
};

static u64 now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* ---- the compressor ---- */

/* Compresses the chunk where it is, followed by its CPU's counters. */
static int write_chunk(struct pump *p, struct chunk *c, struct err *e)
{
	struct block_info info = {
		.stream = c->stream,
		.pos_begin = c->pos_begin,
		.pos_end = c->pos_end,
	};
	int ret = 0;

	if (c->stream != STREAM_RECORDER) {
		c->data.len = ring_strip(&p->rings[c->stream], (u8 *)c->data.data, c->data.len);
		info.lost = counts_lost(&c->counts);
		ret = counts_add(&p->written[c->stream], &c->counts, c->stream, c->cut, &c->data,
				 e);
	}
	info.groups = counts_groups(&c->data);
	if (ret < 0 || !c->data.len)
		return ret;
	if (p->flight)
		return flight_append(p->flight, &info,
				     c->stream == STREAM_RECORDER ? NULL : &c->counts, c->data.data,
				     c->data.len, e);
	return writer_append(p->writer, &info, c->data.data, c->data.len, e);
}

static u64 bytes_out(struct pump *p)
{
	return p->flight ? flight_bytes(p->flight) : writer_bytes(p->writer);
}

static void *compress(void *arg)
{
	struct pump *p = arg;
	struct err e = { 0 };
	struct chunk *c;
	int ret = 0;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		c = chunk_pop(&p->queue);
		if (!c && p->stop_compressing)
			break;
		if (!c) {
			pthread_cond_wait(&p->wake, &p->lock);
			continue;
		}
		if (c->barrier) { /* all that was queued before it is done */
			p->flushed = c->barrier;
			pthread_cond_broadcast(&p->done);
			chunk_free(c);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		if (ret == 0)
			ret = write_chunk(p, c, &e);
		pthread_mutex_lock(&p->lock);
		if (ret < 0)
			p->failed = e;
		p->file_bytes = bytes_out(p);
		p->compressor_cpu = now(CLOCK_THREAD_CPUTIME_ID);
		if (c->stream == STREAM_RECORDER)
			chunk_free(c);
		else
			chunk_push(&p->pool, c);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- the drainer ---- */

/* An empty chunk, or NULL when all are on their way. */
static struct chunk *take_chunk(struct pump *p)
{
	struct chunk *c;

	pthread_mutex_lock(&p->lock);
	c = chunk_pop(&p->pool);
	if (!c && p->pool_left) {
		c = chunk_new(p->chunk_size + COUNTS_BYTES_MAX);
		p->pool_left -= c != NULL;
	}
	pthread_mutex_unlock(&p->lock);
	if (c)
		buf_clear(&c->data);
	return c;
}

static void queue_chunk(struct pump *p, int cpu)
{
	struct chunk *c = p->filling[cpu];

	p->filling[cpu] = NULL;
	c->counts = p->counts[cpu];
	c->cut = now(CLOCK_MONOTONIC);
	pthread_mutex_lock(&p->lock);
	chunk_push(&p->queue, c);
	p->ring_bytes += c->pos_end - c->pos_begin;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

/* Copies what one ring has; returns the share of the ring that was full, in 1/256. */
static unsigned int drain_ring(struct pump *p, int cpu, u64 ts)
{
	struct ring *r = &p->rings[cpu];
	unsigned int full = ring_fill(r) * 256 / r->size;
	u64 left = ring_fill(r); /* later bytes are for the next pass */
	struct chunk *c;
	size_t n, space;

	while (left) {
		c = p->filling[cpu];
		if (!c) {
			c = take_chunk(p);
			if (!c)
				break;
			c->stream = cpu;
			c->begun = ts;
			c->pos_begin = c->pos_end = *r->tail;
			p->filling[cpu] = c;
		}
		space = p->chunk_size - c->data.len;
		n = ring_take(r, (u8 *)c->data.data + c->data.len, left < space ? left : space);
		c->data.len += n;
		c->pos_end += n;
		left -= n;
		if (space - n < EV_SIZE_MAX + RING_HEAD)
			queue_chunk(p, cpu);
		else if (!n)
			break; /* the next record is not committed yet */
	}
	c = p->filling[cpu];
	if (c && c->data.len && ts - c->begun >= CHUNK_AGE)
		queue_chunk(p, cpu);
	return full;
}

static unsigned int drain_all(struct pump *p)
{
	u64 ts = now(CLOCK_MONOTONIC);
	unsigned int full, most = 0;
	int cpu;

	for (cpu = 0; cpu < p->n_rings; cpu++) {
		full = drain_ring(p, cpu, ts);
		most = full > most ? full : most;
	}
	return most;
}

static bool all_empty(const struct pump *p)
{
	int cpu;

	for (cpu = 0; cpu < p->n_rings; cpu++)
		if (ring_fill(&p->rings[cpu]))
			return false;
	return true;
}

/* Hands on what has been gathered of every ring, then a barrier. */
static void flush_all(struct pump *p, u64 number)
{
	struct chunk *c = chunk_new(1);
	int cpu;

	for (cpu = 0; cpu < p->n_rings; cpu++)
		if (p->filling[cpu] && p->filling[cpu]->data.len)
			queue_chunk(p, cpu);
	if (!c)
		return; /* the one who waits gives up in time */
	c->barrier = number;
	pthread_mutex_lock(&p->lock);
	chunk_push(&p->queue, c);
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

static void *drain(void *arg)
{
	struct timespec pause = { 0, PERIOD_MIN };
	struct pump *p = arg;
	unsigned int full;
	u64 flush, flushed = 0;
	bool stop = false;
	int cpu, i;

	while (!stop) {
		pthread_mutex_lock(&p->lock);
		flush = p->flush;
		pthread_mutex_unlock(&p->lock);
		full = drain_all(p);
		if (flush != flushed)
			flush_all(p, flushed = flush);
		if (full > 128) /* half full: look again at once */
			pause.tv_nsec = 0;
		else if (full > 32)
			pause.tv_nsec =
				pause.tv_nsec / 2 > PERIOD_MIN ? pause.tv_nsec / 2 : PERIOD_MIN;
		else if (full < 8)
			pause.tv_nsec = pause.tv_nsec * 2 + PERIOD_MIN < PERIOD_MAX
						? pause.tv_nsec * 2 + PERIOD_MIN
						: PERIOD_MAX;
		pthread_mutex_lock(&p->lock);
		stop = p->stop_draining;
		p->drainer_cpu = now(CLOCK_THREAD_CPUTIME_ID);
		pthread_mutex_unlock(&p->lock);
		if (pause.tv_nsec && !stop)
			nanosleep(&pause, NULL);
	}
	for (i = 0; i < DRAIN_ATTEMPTS && !all_empty(p); i++) {
		drain_all(p);
		usleep(1000);
	}
	for (cpu = 0; cpu < p->n_rings; cpu++)
		if (p->filling[cpu])
			queue_chunk(p, cpu);
	return NULL;
}

/* ---- the caller's side ---- */

int pump_start(struct pump **ret, struct ring *rings, int n_rings, const struct cpu_counts *counts,
	       struct writer *writer, struct flight *flight, struct err *e)
{
	struct pump *p = calloc(1, sizeof(*p));
	size_t size = POOL_BYTES / (4 * (size_t)n_rings);

	if (!p)
		return err_set(e, ERR_FAIL, "out of memory for the pump");
	p->rings = rings;
	p->n_rings = n_rings;
	p->counts = counts;
	p->writer = writer;
	p->flight = flight;
	p->chunk_size = size > CHUNK_MAX ? CHUNK_MAX : size < CHUNK_MIN ? CHUNK_MIN : size;
	p->pool_left = POOL_BYTES / p->chunk_size;
	p->pool_left = p->pool_left < 2 * (size_t)n_rings ? 2 * (size_t)n_rings : p->pool_left;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	pthread_cond_init(&p->done, NULL);
	p->written = calloc(n_rings, sizeof(*p->written));
	p->filling = calloc(n_rings, sizeof(*p->filling));
	if (!p->written || !p->filling) {
		pump_free(p);
		return err_set(e, ERR_FAIL, "out of memory for the pump");
	}
	p->compressor_runs = pthread_create(&p->compressor, NULL, compress, p) == 0;
	p->drainer_runs = p->compressor_runs && pthread_create(&p->drainer, NULL, drain, p) == 0;
	if (!p->drainer_runs) {
		pump_free(p);
		return err_set(e, ERR_FAIL, "cannot start the recorder's threads");
	}
	*ret = p;
	return 0;
}

/* Sends the gathered records of the recorder's stream on. */
static int queue_recorder(struct pump *p, struct err *e)
{
	struct chunk *c;

	if (!p->recorder.len)
		return 0;
	c = chunk_new(0);
	if (!c)
		return err_set(e, ERR_FAIL, "out of memory for a block");
	c->data = p->recorder;
	c->stream = STREAM_RECORDER;
	p->recorder = (struct buf){ 0 };
	pthread_mutex_lock(&p->lock);
	chunk_push(&p->queue, c);
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int pump_record(struct pump *p, const void *record, struct err *e)
{
	const struct ev_header *h = record;

	if (p->diverted)
		return buf_add(p->diverted, record, h->size, e);
	if (p->recorder.len + h->size > CHUNK_MAX && queue_recorder(p, e) < 0)
		return ERR_FAIL;
	return buf_add(&p->recorder, record, h->size, e);
}

void pump_divert(struct pump *p, struct buf *to)
{
	p->diverted = to;
}

int pump_flush(struct pump *p, struct err *e)
{
	struct timespec until;
	int ret = queue_recorder(p, e), late = 0;
	u64 number;

	if (ret < 0)
		return ret;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FLUSH_SECONDS;
	pthread_mutex_lock(&p->lock);
	number = ++p->flush;
	while (p->flushed < number && !late)
		late = pthread_cond_timedwait(&p->done, &p->lock, &until);
	ret = p->flushed < number ? ERR_FAIL : 0;
	pthread_mutex_unlock(&p->lock);
	return ret < 0 ? err_set(e, ret, "the compressor is more than %d s late", FLUSH_SECONDS)
		       : 0;
}

int pump_check(struct pump *p, struct err *e)
{
	int ret = queue_recorder(p, e);

	pthread_mutex_lock(&p->lock);
	if (ret == 0 && p->failed.code) {
		ret = p->failed.code;
		if (e)
			*e = p->failed;
	}
	pthread_mutex_unlock(&p->lock);
	return ret;
}

void pump_stats(struct pump *p, struct pump_stats *ret)
{
	int cpu;

	pthread_mutex_lock(&p->lock);
	*ret = (struct pump_stats){
		.drainer = p->drainer_cpu,
		.compressor = p->compressor_cpu,
		.ring_bytes = p->ring_bytes,
		.file_bytes = p->file_bytes,
	};
	pthread_mutex_unlock(&p->lock);
	for (cpu = 0; cpu < p->n_rings; cpu++)
		if (p->rings[cpu].high_water > ret->high_water)
			ret->high_water = p->rings[cpu].high_water;
}

int pump_stop(struct pump *p, struct err *e)
{
	int ret;

	pthread_mutex_lock(&p->lock);
	p->stop_draining = true;
	pthread_mutex_unlock(&p->lock);
	if (p->drainer_runs)
		pthread_join(p->drainer, NULL);
	p->drainer_runs = false;
	ret = queue_recorder(p, e);
	pthread_mutex_lock(&p->lock);
	p->stop_compressing = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	if (p->compressor_runs)
		pthread_join(p->compressor, NULL);
	p->compressor_runs = false;
	return ret < 0 ? ret : pump_check(p, e);
}

int pump_finish(struct pump *p, struct err *e)
{
	struct chunk c = { .stream = STREAM_RECORDER, .data = p->recorder };
	int cpu, ret = write_chunk(p, &c, e);

	for (cpu = 0; cpu < p->n_rings && ret == 0; cpu++) {
		buf_clear(&c.data);
		c.stream = cpu;
		c.cut = now(CLOCK_MONOTONIC);
		c.counts = p->counts[cpu];
		c.pos_begin = c.pos_end = *p->rings[cpu].tail;
		ret = write_chunk(p, &c, e);
	}
	p->recorder = c.data;
	p->file_bytes = bytes_out(p);
	return ret;
}

void pump_free(struct pump *p)
{
	struct chunk *c;
	int cpu;

	if (!p)
		return;
	if (p->drainer_runs || p->compressor_runs)
		pump_stop(p, NULL);
	while ((c = chunk_pop(&p->queue)) || (c = chunk_pop(&p->pool)))
		chunk_free(c);
	for (cpu = 0; p->filling && cpu < p->n_rings; cpu++)
		chunk_free(p->filling[cpu]);
	free(p->filling);
	free(p->written);
	buf_free(&p->recorder);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	free(p);
}
