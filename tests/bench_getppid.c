// SPDX-License-Identifier: GPL-2.0-or-later
/* bench_getppid N: ns for one getppid() call, best of several runs of N calls, on CPU 0. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RUNS 7

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 200000, i;
	struct timespec a, b;
	double best = 1e9, ns;
	cpu_set_t cpu;
	int run;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	for (run = 0; run < RUNS; run++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (i = 0; i < n; i++)
			syscall(SYS_getppid);
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec) / n;
		best = ns < best ? ns : best;
	}
	printf("%.1f\n", best);
	return 0;
}
