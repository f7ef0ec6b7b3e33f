// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests need a mutex that a housekeeping thread holds while it sleeps. */
#include "stage.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *housekeeping(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		if (stage_faulty())
			stage_sleep(10000000 + stage_exponential(10000000));
		pthread_mutex_unlock(&mutex);
		stage_sleep(10000000);
	}
	return arg;
}

static void handle(void)
{
	pthread_mutex_lock(&mutex);
	stage_spin(stage.work / 4);
	pthread_mutex_unlock(&mutex);
	stage_spin(stage.work * 3 / 4);
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	stage_thread(housekeeping, "housekeeping");
	stage_serve_threads(handle);
}
