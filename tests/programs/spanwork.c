// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests in known numbers that start in one function and end in another, on the same thread or
 * another: keys used again, starts without an end, ends without a start. Prints the numbers.
 */
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#else
#define STAP_PROBE1(provider, name, a)
#define STAP_PROBE2(provider, name, a, b)
#endif

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SAME	 31 /* start and end on one thread, each around the next */
#define MOVED	 37 /* end on another thread */
#define REUSED	 5  /* start twice, end once */
#define NO_START 7
#define NO_END	 3
#define MADE	 41 /* objects: from the return of one function to another */

/* Arguments and results reach their registers although the functions do nothing. */
#define FUNCTION __attribute__((noinline, noclone, used))
#define USE(x)	 __asm__ volatile("" : : "r"(x) : "memory")

FUNCTION void serve_start(int number, uint64_t key)
{
	STAP_PROBE2(span, start, number, key);
	USE(number);
	USE(key);
}

FUNCTION void serve_end(uint64_t key)
{
	STAP_PROBE1(span, end, key);
	USE(key);
}

FUNCTION void *make_object(void)
{
	void *p = malloc(64);

	USE(p);
	return p;
}

FUNCTION int end_object(int how, void *object)
{
	USE(how);
	free(object);
	return how;
}

static void *end_moved(void *unused)
{
	uint64_t i;

	(void)unused;
	for (i = MOVED; i > 0; i--)
		serve_end(1000 + i);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	uint64_t i;

	for (i = 0; i < SAME; i++)
		serve_start((int)i, i);
	for (i = 0; i < SAME; i++)
		serve_end(i);
	for (i = 1; i <= MOVED; i++)
		serve_start(0, 1000 + i);
	pthread_create(&thread, NULL, end_moved, NULL);
	pthread_join(thread, NULL);
	for (i = 0; i < REUSED; i++) {
		serve_start(0, 5);
		serve_start(0, 5);
		serve_end(5);
	}
	for (i = 0; i < NO_START; i++)
		serve_end(6);
	for (i = 0; i < NO_END; i++)
		serve_start(0, 2000 + i);
	for (i = 0; i < MADE; i++)
		end_object(3, make_object());
	printf("same=%d moved=%d reused=%d no_start=%d no_end=%d made=%d\n", SAME, MOVED, REUSED,
	       NO_START, NO_END, MADE);
	return 0;
}
