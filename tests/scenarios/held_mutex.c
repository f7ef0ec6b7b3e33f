// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests need a mutex that a housekeeping thread holds while it sleeps. */
#include "stage.h"

static void *housekeeping(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&stage_mutex);
		if (stage_faulty())
			stage_sleep(10000000 + stage_exponential(10000000));
		pthread_mutex_unlock(&stage_mutex);
		stage_sleep(10000000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	stage_thread(housekeeping, "housekeeping");
	stage_serve_threads(stage_handle_locked);
}
