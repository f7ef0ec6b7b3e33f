// SPDX-License-Identifier: GPL-2.0-or-later
/* A plugin that computes for a second of CPU time, in a function of the name SPIN. */
#include <time.h>

static __attribute__((noinline)) void SPIN(clock_t until)
{
	while (clock() < until)
		for (volatile int i = 0; i < 100000; i++)
			;
}

void work(void);

void work(void)
{
	SPIN(clock() + CLOCKS_PER_SEC);
	__asm__ volatile(""); /* no tail call */
}
