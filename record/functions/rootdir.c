// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/root alone would follow an absolute link into the root of obsrec. */
#define _GNU_SOURCE /* O_PATH */
#include "rootdir.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* O_NONBLOCK: a FIFO must not keep us waiting */
#define HOW (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

int rootdir_open(u32 pid)
{
	char path[64] = "/";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int rootdir_file(int root, const char *path)
{
	struct open_how how = { .flags = HOW, .resolve = RESOLVE_IN_ROOT };

	return syscall(SYS_openat2, root, path, &how, sizeof(how));
}
