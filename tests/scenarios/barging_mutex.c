// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests need a mutex that a thread unlocks and takes again at once: waiters lose the race. */
#include "stage.h"

static void *greedy(void *arg)
{
	int i;

	for (;;) {
		for (i = 0; i < 10 && stage_faulty(); i++) {
			pthread_mutex_lock(&stage_mutex);
			stage_sleep(2000000);
			pthread_mutex_unlock(&stage_mutex);
		}
		stage_sleep(5000000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	stage_thread(greedy, "greedy");
	stage_serve_threads(stage_handle_locked);
}
