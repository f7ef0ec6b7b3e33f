// SPDX-License-Identifier: GPL-2.0-or-later
/* manythreads N: N threads that are alive at once, each of which writes 7 bytes to /dev/null once.
 */
#define _GNU_SOURCE /* pthread_attr_setstacksize */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static long wanted, here;
static int null;

static void *work(void *arg)
{
	if (write(null, "7 bytes", 7) != 7)
		abort();
	pthread_mutex_lock(&lock);
	if (++here == wanted)
		pthread_cond_broadcast(&all);
	while (here < wanted)
		pthread_cond_wait(&all, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t *list;
	long i;

	wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	list = calloc(wanted > 0 ? wanted : 1, sizeof(*list));
	null = open("/dev/null", O_WRONLY);
	if (!list || null < 0 || wanted < 1)
		return 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN + 4096);
	for (i = 0; i < wanted; i++)
		if (pthread_create(&list[i], &attr, work, NULL) != 0) {
			fprintf(stderr, "manythreads: only %ld threads\n", i);
			return 2;
		}
	for (i = 0; i < wanted; i++)
		pthread_join(list[i], NULL);
	free(list);
	return 0;
}
