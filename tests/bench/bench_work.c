// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_work getppid|pingpong|disk|call|call_endbr SECONDS [DIR]: waits for a line on standard
 * input, so that a tracer can attach, then does one thing over and over, on CPU 0. Prints
 * ns for one (nine of ten slices of 20 ms took longer: what others do on the machine is left out)
 * and how many there were.
 */
#define _GNU_SOURCE /* sched_setaffinity, O_DIRECT */
#include "tests/lib/tool.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICE	    20000000ull /* ns */
#define SLICES_MAX  10000
#define DISK_BLOCKS 4096

static int pipes[2][2];
static int disk = -1;
static unsigned char *block;
static unsigned int request;

#if defined(__x86_64__)
#define BARE  __attribute__((noinline, nocf_check))
#define FIRST "push %%rbp; pop %%rbp" /* what most functions begin with */
#else
#define BARE  __attribute__((noinline))
#define FIRST ""
#endif

/* Start with the same code, except for the endbr64 that compilers put first by default on x86-64.
 */
BARE int bench_call(int x)
{
	__asm__ volatile(FIRST ::: "memory");
	return x + 1;
}

__attribute__((noinline)) int bench_call_endbr(int x)
{
	__asm__ volatile(FIRST ::: "memory");
	return x + 1;
}

static void do_getppid(void)
{
	syscall(SYS_getppid);
}

static void do_call(void)
{
	request = bench_call(request);
}

static void do_call_endbr(void)
{
	request = bench_call_endbr(request);
}

static void do_disk(void)
{
	off_t at = (off_t)(request++ % DISK_BLOCKS) * 4096;

	if (pwrite(disk, block, 4096, at) != 4096)
		exit(1);
}

static void do_pingpong(void)
{
	char c = 0;

	if (write(pipes[0][1], &c, 1) != 1 || read(pipes[1][0], &c, 1) != 1)
		exit(1);
}

static void *partner(void *arg)
{
	char c;

	(void)arg;
	while (read(pipes[0][0], &c, 1) == 1 && write(pipes[1][1], &c, 1) == 1)
		;
	return NULL;
}

static const struct work {
	const char *name;
	void (*once)(void);
	int batch; /* between two looks at the clock */
} works[] = {
	{ "getppid", do_getppid, 200 },
	{ "pingpong", do_pingpong, 20 },
	{ "disk", do_disk, 1 },
	{ "call", do_call, 200 },
	{ "call_endbr", do_call_endbr, 200 },
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int prepare(const struct work *w, const char *dir)
{
	char path[4096];
	pthread_t t;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	if (w->once == do_disk) {
		snprintf(path, sizeof(path), "%s/bench.data", dir);
		disk = open(path, O_CREAT | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
		block = aligned_alloc(4096, 4096);
		if (disk < 0 || !block || posix_fallocate(disk, 0, DISK_BLOCKS * 4096) != 0)
			return -1;
		memset(block, 7, 4096);
		unlink(path);
	}
	if (w->once != do_pingpong)
		return 0;
	return pipe(pipes[0]) < 0 || pipe(pipes[1]) < 0 ||
			       pthread_create(&t, NULL, partner, NULL) != 0
		       ? -1
		       : 0;
}

int main(int argc, char **argv)
{
	static double slices[SLICES_MAX];
	unsigned long long n = 0, begin, slice, done, t;
	const struct work *w = works, *end = works + sizeof(works) / sizeof(works[0]);
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 0;
	int k = 0, i;

	while (argc > 2 && w < end && strcmp(w->name, argv[1]) != 0)
		w++;
	if (argc < 3 || w == end || prepare(w, argc > 3 ? argv[3] : ".") < 0) {
		fprintf(stderr, "bench_work: cannot do that\n");
		return 1;
	}
	while (getchar() != '\n')
		;
	begin = slice = t = now_ns();
	while (t - begin < seconds * 1e9 && k < SLICES_MAX) {
		for (done = 0; t - slice < SLICE; t = now_ns())
			for (i = 0; i < w->batch; i++, done++)
				w->once();
		slices[k++] = (double)(t - slice) / done;
		n += done;
		slice = t;
	}
	qsort(slices, k, sizeof(slices[0]), by_value);
	printf("%.1f %llu\n", slices[k / 10], n);
	return 0;
}
