// SPDX-License-Identifier: GPL-2.0-or-later
/* The file that a recording goes to. */
#define _GNU_SOURCE /* TEMP_FAILURE_RETRY: a server of files can be interrupted */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static void default_name(char *path, size_t size)
{
	char host[64] = "host", at[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, "/")] = '\0';
	if (gmtime_r(&now, &tm))
		strftime(at, sizeof(at), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(path, size, "obs-%s-%s.obs", host, at);
}

void output_snapshot_path(char *ret, size_t size, const char *path, unsigned int n)
{
	char base[PATH_MAX], at[32] = "";
	time_t now = time(NULL);
	size_t len;
	struct tm tm;

	if (path)
		snprintf(base, sizeof(base), "%s", path);
	else
		default_name(base, sizeof(base));
	len = strlen(base);
	if (len > 4 && strcmp(base + len - 4, ".obs") == 0)
		base[len - 4] = '\0';
	if (path && gmtime_r(&now, &tm))
		strftime(at, sizeof(at), "-%Y%m%dT%H%M%SZ", &tm);
	snprintf(ret, size, "%.3800s%s-%u.obs", base, at, n);
}

int output_try(const char *path, struct err *e)
{
	char dir[PATH_MAX] = ".";

	if (path && strchr(path, '/'))
		snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path + 1), path);
	return access(dir, W_OK) < 0 ? err_errno(e, ERR_FAIL, "cannot write to %.300s", dir) : 0;
}

bool output_exists(const char *path)
{
	struct stat sb;

	return lstat(path, &sb) == 0;
}

u64 output_free(int fd)
{
	struct statvfs v;
	struct stat sb;

	if (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode) || fstatvfs(fd, &v) < 0)
		return UINT64_MAX;
	return (u64)v.f_bavail * v.f_frsize;
}

/* Under sudo the recording belongs to the person, not to root. */
static int give_to_caller(int fd, struct err *e)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

	if (!uid || !gid || geteuid() != 0)
		return 0;
	if (fchown(fd, strtoul(uid, NULL, 10), strtoul(gid, NULL, 10)) < 0)
		return err_errno(e, ERR_FAIL, "cannot give the recording to user %s", uid);
	return 0;
}

/*
 * A pipe as an open file of our own that does not block: a reader that does not read must not keep
 * the recorder, and other users of the pipe see no change.
 */
static int open_stdout(void)
{
	struct stat sb;
	int fd = -1;

	if (fstat(STDOUT_FILENO, &sb) == 0 && S_ISFIFO(sb.st_mode))
		fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? STDOUT_FILENO : fd;
}

int output_open(struct output *ret, const char *path, struct err *e)
{
	struct output *o = ret;

	if (path)
		snprintf(o->path, sizeof(o->path), "%s", path);
	else
		default_name(o->path, sizeof(o->path));
	if (getrandom(o->uuid, sizeof(o->uuid), 0) != sizeof(o->uuid))
		return err_errno(e, ERR_FAIL, "cannot create a random id for the recording");
	if (strcmp(o->path, "-") == 0) {
		if (isatty(STDOUT_FILENO))
			return err_set(e, ERR_FAIL,
				       "a recording is not for a terminal: redirect "
				       "standard output, or name a file with -o");
		o->fd = open_stdout();
		return 0;
	}
	o->fd = TEMP_FAILURE_RETRY(
		open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (o->fd < 0 && errno == EEXIST)
		return err_set(e, ERR_FAIL, "%.400s exists already; name another file with -o",
			       o->path);
	if (o->fd < 0)
		return err_errno(e, ERR_FAIL, "cannot create the recording %.400s", o->path);
	return give_to_caller(o->fd, e);
}

int output_close(struct output *o, struct err *e)
{
	struct stat sb;
	int ret = 0;

	if (o->fd < 0 || strcmp(o->path, "-") == 0)
		return 0;
	if (TEMP_FAILURE_RETRY(fsync(o->fd)) < 0)
		ret = err_errno(e, ERR_FAIL, "cannot write the recording %.400s to its disk",
				o->path);
	if (fstat(o->fd, &sb) == 0 && sb.st_size == 0)
		unlink(o->path);
	close(o->fd);
	o->fd = -1;
	return ret;
}
