// SPDX-License-Identifier: GPL-2.0-or-later
/* Small files and numbered directories, as /proc and /sys have them. */
#define _GNU_SOURCE /* TEMP_FAILURE_RETRY */
#include "procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INITIAL_PID_NAMESPACE 0xeffffffc /* the kernel's PROC_PID_INIT_INO */

int procfs_each(const char *path, procfs_fn fn, void *arg, struct err *e)
{
	DIR *d = opendir(path);
	struct dirent *f;
	int ret = 0;

	if (!d)
		return 0; /* gone since then */
	while (ret == 0 && (f = readdir(d)))
		if (isdigit((unsigned char)f->d_name[0]))
			ret = fn(arg, strtoul(f->d_name, NULL, 10), e);
	closedir(d);
	return ret;
}

ssize_t procfs_read(const char *path, char *text, size_t size)
{
	int fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC));
	size_t have = 0;
	ssize_t n = -1;

	text[0] = '\0';
	if (fd < 0)
		return -1;
	while (have < size - 1 &&
	       (n = TEMP_FAILURE_RETRY(read(fd, text + have, size - 1 - have))) > 0)
		have += n;
	close(fd);
	text[have] = '\0';
	return n < 0 && !have ? -1 : (ssize_t)have;
}

void procfs_line(const char *path, char *line, size_t size)
{
	procfs_read(path, line, size);
	line[strcspn(line, "\n")] = '\0';
}

unsigned long long procfs_number(const char *path, unsigned long long fallback)
{
	unsigned long long v;
	char line[64], *end;

	procfs_line(path, line, sizeof(line));
	v = strtoull(line, &end, 10);
	return end == line ? fallback : v;
}

bool procfs_runnable(pid_t pid)
{
	char path[64], text[256];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	procfs_read(path, text, sizeof(text));
	at = strrchr(text, ')');
	return at && at[1] && at[2] == 'R';
}

u64 procfs_progress(pid_t pid)
{
	char path[64], text[512], *at, *next;
	u64 sum = 0;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	if (procfs_read(path, text, sizeof(text)) <= 0)
		return 0;
	for (at = text; (next = strchr(at, ':')); at = next + 1)
		sum += strtoull(next + 1, NULL, 10);
	return sum;
}

u64 procfs_inode(const char *link, const char *kind)
{
	size_t n = strlen(kind);

	if (strncmp(link, kind, n) != 0 || strncmp(link + n, ":[", 2) != 0)
		return 0;
	return strtoull(link + n + 2, NULL, 10);
}

u64 procfs_namespace(const char *pid, const char *kind)
{
	char path[64], link[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/ns/%.20s", pid, kind);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	return procfs_inode(link, kind);
}

bool procfs_host_pids(void)
{
	u64 ino = procfs_namespace("self", "pid");

	return !ino || ino == INITIAL_PID_NAMESPACE;
}
