// SPDX-License-Identifier: GPL-2.0-or-later
/* Each request writes into a pipe whose reader, another process, becomes slow. */
#include "stage.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ends[2];

static void reader(void)
{
	static char block[16384];

	close(ends[1]);
	while (read(ends[0], block, sizeof(block)) > 0)
		if (stage_faulty())
			stage_sleep(5000000 + stage_exponential(5000000));
}

static void handle(void)
{
	static const char block[16384];

	if (write(ends[1], block, sizeof(block)) != sizeof(block))
		stage_die("pipe");
	stage_spin(stage.work);
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	if (pipe(ends) < 0)
		stage_die("pipe");
	printf("culprit=%d\n", stage_child("reader", reader));
	close(ends[0]);
	stage_serve_threads(handle);
}
