// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests wait on one condition variable for their own number to come up. The thread that hands
 * out numbers wakes all of them again and again before it does: one wait, many wake-ups.
 */
#include "stage.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned long asked, done;

static void *number(void *arg)
{
	unsigned long goal;
	int i;

	for (;;) {
		pthread_mutex_lock(&mutex);
		goal = asked;
		pthread_mutex_unlock(&mutex);
		/* a broadcast each millisecond, for nothing */
		for (i = 0; i < (stage_faulty() ? 20 : 0); i++) {
			stage_sleep(1000000);
			pthread_cond_broadcast(&cond);
		}
		pthread_mutex_lock(&mutex);
		done = goal;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
		stage_sleep(200000);
	}
	return arg;
}

static void handle(void)
{
	unsigned long mine;

	pthread_mutex_lock(&mutex);
	mine = ++asked;
	while (done < mine)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	stage_spin(stage.work);
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	stage_thread(number, "number");
	stage_serve_threads(handle);
}
