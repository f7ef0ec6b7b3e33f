// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Static probes in known numbers, each with a semaphore: spans that nest, overlap, and lack a
 * start or an end; arguments of all sizes, and texts. Prints how often a semaphore allowed a probe.
 * With an argument it waits for a line of input first.
 */
#define _SDT_HAS_SEMAPHORES 1
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#else
#define NO_SDT
#endif

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef NO_SDT
int main(void)
{
	printf("no sys/sdt.h\n");
	return 77;
}
#else

#define ORDERS	 23
#define THREAD	 7
#define SOLD	 29
#define PACKED	 5
#define NO_START 3
#define NO_END	 2

#define SEMAPHORE(name) \
	unsigned short shop_##name##_semaphore __attribute__((used, section(".probes")))
SEMAPHORE(order__start);
SEMAPHORE(order__done);
SEMAPHORE(pack__start);
SEMAPHORE(pack__done);
SEMAPHORE(sold);

/* The kernel raises it while a tracer is attached. */
#define IF_WANTED(name, probe)                                              \
	do {                                                                \
		if (*(volatile unsigned short *)&shop_##name##_semaphore) { \
			probe;                                              \
			allowed++;                                          \
		}                                                           \
	} while (0)

static __thread int allowed;
static int64_t prices[] = { -1000000000000, 2000000000000, 3 };

static void start_order(int number)
{
	char text[32];
	int8_t sign = -1;

	snprintf(text, sizeof(text), "order %d", number % 10);
	IF_WANTED(order__start, STAP_PROBE3(shop, order__start, number, text, sign));
}

static void end_order(int number)
{
	IF_WANTED(order__done, STAP_PROBE1(shop, order__done, 1000 * number));
}

static void *other_thread(void *arg)
{
	int i;

	for (i = 0; i < THREAD; i++) {
		start_order(i);
		end_order(i);
	}
	*(int *)arg = allowed;
	return NULL;
}

static void sell(int number)
{
	uint16_t low = 65530 + number;
	char text[] =
		"all"; /* memory that was written: of a page never touched nothing can be read */

	IF_WANTED(sold, STAP_PROBE4(shop, sold, prices[number % 3], low, number, text));
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int i, other = 0;

	(void)argv;
	if (argc > 1)
		getchar();
	for (i = 0; i < NO_START; i++)
		end_order(0);
	pthread_create(&thread, NULL, other_thread, &other);
	for (i = 0; i < ORDERS; i++) {
		if (i < PACKED)
			IF_WANTED(pack__start, STAP_PROBE(shop, pack__start));
		start_order(i);
		if (i < PACKED)
			IF_WANTED(pack__done, STAP_PROBE(shop, pack__done));
		end_order(i);
	}
	for (i = 0; i < SOLD; i++)
		sell(i);
	pthread_join(thread, NULL);
	for (i = 0; i < NO_END; i++)
		start_order(i);
	printf("orders=%d thread=%d sold=%d packed=%d no_start=%d no_end=%d allowed=%d\n", ORDERS,
	       THREAD, SOLD, PACKED, NO_START, NO_END, allowed + other);
	return 0;
}
#endif
