// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests read from the disk past the page cache; another process writes and syncs. */
#define _GNU_SOURCE /* O_DIRECT */
#include "stage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SIZE (64l << 20)

static int data;

static void hog(void)
{
	/* past the page cache as well: it is to need the disk, not the CPU */
	static char block[4 << 20] __attribute__((aligned(4096)));
	int fd = stage_file("hog", 1 << 20, O_DIRECT);
	long at = 0;

	while (!stage_faulty())
		stage_sleep(10000000);
	for (;; at += sizeof(block)) {
		if (pwrite(fd, block, sizeof(block), at % (4 * SIZE)) < 0)
			stage_die("hog");
		if (fdatasync(fd) < 0)
			stage_die("hog");
	}
}

static void handle(void)
{
	static __thread char *block;

	if (!block && posix_memalign((void **)&block, 4096, 4096) != 0)
		stage_die("posix_memalign");
	if (pread(data, block, 4096, (long)(stage_random() * (SIZE / 4096)) * 4096) != 4096)
		stage_die("pread");
}

int main(int argc, char **argv)
{
	int i;

	stage_start(argc, argv);
	data = stage_file("data", SIZE, O_DIRECT);
	for (i = 0; i < 4; i++)
		printf("culprit=%d\n", stage_child("hog", hog));
	stage_serve_threads(handle);
}
