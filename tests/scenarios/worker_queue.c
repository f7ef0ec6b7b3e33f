// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests are handed to workers through a queue with a condition variable. The workers
 * wait for work most of the time: that is idleness, not contention.
 */
#include "stage.h"

#include <pthread.h>
#include <stddef.h>

#define WORKERS 4

struct job {
	struct job *next;
	pthread_cond_t done;
	bool ready;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static struct job *head, **tail = &head;

static void *worker(void *arg)
{
	struct job *j;

	for (;;) {
		pthread_mutex_lock(&mutex);
		while (!head)
			pthread_cond_wait(&work, &mutex);
		j = head;
		head = j->next;
		if (!head)
			tail = &head;
		pthread_mutex_unlock(&mutex);
		/* the fault is longer jobs: the cause is CPU time of a worker, not a lock */
		stage_spin(stage_lognormal(stage_faulty() ? 5 * stage.work : stage.work));
		pthread_mutex_lock(&mutex);
		j->ready = true;
		pthread_cond_signal(&j->done);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void handle(void)
{
	struct job j = { .done = PTHREAD_COND_INITIALIZER };

	pthread_mutex_lock(&mutex);
	*tail = &j;
	tail = &j.next;
	pthread_cond_signal(&work);
	while (!j.ready)
		pthread_cond_wait(&j.done, &mutex);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	int i;

	stage_start(argc, argv);
	for (i = 0; i < WORKERS; i++)
		stage_thread(worker, "worker");
	stage_serve_threads(handle);
}
