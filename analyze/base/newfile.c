// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that are there as a whole or not at all. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "newfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define QUIET 60 /* s: a process of another host may write to the same directory */

/* The directory of path, and its last part. */
static bool split(char dir[PATH_MAX], const char **last, const char *path)
{
	const char *slash = strrchr(path, '/');
	int n = slash ? (int)(slash - path) : 0;

	*last = slash ? slash + 1 : path;
	if (!slash)
		return snprintf(dir, PATH_MAX, ".") > 0;
	return snprintf(dir, PATH_MAX, "%.*s", n ? n : 1, path) < PATH_MAX;
}

void newfile_guard(const char *source)
{
	bool input = strcmp(source, "-") == 0;
	struct stat sb;
	mode_t mask;

	if ((input ? fstat(STDIN_FILENO, &sb) : stat(source, &sb)) < 0)
		return;
	if (input && S_ISFIFO(sb.st_mode))
		sb.st_mode &= ~0077; /* what it comes from may be for its owner only */
	else if (!S_ISREG(sb.st_mode))
		return;
	mask = umask(0077);
	umask(mask | (~sb.st_mode & 0077));
}

int newfile_open(const char *path, mode_t mode)
{
#ifdef O_TMPFILE
	char dir[PATH_MAX];
	const char *last;

	if (!split(dir, &last, path) || !*last || access("/proc/self/fd", X_OK) < 0)
		return -1;
	return open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
#else
	(void)path;
	(void)mode;
	return -1;
#endif
}

int newfile_name(int fd, const char *path, bool replace)
{
	char from[64], part[PATH_MAX];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (!replace || errno != EEXIST)
		return -1;
	/* link replaces nothing, rename does */
	if (snprintf(part, sizeof(part), "%s.part-%ld", path, (long)getpid()) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (linkat(AT_FDCWD, from, AT_FDCWD, part, AT_SYMLINK_FOLLOW) < 0)
		return -1;
	if (rename(part, path) == 0)
		return 0;
	unlink(part);
	return -1;
}

/* The process whose "NAME.part-PID" this is; 0: none. */
static pid_t process_of(const char *file, const char *name)
{
	size_t n = strlen(name);
	const char *digits = file + n + strlen(".part-");
	char *end;
	long pid;

	if (strncmp(file, name, n) != 0 || strncmp(file + n, ".part-", strlen(".part-")) != 0 ||
	    !isdigit((unsigned char)*digits))
		return 0;
	errno = 0;
	pid = strtol(digits, &end, 10);
	return *end || errno || pid > INT_MAX ? 0 : (pid_t)pid;
}

void newfile_sweep(const char *path)
{
	char dir[PATH_MAX];
	const char *last;
	struct dirent *f;
	struct stat sb;
	DIR *d = split(dir, &last, path) ? opendir(dir) : NULL;
	pid_t pid;

	while (d && (f = readdir(d))) {
		pid = process_of(f->d_name, last);
		if (!pid || (kill(pid, 0) == 0 || errno != ESRCH) ||
		    fstatat(dirfd(d), f->d_name, &sb, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(sb.st_mode) && time(NULL) - sb.st_mtime > QUIET)
			unlinkat(dirfd(d), f->d_name, 0);
	}
	if (d)
		closedir(d);
}
