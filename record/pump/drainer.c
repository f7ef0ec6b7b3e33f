// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies what the rings have into chunks, in passes over all of them. */
#include "drainer.h"

#include <unistd.h>

#define CHUNK_AGE      500000000ull /* ns: SIGKILL costs at most this and what is being written */
#define PERIOD_MIN     1000000	    /* ns between two looks at the rings */
#define PERIOD_MAX     20000000
#define DRAIN_ATTEMPTS 1000 /* of 1 ms, for records that are reserved but not committed */

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

static void queue_chunk(struct pump *p, struct chunk *c)
{
	c->counts = p->counts[c->stream];
	c->cut = pump_clock(CLOCK_MONOTONIC);
	pthread_mutex_lock(&p->lock);
	chunk_push(&p->queue, c);
	p->ring_bytes += c->pos_end - c->pos_begin;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

/* The chunk that a CPU's records go to; NULL: none can be had now. */
static struct chunk *chunk_of(struct pump *p, int cpu, u64 ts)
{
	struct chunk *c = p->filling[cpu].last;

	if (c && !c->full)
		return c;
	c = take_chunk(p);
	if (!c)
		return NULL;
	c->stream = cpu;
	c->started = ts;
	c->settled = 0;
	c->full = false;
	c->pos_begin = c->pos_end = *p->rings[cpu].tail;
	chunk_push(&p->filling[cpu], c);
	return c;
}

/* Copies what one ring has; returns the share of the ring that was full, in 1/256. */
static unsigned int drain_ring(struct pump *p, int cpu, u64 ts)
{
	struct ring *r = &p->rings[cpu];
	unsigned int full = ring_fill(r) * 256 / r->size;
	u64 left = ring_fill(r); /* later bytes are for the next pass */
	struct chunk *c;
	size_t n, space;
	u8 *to;

	while (left) {
		c = chunk_of(p, cpu, ts);
		if (!c) {
			p->starved = true;
			break;
		}
		to = (u8 *)c->data.data + c->data.len;
		space = c->data.len < p->chunk_size ? p->chunk_size - c->data.len : 0;
		n = ring_take(r, to, left < space ? left : space);
		c->data.len += ring_strip(r, to, n);
		c->pos_end += n;
		left -= n;
		c->full = space - n < EV_SIZE_MAX + RING_HEAD;
		if (!n && !c->full)
			break; /* the next record is not committed yet */
	}
	return full;
}

/*
 * A thread goes from CPU to CPU, and the filter must see what it did in order. What happened before
 * until has been taken out of all rings: it was committed before the pass that began then.
 */
static void settle(struct pump *p, u64 until)
{
	struct err e = { 0 };
	struct chunk *c;
	int cpu, n = 0;

	for (cpu = 0; cpu < p->n_rings; cpu++)
		for (c = p->filling[cpu].first; c && n < p->n_batches; c = c->next)
			p->batches[n++] = (struct batch){ &c->data, c->settled };
	if (p->filter && p->filter(p->filter_arg, p->batches, n, until, &e) < 0) {
		pthread_mutex_lock(&p->lock);
		p->failed = e;
		pthread_mutex_unlock(&p->lock);
	}
	n = 0;
	for (cpu = 0; cpu < p->n_rings; cpu++)
		for (c = p->filling[cpu].first; c; c = c->next)
			c->settled = p->filter ? p->batches[n++].seen : c->data.len;
}

/* Queues what is full, or older than it may get, and what is younger if all is wanted. */
static void hand_on(struct pump *p, u64 ts, bool all)
{
	struct chunk *c;
	int cpu;

	for (cpu = 0; cpu < p->n_rings; cpu++)
		for (c = p->filling[cpu].first; c; c = p->filling[cpu].first) {
			if (c->settled < c->data.len || c->pos_end == c->pos_begin ||
			    !(all || c->full || ts - c->started >= CHUNK_AGE))
				break;
			queue_chunk(p, chunk_pop(&p->filling[cpu]));
		}
}

static unsigned int drain_all(struct pump *p, bool hand_all)
{
	u64 ts = pump_clock(CLOCK_MONOTONIC);
	unsigned int full, most = 0;
	int cpu;

	p->starved = false;
	for (cpu = 0; cpu < p->n_rings; cpu++) {
		full = drain_ring(p, cpu, ts);
		most = full > most ? full : most;
	}
	settle(p, hand_all ? UINT64_MAX : ts);
	hand_on(p, ts, hand_all);
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

/* After all that was gathered has been handed on. False: no memory now. */
static bool queue_barrier(struct pump *p, u64 number)
{
	struct chunk *c = chunk_new(1);

	if (!c)
		return false;
	c->barrier = number;
	pthread_mutex_lock(&p->lock);
	chunk_push(&p->queue, c);
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	return true;
}

void *drainer_run(void *arg)
{
	struct timespec pause = { 0, PERIOD_MIN };
	struct pump *p = arg;
	unsigned int full;
	u64 flush, flushed = 0;
	bool stop = false;
	int i;

	while (!stop) {
		pthread_mutex_lock(&p->lock);
		flush = p->flush;
		pthread_mutex_unlock(&p->lock);
		full = drain_all(p, flush != flushed);
		if (flush != flushed && !p->starved && queue_barrier(p, flush))
			flushed = flush;
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
		p->drainer_cpu = pump_clock(CLOCK_THREAD_CPUTIME_ID);
		pthread_mutex_unlock(&p->lock);
		if (pause.tv_nsec && !stop)
			nanosleep(&pause, NULL);
	}
	for (i = 0; i < DRAIN_ATTEMPTS && !all_empty(p); i++) {
		drain_all(p, false);
		usleep(1000);
	}
	drain_all(p, true);
	return NULL;
}
