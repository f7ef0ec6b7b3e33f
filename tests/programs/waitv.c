// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits on two futexes at once, so often: each time the second one ends the wait, but for those
 * that run into their time limit. The recording must name both, and who woke. Status 77: this
 * kernel has no futex_waitv.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	WAITS = 19,
	TIMEOUTS = 5,
	NR_FUTEX_WAITV = 449, /* headers may be older */
	SIZE_U32 = 2,
};

struct waiter {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

static uint32_t first, second;

/* Wakes one thread per wait; retries if it is not asleep yet. */
static void *wake(void *arg)
{
	struct timespec moment = { 0, 2000000 };
	int i;

	for (i = 0; i < WAITS; i++)
		do
			nanosleep(&moment, NULL);
		while (syscall(SYS_futex, &second, FUTEX_WAKE, 1, NULL, NULL, 0) != 1);
	return arg;
}

int main(void)
{
	struct waiter both[2] = {
		{ .uaddr = (uintptr_t)&first, .flags = SIZE_U32 },
		{ .uaddr = (uintptr_t)&second, .flags = SIZE_U32 },
	};
	struct timespec past = { 0, 1 };
	pthread_t waker;
	int i;

	if (syscall(NR_FUTEX_WAITV, both, 2, 0, &past, CLOCK_MONOTONIC) < 0 && errno == ENOSYS)
		return 77;
	for (i = 1; i < TIMEOUTS; i++)
		if (syscall(NR_FUTEX_WAITV, both, 2, 0, &past, CLOCK_MONOTONIC) >= 0 ||
		    errno != ETIMEDOUT)
			return 1;
	if (pthread_create(&waker, NULL, wake, NULL) != 0)
		return 1;
	for (i = 0; i < WAITS; i++)
		if (syscall(NR_FUTEX_WAITV, both, 2, 0, NULL, 0) != 1)
			return 1;
	pthread_join(waker, NULL);
	printf("pid=%d waits=%d timeouts=%d first=%llu second=%llu\n", (int)getpid(), WAITS,
	       TIMEOUTS, (unsigned long long)(uintptr_t)&first,
	       (unsigned long long)(uintptr_t)&second);
	return 0;
}
