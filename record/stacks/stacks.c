// SPDX-License-Identifier: GPL-2.0-or-later
/* The thread that makes events of raw stacks. */
#define _GNU_SOURCE /* pthread_clockjoin_np */
#include "stacks.h"

#include "raw_queue.h"
#include "record/pump/records.h"
#include "sleepers.h"
#include "stack_records.h"
#include "stack_symbols.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RING_MIN  (4u << 20)
#define RING_MAX  (16u << 20)
#define RING_CPU  (256u << 10)
#define PERIOD	  50000000 /* ns between two looks at the ring; to wake up costs more than a look */
#define BUSY	  10000000 /* the same after one that found MANY: the smallest ring holds 250 */
#define MANY	  16
#define LOCK_MS	  1000	    /* the thread can be stuck in a file of a process */
#define LAST_MAX  300000000 /* ns for the callers of what the ring holds at the end */
#define OUT_MAX	  (8u << 20)
#define STOP_FULL (-ENOBUFS)

struct stacks {
	struct ring_buffer *ring;
	pthread_t thread;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t idle;  /* the ring was empty */
	struct raw_queue queue;
	struct stack_written written;
	struct buf out;
	int sleepers; /* descriptor (sleepers.h); -1: none */
	u64 ended;    /* of the recording, before stop */
	bool running, flight, hide;
	bool late; /* of the caller: the lock was not free in time; it is not waited for again */
	u64 stop; /* atomic, the lock may be held for long; until when callers are found; 0: runs */
	u64 passes; /* looks at the ring that found it empty */
};

u32 stacks_ring_size(int n_cpus)
{
	u64 want = (u64)n_cpus * RING_CPU;
	u32 size = RING_MIN;

	while (size < want && size < RING_MAX)
		size *= 2;
	return size;
}

/* One raw stack. Runs in the thread. */
static int take(void *arg, void *data, size_t size)
{
	struct stacks *s = arg;
	u64 stop = __atomic_load_n(&s->stop, __ATOMIC_RELAXED);
	int ret = 0;

	pthread_mutex_lock(&s->lock);
	raw_queue_look(&s->queue);
	if (s->out.len > OUT_MAX && !stop)
		ret = STOP_FULL; /* it stays in the ring */
	else
		raw_queue_take(&s->queue, data, size, !stop || records_now() < stop, &s->out);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

/* Threads that sleep at the end of the recording, as of that moment. */
static void take_sleeper(void *arg, const struct raw_stack *raw)
{
	struct stacks *s = arg;
	u64 stop = __atomic_load_n(&s->stop, __ATOMIC_RELAXED);

	pthread_mutex_lock(&s->lock);
	raw_queue_sleeper(&s->queue, raw, s->ended, records_now() < stop, &s->out);
	pthread_mutex_unlock(&s->lock);
}

static void *work(void *arg)
{
	struct timespec pause = { 0 };
	struct stacks *s = arg;
	bool stop = false;
	int n;

	while (!stop) {
		stop = __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE) != 0;
		n = ring_buffer__consume(s->ring);
		pthread_mutex_lock(&s->lock);
		raw_queue_expire(&s->queue, records_now(), &s->out);
		s->passes += n >= 0;
		pthread_cond_broadcast(&s->idle);
		pthread_mutex_unlock(&s->lock);
		pause.tv_nsec = n < MANY ? PERIOD : BUSY;
		if (!stop)
			nanosleep(&pause, NULL);
	}
	if (s->sleepers >= 0)
		sleepers_read(s->sleepers, s->stop, take_sleeper, s);
	return NULL;
}

int stacks_open(struct stacks **ret, int ring_fd, int sleepers, const struct options *o,
		struct err *e)
{
	struct stacks *s;

	*ret = NULL;
	if (!(o->groups & 1u << GROUP_cpu))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(e, ERR_FAIL, "out of memory for stacks");
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->idle, NULL);
	s->sleepers = sleepers;
	s->flight = options_flight(o);
	s->hide = o->hide;
	s->ring = ring_buffer__new(ring_fd, take, s, NULL);
	if (s->ring && raw_queue_start(&s->queue, o->sample_rate)) {
		*ret = s;
		return 0;
	}
	stacks_free(s);
	return err_set(e, ERR_FAIL, "out of memory for stacks");
}

int stacks_start(struct stacks *s, struct err *e)
{
	if (!s)
		return 0;
	s->running = pthread_create(&s->thread, NULL, work, s) == 0;
	return s->running ? 0 : err_set(e, ERR_FAIL, "cannot start the recorder's threads");
}

static bool lock(struct stacks *s)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += s->late ? 0 : LOCK_MS / 1000;
	s->late = pthread_mutex_clocklock(&s->lock, CLOCK_MONOTONIC, &until) != 0;
	return !s->late;
}

/* Of the records in out; the lock is held. */
static int hand_on(struct stacks *s, struct pump *p, struct err *e)
{
	const struct ev_header *h;
	size_t at;
	int ret = s->flight ? 0
			    : stack_records_new(&s->queue, &s->queue.tables, &s->written, p,
						s->hide, e);

	for (at = 0; ret == 0 && at < s->out.len; at += h->size) {
		h = (const struct ev_header *)(s->out.data + at);
		ret = pump_record(p, h, e);
	}
	if (ret == 0 && s->out.failed) /* the kernel has counted what is missing */
		ret = err_set(e, ERR_FAIL, "out of memory for stacks");
	buf_clear(&s->out);
	return ret;
}

int stacks_collect(struct stacks *s, struct pump *p, struct err *e)
{
	int ret;

	if (!s || !lock(s))
		return 0;
	ret = hand_on(s, p, e);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int stacks_flush(struct stacks *s, struct pump *p, struct err *e)
{
	struct timespec until;
	u64 passes;
	int ret, late = 0;

	if (!s || !lock(s))
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LOCK_MS / 1000;
	passes = s->passes + 2; /* the one that runs may have started before */
	while (s->running && s->passes < passes && !late)
		late = pthread_cond_clockwait(&s->idle, &s->lock, CLOCK_MONOTONIC, &until);
	ret = hand_on(s, p, e);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

void stacks_forget(struct stacks *s, u64 ts)
{
	if (!s || !lock(s))
		return;
	raw_queue_forget(&s->queue, ts, records_now());
	pthread_mutex_unlock(&s->lock);
}

/* The lock is held, and open while names are read, which takes seconds at worst. */
static int name(struct stacks *s, struct pump *p, struct err *e)
{
	struct stack_naming n;
	int ret;

	stack_naming_begin(&n, &s->queue);
	while (stack_naming_start(&n, &s->queue, p, s->hide)) {
		pthread_mutex_unlock(&s->lock);
		ret = stack_naming_take(&n, p, e);
		if (ret <= 0)
			return ret;
		stack_naming_blame(&n, &s->queue);
		if (!lock(s))
			return 0;
	}
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* What was not seen of new mappings. */
static int put_facts(const struct new_maps *m, struct pump *p, struct err *e)
{
	int ret = 0;

	if (m->unwatched)
		ret = records_info(p, e, "code_unwatched=%u", m->unwatched);
	if (ret == 0 && m->lost)
		ret = records_info(p, e, "code_lost=%llu", (unsigned long long)m->lost);
	return ret;
}

int stacks_define(struct stacks *s, struct pump *p, struct err *e)
{
	struct stack_written none = { 0 };
	int ret;

	if (!s || !lock(s))
		return 0;
	ret = stack_records_new(&s->queue, &s->queue.older, &none, p, s->hide, e);
	none.frames = none.stacks = 0;
	if (ret == 0)
		ret = stack_records_new(&s->queue, &s->queue.tables, &none, p, s->hide, e);
	free(none.modules);
	if (ret == 0)
		ret = put_facts(&s->queue.mapped, p, e);
	if (ret == 0)
		return name(s, p, e);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int stacks_stop(struct stacks *s, u64 ended, struct pump *p, struct err *e)
{
	struct timespec until;
	int ret;

	if (!s)
		return 0;
	s->ended = ended;
	__atomic_store_n(&s->stop, records_now() + LAST_MAX, __ATOMIC_RELEASE);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LOCK_MS / 1000;
	if (s->running && pthread_clockjoin_np(s->thread, NULL, CLOCK_MONOTONIC, &until) != 0)
		return 0; /* stuck: it is left alone, and what it has is missing */
	s->running = false;
	raw_queue_expire(&s->queue, UINT64_MAX, &s->out);
	ret = hand_on(s, p, e);
	return ret;
}

int stacks_symbols(struct stacks *s, struct pump *p, struct err *e)
{
	if (!s || s->running || s->flight || !lock(s))
		return 0;
	if (put_facts(&s->queue.mapped, p, e) == 0)
		return name(s, p, e);
	pthread_mutex_unlock(&s->lock);
	return ERR_FAIL;
}

void stacks_free(struct stacks *s)
{
	if (!s || s->running)
		return; /* the thread may still use it */
	if (s->sleepers >= 0)
		close(s->sleepers);
	ring_buffer__free(s->ring);
	raw_queue_free(&s->queue);
	free(s->written.modules);
	buf_free(&s->out);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->idle);
	free(s);
}
