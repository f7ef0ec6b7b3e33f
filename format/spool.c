// SPDX-License-Identifier: GPL-2.0-or-later
/* What cannot be read twice, as a file. */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool spool(int to, int from)
{
	char chunk[1 << 16];
	ssize_t n, done, at;

	for (;;) {
		n = read(from, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		for (at = 0; at<n; at += done> 0 ? done : 0) {
			done = write(to, chunk + at, n - at);
			if (done < 0 && errno != EINTR)
				return false;
		}
	}
}

/* A copy of what comes from a pipe. */
static int spool_pipe(int from, struct err *e)
{
	FILE *f = tmpfile();
	int fd;

	if (!f)
		return err_errno(e, ERR_FAIL,
				 "cannot make a temporary file for what the pipe brings");
	fd = dup(fileno(f));
	if (fd < 0 || !spool(fd, from)) {
		err_errno(e, ERR_FAIL, "cannot read the pipe into a temporary file");
		if (fd >= 0)
			close(fd);
		fd = ERR_FAIL;
	}
	fclose(f);
	return fd;
}

int spool_open(const char *path, struct err *e)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC), copy;
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) < 0) {
		err_errno(e, ERR_FAIL, "cannot open the recording %.400s", path);
		goto fail;
	}
	if (S_ISDIR(sb.st_mode)) {
		err_set(e, ERR_FAIL, "%.400s is a directory, not a recording", path);
		goto fail;
	}
	if (!standard && !S_ISFIFO(sb.st_mode))
		return fd;
	copy = spool_pipe(fd, e);
	close(fd);
	return copy;
fail:
	if (fd >= 0)
		close(fd);
	return ERR_FAIL;
}
