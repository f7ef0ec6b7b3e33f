// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests need a mutex that a journal thread holds while it waits for the disk. */
#include "stage.h"

#include <unistd.h>

static void *journal(void *arg)
{
	static char block[1 << 20];
	int fd = stage_file("journal", 1 << 20, 0);
	long at = 0;

	for (;;) {
		pthread_mutex_lock(&stage_mutex);
		if (stage_faulty()) {
			/* always after the end: blocks that the file has already are synced at
			 * once */
			if (pwrite(fd, block, sizeof(block), at) < 0 || fsync(fd) < 0)
				stage_die("journal");
			at += sizeof(block);
		}
		pthread_mutex_unlock(&stage_mutex);
		stage_sleep(1000000 + stage_exponential(1000000));
	}
	return arg;
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	stage_thread(journal, "journal");
	stage_serve_threads(stage_handle_locked);
}
