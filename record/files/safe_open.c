// SPDX-License-Identifier: GPL-2.0-or-later
/* The worker has no memory of the recorder's rings and none of its file descriptors. */
#define _GNU_SOURCE /* O_PATH, statx, memfd_create */
#include "safe_open.h"

#include "fd_message.h"
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define STUCK_MAX  16	 /* workers given up: then nothing more is tried */
#define STUCK_FULL 2	 /* so many times the full time is waited */
#define WAIT_MS	   200	 /* for a result */
#define WAIT_LESS  20	 /* the same, after STUCK_FULL workers */
#define WAIT_COPY  2000	 /* for a result, or progress, of one that copies */
#define WAIT_MOST  10000 /* if the worker is runnable, but gets no CPU, or has progress */
#define SLICE_MS   20	 /* between two looks at pending signals */
#define TEXT_MAX   4096
#define READ_ONLY  (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

enum op { OP_OPEN, OP_DIRECTORY, OP_STAT, OP_STAT_IN, OP_EXECUTABLE, OP_TEXT, OP_COPY, OP_PARTS };

struct request {
	enum op op;
	u32 owner;
	u64 max;
	safe_parts_fn parts; /* the worker is a fork: an address is the same there */
	char path[PATH_MAX];
};

struct reply {
	int error;
	u32 size;
	struct safe_stat stat;
	char text[TEXT_MAX];
};

bool safe_stopping(void)
{
	sigset_t set;

	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1 ||
		sigismember(&set, SIGHUP) == 1 || sigismember(&set, SIGQUIT) == 1);
}

/* ---- the worker ---- */

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
static int copy(const struct request *q, struct reply *a)
{
	char chunk[TEXT_MAX];
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

int safe_first(int fd, u64 max)
{
	int to = memfd_create("obsrec", MFD_CLOEXEC);
	char chunk[TEXT_MAX];
	u64 have = 0;
	ssize_t n = 1;

	while (to >= 0 && have < max && n > 0) {
		n = pread(fd, chunk, max - have < TEXT_MAX ? max - have : TEXT_MAX, have);
		if (n < 0 || (n > 0 && write(to, chunk, n) != n)) {
			close(to);
			return -1;
		}
		have += n;
	}
	return to;
}

/* Returns the copy; *file is for the worker to close, after its reply. */
static int copy_parts(const struct request *q, struct reply *a, int root, int *parked, int *file)
{
	struct stat sb;

	*file = open_regular(root, q->path, 0, &sb);
	if (*file < 0)
		return NO_DESCRIPTOR;
	a->stat = stat_of(&sb);
	*parked = fd_message_park(*file);
	return q->parts(*file, q->max);
}

/* Returns a file descriptor for the reply, or NO_DESCRIPTOR; a failure is in errno. */
static int work(const struct request *q, struct reply *a, int root)
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
		break; /* copy_parts() */
	}
	errno = EINVAL;
	return NO_DESCRIPTOR;
}

/* A stuck worker outlives the recorder: it must not keep its output or programs open. */
static void serve(int sock)
{
	int sent[FD_MESSAGE_MAX], got[FD_MESSAGE_MAX], file;
	struct request q;
	struct reply a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "obsrec-files");
	if (dup2(sock, 0) < 0 || syscall(SYS_close_range, 1u, ~0u, 0u) < 0)
		_exit(1);
	while (fd_message_receive(0, &q, sizeof(q), got, 0)) {
		memset(&a, 0, sizeof(a));
		sent[1] = file = NO_DESCRIPTOR;
		errno = 0;
		sent[0] = q.op == OP_PARTS ? copy_parts(&q, &a, got[0], &sent[1], &file)
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

/* ---- the recorder's side ---- */

static bool begin(struct safe_files *s)
{
	int pair[2];

	if (s->pid)
		return true;
	errno = ETIMEDOUT;
	if (s->stuck >= STUCK_MAX ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	s->pid = fork();
	if (s->pid == 0)
		serve(pair[1]);
	close(pair[1]);
	s->sock = pair[0];
	if (s->pid > 0)
		return true;
	s->pid = 0;
	close(pair[0]);
	return false;
}

void safe_end(struct safe_files *s)
{
	if (!s->pid)
		return;
	close(s->sock);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	s->pid = 0;
}

/* A stuck worker ends when its file system responds; it is not waited for. */
static void give_up(struct safe_files *s)
{
	close(s->sock);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, WNOHANG);
	s->pid = 0;
	s->stuck++;
}

/* False, with errno, if there is no result. */
static bool wait_for(struct safe_files *s, bool copies)
{
	int limit = s->stuck >= STUCK_FULL ? WAIT_LESS : copies ? WAIT_COPY : WAIT_MS;
	struct pollfd p = { s->sock, POLLIN, 0 };
	int waited, since = 0;
	u64 had = 0, has;

	for (waited = 0;; waited += SLICE_MS, since += SLICE_MS) {
		if (poll(&p, 1, SLICE_MS) > 0)
			return true;
		errno = EINTR;
		if (safe_stopping() && (!copies || waited >= WAIT_MS))
			return false;
		/* neither is one stuck that a slow disk feeds */
		has = copies ? procfs_progress(s->pid) : 0;
		since = has > had ? 0 : since;
		had = has;
		errno = ETIMEDOUT;
		/* a runnable worker is not stuck: the machine has no CPU for it */
		if (waited >= WAIT_MOST || (since >= limit && !procfs_runnable(s->pid)))
			return false;
	}
}

/* Returns 0 with the reply, and file descriptors or NO_DESCRIPTOR in fds. */
static int call(struct safe_files *s, struct request *q, int root, struct reply *a,
		int fds[FD_MESSAGE_MAX])
{
	const int with[FD_MESSAGE_MAX] = { root, NO_DESCRIPTOR };
	int why;

	fds[0] = fds[1] = NO_DESCRIPTOR;
	if (!begin(s))
		return -1;
	if (!fd_message_send(s->sock, q, sizeof(*q), with)) {
		errno = EIO;
		goto lost;
	}
	if (!wait_for(s, q->op == OP_PARTS))
		goto lost;
	if (!fd_message_receive(s->sock, a, sizeof(*a), fds, 0)) {
		errno = EIO;
		goto lost;
	}
	errno = a->error;
	return a->error ? -1 : 0;
lost:
	why = errno;
	give_up(s);
	errno = why;
	return -1;
}

static int call_path(struct safe_files *s, enum op op, int root, const char *path, struct reply *a)
{
	struct request q = { .op = op };
	int fds[FD_MESSAGE_MAX];

	if (strlen(path) >= sizeof(q.path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(q.path, path, strlen(path) + 1);
	return call(s, &q, root, a, fds) < 0 ? -1 : fds[0];
}

int safe_open(struct safe_files *s, int root, const char *path)
{
	struct reply a;

	return call_path(s, OP_OPEN, root, path, &a);
}

int safe_open_dir(struct safe_files *s, const char *path)
{
	struct reply a;

	return call_path(s, OP_DIRECTORY, -1, path, &a);
}

int safe_stat(struct safe_files *s, const char *path, struct safe_stat *ret)
{
	struct reply a = { .error = -1 };

	errno = 0;
	call_path(s, OP_STAT, -1, path, &a);
	*ret = a.stat;
	return a.error ? -1 : 0;
}

int safe_stat_in(struct safe_files *s, int root, const char *path, struct safe_stat *ret)
{
	struct reply a = { .error = -1 };

	errno = 0;
	call_path(s, OP_STAT_IN, root, path, &a);
	*ret = a.stat;
	return a.error ? -1 : 0;
}

int safe_executable(struct safe_files *s, const char *path)
{
	struct reply a = { .error = -1 };

	call_path(s, OP_EXECUTABLE, -1, path, &a);
	return a.error ? -1 : 0;
}

ssize_t safe_text(struct safe_files *s, const char *path, char *text, size_t size)
{
	struct reply a = { .error = -1 };

	text[0] = '\0';
	call_path(s, OP_TEXT, -1, path, &a);
	if (a.error)
		return -1;
	a.size = a.size < size ? a.size : size - 1;
	memcpy(text, a.text, a.size);
	text[a.size] = '\0';
	return a.size;
}

char *safe_read(struct safe_files *s, const char *path, size_t max, uid_t owner)
{
	struct request q = { .op = OP_COPY, .owner = owner, .max = max };
	struct reply a;
	char *text;
	int fds[FD_MESSAGE_MAX];
	ssize_t n;

	snprintf(q.path, sizeof(q.path), "%s", path);
	if (call(s, &q, -1, &a, fds) < 0)
		return NULL;
	text = a.stat.ino <= max ? malloc(a.stat.ino + 1) : NULL;
	n = text ? pread(fds[0], text, a.stat.ino, 0) : -1;
	fd_message_close(fds);
	if (n >= 0) {
		text[n] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

int safe_parts(struct safe_files *s, int root, const char *path, safe_parts_fn parts, u64 max,
	       struct safe_copy *ret)
{
	struct request q = { .op = OP_PARTS, .parts = parts, .max = max };
	int fds[FD_MESSAGE_MAX], n = snprintf(q.path, sizeof(q.path), "%s", path), why;
	struct reply a;

	*ret = (struct safe_copy){ .image = NO_DESCRIPTOR, .parked = NO_DESCRIPTOR };
	errno = ENAMETOOLONG;
	if (n >= (int)sizeof(q.path))
		return -1;
	if (call(s, &q, root, &a, fds) < 0) {
		why = errno;
		fd_message_close(fds);
		errno = why;
		return -1;
	}
	*ret = (struct safe_copy){ .image = fds[0], .parked = fds[1], .stat = a.stat };
	return 0;
}
