// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests map and touch memory; a housekeeping thread keeps the lock of all maps in mprotect(2).
 */
#include "stage.h"

#include <string.h>
#include <sys/mman.h>

#define LARGE (1L << 30)
#define SMALL (64L << 10)

static char *region(long size)
{
	char *p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		stage_die("mmap");
	return p;
}

static void *housekeeping(void *arg)
{
	char *large = region(LARGE);

	madvise(large, LARGE, MADV_NOHUGEPAGE); /* page by page takes longer */
	memset(large, 1, LARGE);
	for (;;) {
		if (stage_faulty()) {
			mprotect(large, LARGE, PROT_READ);
			mprotect(large, LARGE, PROT_READ | PROT_WRITE);
		}
		stage_sleep(100000000);
	}
	return arg;
}

static void handle(void)
{
	char *p = region(SMALL);

	memset(p, 1, SMALL);
	munmap(p, SMALL);
	stage_spin(stage_exponential(stage.work));
}

int main(int argc, char **argv)
{
	stage_start(argc, argv);
	stage_thread(housekeeping, "housekeeping");
	stage_serve_threads(handle);
}
