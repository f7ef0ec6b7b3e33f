// SPDX-License-Identifier: GPL-2.0-or-later
/* The worker has no memory of the recorder's rings and none of its file descriptors. */
#define _GNU_SOURCE /* O_PATH, statx, memfd_create */
#include "safe_worker.h"

#include "fd_message.h"
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define READ_ONLY (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int open_at(int root, const char *path, u64 flags)
{
	struct open_how how = { .flags = flags, .resolve = RESOLVE_IN_ROOT };

	if (root < 0)
		return open(path, (int)flags);
	return syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Looks before it opens: to open a FIFO or a device has effects. */
static int open_regular(int root, const char *path, u64 more, struct stat *sb)
{
	int place = open_at(root, path, O_PATH | O_CLOEXEC | more), fd = -1, why;
	struct statfs asked;
	char link[64];

	if (place < 0 || fstat(place, sb) < 0)
		goto out;
	if (!S_ISREG(sb->st_mode)) {
		errno = S_ISDIR(sb->st_mode) ? EISDIR : EINVAL;
		goto out;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	fd = open(link, READ_ONLY);
	/* a client may open without its server, which each read needs: this asks it, but no disk */
	if (fd >= 0)
		fstatfs(fd, &asked);
out:
	why = errno;
	if (place >= 0)
		close(place);
	errno = why;
	return fd;
}

static int look(const char *path, struct safe_stat *ret)
{
	struct statx x;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  STATX_TYPE | STATX_INO | STATX_UID, &x) < 0)
		return -1;
	*ret = (struct safe_stat){ .ino = x.stx_ino,
				   .dev = x.stx_dev_major << 20 | x.stx_dev_minor,
				   .mode = x.stx_mode,
				   .uid = x.stx_uid };
	return 0;
}

static struct safe_stat stat_of(const struct stat *sb)
{
	return (struct safe_stat){ .ino = sb->st_ino,
				   .size = sb->st_size,
				   .dev = major(sb->st_dev) << 20 | minor(sb->st_dev),
				   .mode = sb->st_mode,
				   .uid = sb->st_uid };
}

static int look_in(int root, const char *path, struct safe_stat *ret)
{
	int place = open_at(root, path, O_PATH | O_CLOEXEC), failed;
	struct stat sb;

	if (place < 0)
		return -1;
	failed = fstat(place, &sb);
	if (failed == 0)
		*ret = stat_of(&sb);
	close(place);
	return failed;
}

static int executable(const char *path)
{
	struct stat sb;

	if (stat(path, &sb) < 0 || access(path, X_OK) < 0)
		return -1;
	errno = EACCES;
	return S_ISREG(sb.st_mode) ? 0 : -1;
}

/* A copy in memory: reading the file itself could block. */
static int copy(const struct safe_request *q, struct safe_reply *a)
{
	char chunk[SAFE_TEXT_MAX];
	struct stat sb;
	int from = open_regular(-1, q->path, O_NOFOLLOW, &sb), to = -1;
	u64 have = 0;
	ssize_t n;

	if (from < 0)
		return -1;
	errno = EPERM;
	if (sb.st_uid != q->owner && sb.st_uid != 0)
		goto fail;
	to = memfd_create("obsrec", MFD_CLOEXEC);
	while (to >= 0 && (n = read(from, chunk, sizeof(chunk))) != 0) {
		have += n > 0 ? n : 0;
		errno = have > q->max ? EFBIG : errno;
		if (n < 0 || have > q->max || write(to, chunk, n) != n)
			goto fail;
	}
	a->stat.ino = have;
	close(from);
	return to;
fail:
	n = errno;
	close(from);
	if (to >= 0)
		close(to);
	errno = n;
	return -1;
}

int safe_first(int fd, u64 max, struct err *e)
{
	int to = memfd_create("obsrec", MFD_CLOEXEC);
	char chunk[SAFE_TEXT_MAX];
	u64 have = 0;
	ssize_t n = 1;

	(void)e; /* from where the file is read next */
	while (to >= 0 && have < max && n > 0) {
		n = read(fd, chunk, max - have < SAFE_TEXT_MAX ? max - have : SAFE_TEXT_MAX);
		if (n < 0 || (n > 0 && write(to, chunk, n) != n)) {
			close(to);
			return -1;
		}
		have += n;
	}
	return to;
}

/* Its place: to close that asks no server. */
static int place_of(int fd)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return open(link, O_PATH | O_CLOEXEC);
}

/* Returns the copy; *file is for the worker to close, after its reply. */
static int copy_parts(const struct safe_request *q, struct safe_reply *a, int root, int *held,
		      int *file)
{
	struct err e = { 0 };
	struct stat sb;
	int image, why;

	*file = open_regular(root, q->path, 0, &sb);
	if (*file < 0)
		return NO_DESCRIPTOR;
	a->stat = stat_of(&sb);
	*held = q->op == OP_PLACE ? place_of(*file) : fd_message_park(*file);
	errno = 0;
	image = q->from && lseek(*file, q->from, SEEK_SET) < 0 ? -1 : q->parts(*file, q->max, &e);
	why = image < 0 && !errno ? EIO : errno;
	memcpy(a->text, e.text, sizeof(e.text));
	errno = why;
	return image;
}

/* Returns a file descriptor for the reply, or NO_DESCRIPTOR; a failure is in errno. */
static int work(const struct safe_request *q, struct safe_reply *a, int root)
{
	struct stat sb;
	ssize_t n;

	errno = 0;
	switch (q->op) {
	case OP_OPEN:
		return open_regular(root, q->path, 0, &sb);
	case OP_DIRECTORY:
		return open(q->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	case OP_STAT:
		if (look(q->path, &a->stat) == 0)
			errno = 0;
		return NO_DESCRIPTOR;
	case OP_STAT_IN:
		if (look_in(root, q->path, &a->stat) == 0)
			errno = 0;
		return NO_DESCRIPTOR;
	case OP_EXECUTABLE:
		if (executable(q->path) == 0)
			errno = 0;
		return NO_DESCRIPTOR;
	case OP_TEXT:
		n = procfs_read(q->path, a->text, sizeof(a->text));
		a->size = n > 0 ? n : 0;
		errno = n < 0 ? errno : 0;
		return NO_DESCRIPTOR;
	case OP_COPY:
		return copy(q, a);
	case OP_PARTS:
	case OP_PLACE:
		break; /* copy_parts() */
	}
	errno = EINVAL;
	return NO_DESCRIPTOR;
}

/* A stuck worker outlives the recorder: it must not keep its output or programs open. */
void safe_worker(int sock)
{
	int sent[FD_MESSAGE_MAX], got[FD_MESSAGE_MAX], file;
	struct safe_request q;
	struct safe_reply a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "obsrec-files");
	if (dup2(sock, 0) < 0 || syscall(SYS_close_range, 1u, ~0u, 0u) < 0)
		_exit(1);
	while (fd_message_receive(0, &q, sizeof(q), got, 0)) {
		memset(&a, 0, sizeof(a));
		sent[1] = file = NO_DESCRIPTOR;
		errno = 0;
		sent[0] = q.op >= OP_PARTS ? copy_parts(&q, &a, got[0], &sent[1], &file)
					   : work(&q, &a, got[0]);
		a.error = sent[0] >= 0 ? 0 : errno;
		if (!fd_message_send(0, &a, sizeof(a), sent))
			_exit(1);
		fd_message_close(sent);
		fd_message_close(got);
		if (file >= 0)
			close(file);
	}
	_exit(0);
}
