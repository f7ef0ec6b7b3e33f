// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that moves a program's wall clock by $WALL_CLOCK_ADD ns: LD_PRELOAD it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	const char *add = getenv("WALL_CLOCK_ADD");
	int ret = (int)syscall(SYS_clock_gettime, clock, ts);
	long long ns;

	if (ret < 0 || clock != CLOCK_REALTIME || !add)
		return ret;
	ns = ts->tv_sec * 1000000000ll + ts->tv_nsec + strtoll(add, NULL, 10);
	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	return 0;
}
