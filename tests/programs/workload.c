// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does exactly so much of everything, in prime numbers, and says what it did: the recording
 * must say the same. workload DIR [burn]: files go to DIR (on a real disk); burn: then so much
 * time on the CPU that it can be measured. workload flood: only a flood of getppid calls, from
 * which all randomness is absent.
 */
#define _GNU_SOURCE /* O_DIRECT, RUSAGE_THREAD */
#include "tests/lib/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	OPENS = 23,
	FSYNCS = 29,
	HANDOVERS = 31, /* futex hand-overs in each direction */
	WRITES = 37,	/* O_DIRECT, 4096 bytes each */
	GETPPIDS = 10007,
	FLOOD = 400009, /* getppid calls of workload flood */
	CALLS = 43,	/* of outer, which calls inner twice */
	DEPTH = 47,	/* of recursive */
	ERRORS = 53,	/* opens of a file that is not there */
};

__attribute__((noinline)) int probed_inner(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 1;
}

__attribute__((noinline)) int probed_outer(int x)
{
	int y = probed_inner(x);

	__asm__ volatile("" ::: "memory");
	return y + probed_inner(y);
}

__attribute__((noinline)) int probed_recursive(int depth)
{
	int below = depth > 1 ? probed_recursive(depth - 1) : 0;

	__asm__ volatile("" ::: "memory");
	return below + 1;
}

static void futex_wait(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		if (syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EINTR)
			die("futex");
}

/* Returns how many threads it woke: 0 when the other had not gone to sleep yet. */
static int futex_wake(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	return syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static uint32_t ping, pong;

static void *partner(void *arg)
{
	uint32_t i;

	(void)arg;
	for (i = 0; i < HANDOVERS; i++) {
		futex_wait(&ping, i);
		futex_wake(&pong, i + 1);
	}
	return NULL;
}

/* Returns how often the partner was woken from sleep. */
static int hand_over(void)
{
	struct timespec pause = { 0, 2000000 };
	int woken = 0;
	pthread_t t;
	uint32_t i;

	if (pthread_create(&t, NULL, partner, NULL) != 0)
		die("pthread_create");
	for (i = 0; i < HANDOVERS; i++) {
		nanosleep(&pause, NULL);
		woken += futex_wake(&ping, i + 1);
		futex_wait(&pong, i);
	}
	pthread_join(t, NULL);
	return woken;
}

static void use_files(const char *dir)
{
	static char block[4096] __attribute__((aligned(4096)));
	char path[4096];
	int i, fd;

	snprintf(path, sizeof(path), "%s/workload.data", dir);
	for (i = 0; i < OPENS; i++) {
		fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0)
			die(path);
		if (i + 1 < OPENS)
			close(fd);
	}
	for (i = 0; i < FSYNCS; i++)
		if (fsync(fd) < 0)
			die("fsync");
	close(fd);
#ifdef SYS_open /* the older call, where the processor has it */
	fd = syscall(SYS_open, path, O_RDWR | O_DIRECT | O_CLOEXEC);
#else
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
#endif
	for (i = 0; fd >= 0 && i < WRITES; i++)
		if (pwrite(fd, block, sizeof(block), (off_t)i * 2 * sizeof(block)) != sizeof(block))
			die("pwrite");
	if (fd >= 0)
		close(fd);
	unlink(path);
	snprintf(path, sizeof(path), "%s/workload.absent", dir);
	for (i = 0; i < ERRORS; i++)
		if (open(path, O_RDONLY) >= 0)
			die("open");
}

/* Some tenths of a second on the CPU without a system call. */
static void burn(void)
{
	volatile long i;

	for (i = 0; i < 600000000; i++)
		;
}

int main(int argc, char **argv)
{
	struct timespec cpu;
	struct rusage usage;
	int i, woken;

	if (argc > 1 && strcmp(argv[1], "flood") == 0) {
		for (i = 0; i < FLOOD; i++)
			syscall(SYS_getppid);
		return 0;
	}
	for (i = 0; i < GETPPIDS; i++)
		syscall(SYS_getppid);
	use_files(argc > 1 ? argv[1] : ".");
	woken = hand_over();
	for (i = 0; i < CALLS; i++)
		probed_outer(i);
	probed_recursive(DEPTH);
	if (argc > 2)
		burn();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	getrusage(RUSAGE_THREAD, &usage);
	printf("pid=%d getppid=%d opens=%d fsync=%d writes=%d errors=%d woken=%d outer=%d inner=%d "
	       "recursive=%d cpu_ns=%lld switches=%ld\n",
	       getpid(), GETPPIDS, OPENS, FSYNCS, WRITES, ERRORS, woken, CALLS, 2 * CALLS, DEPTH,
	       cpu.tv_sec * 1000000000ll + cpu.tv_nsec, usage.ru_nvcsw + usage.ru_nivcsw);
	return 0;
}
