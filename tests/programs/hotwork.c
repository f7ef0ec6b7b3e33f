// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function that is called often, then seldom, in known numbers: by several threads, also by ones
 * that live for two calls, recursively, left by longjmp, and open while others begin and end.
 * Prints calls, calls that returned, and of those of the main loop the ns, p50 and CPU time.
 * hotwork SECONDS NS: often for so many seconds, each call for so many ns, then seldom for as many.
 */
#include "tests/lib/tool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 3
#define BRIEF	1500 /* threads of two calls: more than there are histograms */
#define JUMPS	20
#define DEPTH	12 /* of recursion: more than a histogram has open calls */
#define SELDOM	5  /* calls per second */
#define KEPT	(1 << 20)

static uint64_t calls, returned; /* atomic */
static uint64_t *durations, n_durations;
static uint64_t ns_each;
static double seconds;

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}

struct work {
	uint64_t spin, sleep; /* ns */
	int depth;
	jmp_buf *leave;
};

__attribute__((noinline, noclone, used)) uint64_t hot(const struct work *w)
{
	uint64_t begin = now_ns(), end = begin;
	struct work inner = *w;

	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	while (end - begin < w->spin)
		end = now_ns();
	if (w->sleep)
		sleep_ns(w->sleep);
	if (inner.depth-- > 0)
		hot(&inner);
	else if (w->leave)
		longjmp(*w->leave, 1);
	__atomic_fetch_add(&returned, 1, __ATOMIC_RELAXED);
	return end - begin;
}

static void *often(void *unused)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	const struct work w = { .spin = 1000 };

	while (now_ns() < end) {
		hot(&w);
		sleep_ns(1000000);
	}
	return unused;
}

static void *brief(void *unused)
{
	const struct work w = { 0 };

	hot(&w);
	hot(&w);
	return unused;
}

/* Open at each switch: from the first time to beyond the second. */
static void *open_long(void *share)
{
	const struct work w = { .sleep = (uint64_t)(seconds * 1.5e9) };

	sleep_ns((uint64_t)(seconds * 1e9 * *(double *)share));
	hot(&w);
	return NULL;
}

static void jump(void)
{
	static volatile int i;
	jmp_buf leave;

	for (i = 0; i < JUMPS; i++) {
		const struct work w = { .leave = &leave, .depth = i % 3 };

		if (!setjmp(leave))
			hot(&w);
	}
}

static void *crowd(void *unused)
{
	struct work deep = { .depth = DEPTH };
	pthread_t t;
	int i;

	for (i = 0; i < BRIEF; i++) {
		if (pthread_create(&t, NULL, brief, NULL) == 0)
			pthread_join(t, NULL);
		if (i % 100 == 0) {
			hot(&deep);
			jump();
		}
	}
	return unused;
}

static void main_loop(void)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	const struct work w = { .spin = ns_each };

	while (now_ns() < end && n_durations < KEPT)
		durations[n_durations++] = hot(&w);
	for (int i = 0; i < SELDOM * seconds; i++) {
		durations[n_durations++ % KEPT] = hot(&w);
		sleep_ns(1000000000 / SELDOM);
	}
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	static double shares[] = { 0, 0.75 };
	pthread_t threads[THREADS + 3];
	uint64_t total = 0, cpu;
	bool alone = argc > 3; /* only the main loop */
	int i, n = 0;

	seconds = argc > 1 ? atof(argv[1]) : 1;
	ns_each = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	durations = calloc(KEPT, sizeof(*durations));
	if (!durations)
		return 1;
	for (i = 0; i < THREADS && !alone; i++)
		n += pthread_create(&threads[n], NULL, often, NULL) == 0;
	for (i = 0; i < 2 && !alone; i++)
		n += pthread_create(&threads[n], NULL, open_long, &shares[i]) == 0;
	if (!alone)
		n += pthread_create(&threads[n], NULL, crowd, NULL) == 0;
	cpu = ns_of(CLOCK_THREAD_CPUTIME_ID);
	main_loop();
	cpu = ns_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	if (n_durations > KEPT)
		n_durations = KEPT;
	for (i = 0; i < (int)n_durations; i++)
		total += durations[i];
	qsort(durations, n_durations, sizeof(*durations), by_size);
	printf("calls=%ju returned=%ju ns=%ju p50=%ju cpu=%ju\n", (uintmax_t)calls,
	       (uintmax_t)returned, (uintmax_t)total, (uintmax_t)durations[n_durations / 2],
	       (uintmax_t)cpu);
	free(durations);
	return 0;
}
