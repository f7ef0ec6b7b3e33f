// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cputime: two threads on one CPU call probed_work, which computes and sleeps; each call measures
 * its own CPU time with the kernel's clock. What functions says of time on a CPU must be the same.
 */
#define _GNU_SOURCE /* CPU_SET */
#include "tests/lib/tool.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CALLS 101 /* of each thread */

static void spin(uint64_t ns)
{
	uint64_t end = ns_of(CLOCK_THREAD_CPUTIME_ID) + ns;
	int i;

	while (ns_of(CLOCK_THREAD_CPUTIME_ID) < end)
		for (i = 0; i < 1000; i++)
			__asm__ volatile("" ::: "memory");
}

/* Returns its CPU time. */
__attribute__((noinline)) uint64_t probed_work(int i)
{
	uint64_t begin = ns_of(CLOCK_THREAD_CPUTIME_ID);

	spin(2000000 + i % 7 * 1000000);
	if (i % 3)
		usleep(i % 3 * 1000);
	spin(1000000);
	return ns_of(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static void *work(void *arg)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < CALLS; i++)
		sum += probed_work(i);
	*(uint64_t *)arg = sum;
	return NULL;
}

int main(void)
{
	uint64_t sum[2];
	pthread_t thread;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pthread_create(&thread, NULL, work, &sum[1]))
		return 1;
	work(&sum[0]);
	pthread_join(thread, NULL);
	printf("pid=%d calls=%d cpu_ns=%llu\n", getpid(), 2 * CALLS,
	       (unsigned long long)(sum[0] + sum[1]));
	return 0;
}
