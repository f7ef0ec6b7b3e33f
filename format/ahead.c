// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "ahead.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define SLOTS	   6
#define RAW_MOST   (4u << 20) /* bytes of a block that is decoded ahead: memory is bounded */
#define BLOCKS_MIN 8	      /* fewer are read before a thread has started */

enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_DONE };

struct slot {
	enum slot_state state;
	size_t number;
	struct buf records;
	struct err e;
	int ret;
};

struct ahead {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop;
	struct slot slots[SLOTS];
	size_t *numbers, n, next; /* next of them to decode */
	bool *taken;		  /* by number: the reader decodes or has it */
	/* of the thread alone */
	int fd;
	const struct catalog *catalog;
	struct block_decoder *dec;
	struct buf packed;
};

u32 cpus_to_use(u32 most)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
#endif
	most = most ? most : CPUS_DEFAULT;
	return n < 1 ? 1 : n < (long)most ? (u32)n : most;
}

/* Under the lock: a slot for the next block; NULL: none is free, or nothing is left. */
static struct slot *next_slot(struct ahead *a)
{
	struct slot *s;
	size_t number;

	while (a->next < a->n) {
		number = a->numbers[a->next];
		if (!a->taken[number] && a->catalog->blocks[number].raw <= RAW_MOST)
			break;
		a->next++;
	}
	if (a->next == a->n)
		return NULL;
	for (s = a->slots; s < a->slots + SLOTS; s++)
		if (s->state == SLOT_FREE) {
			s->state = SLOT_BUSY;
			s->number = a->numbers[a->next++];
			return s;
		}
	return NULL;
}

static void *work(void *arg)
{
	struct ahead *a = arg;
	struct slot *s;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		s = next_slot(a);
		if (!s) {
			pthread_cond_wait(&a->changed, &a->lock);
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		s->e = (struct err){ 0 };
		s->ret = catalog_packed(a->catalog, a->fd, s->number, &a->packed, &s->e);
		if (s->ret == 0)
			s->ret = block_decode(a->dec, &a->catalog->blocks[s->number],
					      a->packed.data, &s->records, &s->e);
		pthread_mutex_lock(&a->lock);
		s->state = SLOT_DONE;
		pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static void release(struct ahead *a)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		buf_free(&a->slots[i].records);
	buf_free(&a->packed);
	block_decoder_free(a->dec);
	free(a->taken);
	free(a->numbers);
	free(a);
}

struct ahead *ahead_start(int fd, const struct catalog *c, size_t *numbers, size_t n)
{
	struct ahead *a = n >= BLOCKS_MIN ? calloc(1, sizeof(*a)) : NULL;
	sigset_t all, old;
	int failed;

	if (!a) {
		free(numbers);
		return NULL;
	}
	a->fd = fd;
	a->catalog = c;
	a->numbers = numbers;
	a->n = n;
	a->taken = calloc(c->n, sizeof(*a->taken));
	a->dec = block_decoder_new(NULL);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	/* signals are for the main thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = !a->taken || !a->dec || pthread_create(&a->thread, NULL, work, a) != 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!failed)
		return a;
	release(a);
	return NULL;
}

int ahead_take(struct ahead *a, size_t number, struct buf *records, struct err *e)
{
	struct buf given = *records;
	struct slot *s;
	int ret = 1;

	pthread_mutex_lock(&a->lock);
	for (s = a->slots; s < a->slots + SLOTS; s++)
		if (s->state != SLOT_FREE && s->number == number)
			break;
	a->taken[number] = true;
	if (s < a->slots + SLOTS) {
		while (s->state == SLOT_BUSY)
			pthread_cond_wait(&a->changed, &a->lock);
		if (given.cap > 2 * RAW_MOST) /* it held more than a block: memory is bounded */
			buf_free(&given);
		*records = s->records;
		s->records = given;
		s->state = SLOT_FREE;
		ret = s->ret;
		if (ret < 0 && e)
			*e = s->e;
		pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return ret;
}

void ahead_stop(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	release(a);
}
