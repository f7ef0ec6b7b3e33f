// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/root alone would follow an absolute link into the root of obsrec. */
#include "rootdir.h"

#include "record/files/procfs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int rootdir_open(struct safe_files *files, u32 pid)
{
	char path[64] = "/";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/root", pid);
	return safe_open_dir(files, path);
}

bool rootdir_is_ours(u32 pid)
{
	char path[64], link[2] = "", number[16];

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	snprintf(number, sizeof(number), "%u", pid);
	return readlink(path, link, sizeof(link)) == 1 && link[0] == '/' &&
	       procfs_namespace(number, "mnt") == procfs_namespace("self", "mnt");
}

bool rootdir_path(int fd, char ret[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	size_t tail = sizeof(deleted) - 1;
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0 && ret[0] == '/' && ((size_t)n < tail || strcmp(ret + n - tail, deleted) != 0);
}
