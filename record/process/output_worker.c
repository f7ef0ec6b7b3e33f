// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * It has none of the recorder's file descriptors but the pipe, and ignores signals to stop: its end
 * is that of the pipe. It outlives a recorder that was killed, and writes what that had sent.
 */
#define _GNU_SOURCE /* TEMP_FAILURE_RETRY */
#include "output_worker.h"

#include "privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PIPE	  0
#define FILE_FD	  1
#define GO_MS	  5
#define LOOK_MS	  1000	       /* between two looks at the free space, at most */
#define LOOK_STEP (256u << 10) /* bytes written between two, at most */
#define PART	  (64u << 10)

static u64 now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The recorder sees that the file system does not block. */
static void responded(struct output_task *t)
{
	t->cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	t->alive = now(CLOCK_MONOTONIC);
}

static u64 free_bytes(void)
{
	struct statvfs v;
	struct stat sb;

	if (fstat(FILE_FD, &sb) < 0 || !S_ISREG(sb.st_mode) || fstatvfs(FILE_FD, &v) < 0)
		return UINT64_MAX;
	return (u64)v.f_bavail * v.f_frsize;
}

/* Under sudo the recording belongs to the person, not to root. */
static int give_to_caller(void)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

	if (!uid || !gid || geteuid() != 0)
		return 0;
	return fchown(FILE_FD, strtoul(uid, NULL, 10), strtoul(gid, NULL, 10));
}

static int create(struct output_task *t)
{
	int fd;

	if (t->try)
		return access(t->path, W_OK);
	if (!t->path[0])
		return 0;
	fd = TEMP_FAILURE_RETRY(
		open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0 || (fd != FILE_FD && (dup2(fd, FILE_FD) < 0 || close(fd) < 0)))
		return -1;
	t->step = OUTPUT_GIVE;
	return give_to_caller();
}

static int write_all(struct output_task *t, const char *data, size_t n)
{
	ssize_t done;

	for (; n > 0; data += done, n -= done) {
		done = TEMP_FAILURE_RETRY(write(FILE_FD, data, n));
		if (done < 0)
			return -1;
		responded(t);
	}
	return 0;
}

/* Until the recorder closes the pipe. */
static int copy(struct output_task *t)
{
	struct pollfd p = { PIPE, POLLIN, 0 };
	static char data[PART];
	size_t since = 0;
	bool rights = true;
	ssize_t n = 1;

	while (n > 0) {
		if (poll(&p, 1, LOOK_MS) <= 0 || since >= LOOK_STEP) {
			t->free = free_bytes();
			since = 0;
			responded(t);
			continue;
		}
		n = TEMP_FAILURE_RETRY(read(PIPE, data, sizeof(data)));
		if (n > 0 && rights)
			privileges_none(); /* it is open, and will not be empty */
		rights = rights && n <= 0;
		if (n > 0 && write_all(t, data, n) < 0)
			return -1;
		since += n > 0 ? n : 0;
	}
	return n < 0 ? -1 : 0;
}

static void remove_empty(const struct output_task *t)
{
	int why = errno;
	struct stat sb;

	if (t->path[0] && fstat(FILE_FD, &sb) == 0 && sb.st_size == 0)
		unlink(t->path);
	errno = why;
}

/* False: the recorder ended before. */
static bool wait_go(struct output_task *t)
{
	struct pollfd p = { PIPE, POLLIN, 0 };

	while (!t->go && poll(&p, 1, GO_MS) == 0)
		responded(t);
	return t->go;
}

/* Returns 0, or -1 with errno; step says in what. */
static int work(struct output_task *t)
{
	int ret;

	if (!wait_go(t))
		return 0;
	responded(t);
	if (create(t) < 0)
		return -1;
	if (t->try)
		return 0;
	t->free = free_bytes();
	t->step = OUTPUT_WRITE;
	responded(t);
	t->opened = true;
	ret = copy(t);
	if (ret == 0) {
		t->step = OUTPUT_SYNC;
		ret = t->path[0] ? TEMP_FAILURE_RETRY(fsync(FILE_FD)) : 0;
	}
	remove_empty(t);
	/* a server can be asked to close it, too */
	return ret < 0 ? -1 : close(FILE_FD);
}

void output_worker(struct output_task *t, int pipe)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "obsrec-output");
	if (dup2(pipe, PIPE) < 0 ||
	    syscall(SYS_close_range, t->path[0] ? FILE_FD : FILE_FD + 1, ~0u, 0u) < 0)
		_exit(1);
	if (work(t) < 0) {
		t->error = errno;
		_exit(1);
	}
	t->step = OUTPUT_ENDED;
	_exit(0);
}
