// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crowd N: so many threads, each with a name of its own, that run for some microseconds at random
 * times until a signal ends them. Prints "ready".
 */
#include "tests/lib/tool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MEAN_NS 1500000000.0 /* between two runs of a thread */
#define RUN_NS	20000

static void *member(void *number)
{
	unsigned short seed[3] = { (unsigned short)(uintptr_t)number, 17, 4 };
	struct timespec t;
	char name[16];
	uint64_t end;
	double ns;

	snprintf(name, sizeof(name), "crowd%lu", (unsigned long)(uintptr_t)number);
	prctl(PR_SET_NAME, name);
	for (;;) {
		ns = 2 * MEAN_NS * erand48(seed);
		t = (struct timespec){ (time_t)(ns / 1e9), (long)ns % 1000000000 };
		nanosleep(&t, NULL);
		for (end = now_ns() + RUN_NS; now_ns() < end;)
			;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uintptr_t n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0, i;
	pthread_attr_t small;
	pthread_t t;

	if (!n) {
		fprintf(stderr, "usage: crowd N\n");
		return 1;
	}
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 16);
	for (i = 0; i < n; i++)
		if (pthread_create(&t, &small, member, (void *)i)) {
			fprintf(stderr, "crowd: no more threads after %lu\n", (unsigned long)i);
			return 1;
		}
	printf("ready\n");
	fflush(stdout);
	pause();
	return 0;
}
