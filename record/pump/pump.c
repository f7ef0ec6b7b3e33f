// SPDX-License-Identifier: GPL-2.0-or-later
/* From the rings to the file. */
#include "pump.h"

#include "drainer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POOL_BYTES (32u << 20) /* chunks in use at most, all CPUs together */
#define CHUNK_MAX  (1u << 20)
#define CHUNK_MIN  (64u << 10)

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
		p->compressor_cpu = pump_clock(CLOCK_THREAD_CPUTIME_ID);
		if (c->stream == STREAM_RECORDER)
			chunk_free(c);
		else
			chunk_push(&p->pool, c);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- the caller's side ---- */

int pump_start(struct pump **ret, struct ring *rings, int n_rings, const struct cpu_counts *counts,
	       struct writer *writer, struct flight *flight, pump_filter filter, void *filter_arg,
	       struct err *e)
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
	p->filter = filter;
	p->filter_arg = filter_arg;
	p->chunk_size = size > CHUNK_MAX ? CHUNK_MAX : size < CHUNK_MIN ? CHUNK_MIN : size;
	p->pool_left = POOL_BYTES / p->chunk_size;
	p->pool_left = p->pool_left < 2 * (size_t)n_rings ? 2 * (size_t)n_rings : p->pool_left;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	p->written = calloc(n_rings, sizeof(*p->written));
	p->filling = calloc(n_rings, sizeof(*p->filling));
	p->n_batches = p->pool_left;
	p->batches = calloc(p->n_batches, sizeof(*p->batches));
	if (!p->written || !p->filling || !p->batches) {
		pump_free(p);
		return err_set(e, ERR_FAIL, "out of memory for the pump");
	}
	p->compressor_runs = pthread_create(&p->compressor, NULL, compress, p) == 0;
	p->drainer_runs =
		p->compressor_runs && pthread_create(&p->drainer, NULL, drainer_run, p) == 0;
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
	int ret;

	if (p->diverted)
		return buf_add(p->diverted, record, h->size, e);
	if (p->recorder.len + h->size > CHUNK_MAX && queue_recorder(p, e) < 0)
		return ERR_FAIL;
	ret = buf_add(&p->recorder, record, h->size, e);
	p->recorder.failed = 0; /* it is reported; the next may be added */
	return ret;
}

void pump_divert(struct pump *p, struct buf *to)
{
	p->diverted = to;
}

int pump_flush(struct pump *p, u64 *number, struct err *e)
{
	int ret = queue_recorder(p, e);

	pthread_mutex_lock(&p->lock);
	if (ret == 0)
		*number = ++p->flush;
	pthread_mutex_unlock(&p->lock);
	return ret;
}

bool pump_flushed(struct pump *p, u64 number)
{
	bool ret;

	pthread_mutex_lock(&p->lock);
	ret = p->flushed >= number;
	pthread_mutex_unlock(&p->lock);
	return ret;
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
		c.cut = pump_clock(CLOCK_MONOTONIC);
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
		while ((c = chunk_pop(&p->filling[cpu])))
			chunk_free(c);
	free(p->filling);
	free(p->batches);
	free(p->written);
	buf_free(&p->recorder);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	free(p);
}
