// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rqclock PID...: sums run time and run-queue time of these processes' threads twice over the
 * same switches and wake-ups, by monotonic time and by the clock of the kernel's run queues.
 * Prints "counting" when it does. For each line of its input it prints the sums until now: for each
 * thread tid, switches, run time by the one clock and the other, time in the run queue by the one
 * and the other, time on a CPU and in the queue that began unseen, and uninterruptible sleep, ns;
 * then an empty line.
 *
 * Shows why a recording and /proc/PID/schedstat differ: from a wake-up to the switch that follows
 * the kernel lets the queue's clock stand (rq_clock_skip_update), and bills that time to the
 * next thread. By that clock the sums here are schedstat's, by monotonic time the recording's.
 */
#include "rqclock.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/validate/rqclock.skel.h"

static int watch(const struct rqclock *skel, const char *text)
{
	u32 pid = (u32)strtoul(text, NULL, 10), one = 1;

	return bpf_map_update_elem(bpf_map__fd(skel->maps.processes), &pid, &one, BPF_ANY);
}

static void print(const struct rqclock *skel)
{
	int fd = bpf_map__fd(skel->maps.threads);
	struct thread_clocks c;
	u32 tid, *before = NULL;

	while (bpf_map_get_next_key(fd, before, &tid) == 0) {
		if (bpf_map_lookup_elem(fd, &tid, &c) == 0)
			printf("%u %llu %llu %llu %llu %llu %llu %llu\n", tid,
			       (unsigned long long)c.switches, (unsigned long long)c.run.real,
			       (unsigned long long)c.run.kernel, (unsigned long long)c.queue.real,
			       (unsigned long long)c.queue.kernel, (unsigned long long)c.unseen,
			       (unsigned long long)c.blocked);
		before = &tid;
	}
	putchar('\n');
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct rqclock *skel = rqclock__open_and_load();
	char byte;
	int i;

	if (!skel) {
		fprintf(stderr, "rqclock: cannot load the programs\n");
		return 1;
	}
	for (i = 1; i < argc; i++)
		if (watch(skel, argv[i]) < 0) {
			fprintf(stderr, "rqclock: at most %d processes\n", RQCLOCK_PROCESSES);
			return 1;
		}
	if (rqclock__attach(skel) < 0) {
		fprintf(stderr, "rqclock: cannot attach the programs\n");
		return 1;
	}
	puts("counting");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		print(skel);
	rqclock__destroy(skel);
	return 0;
}
