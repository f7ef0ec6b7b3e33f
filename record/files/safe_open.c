// SPDX-License-Identifier: GPL-2.0-or-later
/* The recorder's side of safe_worker.c. */
#include "safe_open.h"

#include "fd_message.h"
#include "procfs.h"
#include "safe_worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STUCK_MAX  16	 /* workers given up: then nothing more is tried */
#define STUCK_FULL 2	 /* so many times the full time is waited */
#define WAIT_MS	   200	 /* for a result */
#define WAIT_LESS  20	 /* the same, after STUCK_FULL workers */
#define WAIT_COPY  2000	 /* for a result, or progress, of one that copies */
#define WAIT_MOST  10000 /* if the worker is runnable, but gets no CPU, or has progress */
#define WAIT_START 60000 /* the same, before a recording begins */
#define SLICE_MS   20	 /* between two looks at pending signals */
#define ENDS_MS	   200	 /* for a worker that is killed */

bool safe_stopping(void)
{
	sigset_t set;

	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1 ||
		sigismember(&set, SIGHUP) == 1 || sigismember(&set, SIGQUIT) == 1);
}

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
		safe_worker(pair[1]);
	close(pair[1]);
	s->sock = pair[0];
	if (s->pid > 0)
		return true;
	s->pid = 0;
	close(pair[0]);
	return false;
}

void safe_kill(pid_t pid)
{
	int waited;

	kill(pid, SIGKILL);
	for (waited = 0; waitpid(pid, NULL, WNOHANG) == 0 && waited < ENDS_MS; waited++)
		poll(NULL, 0, 1);
}

void safe_end(struct safe_files *s)
{
	if (!s->pid)
		return;
	close(s->sock);
	safe_kill(s->pid);
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
static bool wait_for(struct safe_files *s, enum safe_op op)
{
	bool copies = op >= OP_PARTS;
	int most = op == OP_PLACE ? WAIT_START : WAIT_MOST;
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
		if (waited >= most || (since >= limit && !procfs_runnable(s->pid)))
			return false;
	}
}

/* Returns 0 with the reply, and file descriptors or NO_DESCRIPTOR in fds. */
static int call(struct safe_files *s, struct safe_request *q, int root, struct safe_reply *a,
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
	if (!wait_for(s, q->op))
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

static int call_path(struct safe_files *s, enum safe_op op, int root, const char *path,
		     struct safe_reply *a)
{
	struct safe_request q = { .op = op };
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
	struct safe_reply a;

	return call_path(s, OP_OPEN, root, path, &a);
}

int safe_open_dir(struct safe_files *s, const char *path)
{
	struct safe_reply a;

	return call_path(s, OP_DIRECTORY, -1, path, &a);
}

int safe_stat(struct safe_files *s, const char *path, struct safe_stat *ret)
{
	struct safe_reply a = { .error = -1 };

	errno = 0;
	call_path(s, OP_STAT, -1, path, &a);
	*ret = a.stat;
	return a.error ? -1 : 0;
}

int safe_stat_in(struct safe_files *s, int root, const char *path, struct safe_stat *ret)
{
	struct safe_reply a = { .error = -1 };

	errno = 0;
	call_path(s, OP_STAT_IN, root, path, &a);
	*ret = a.stat;
	return a.error ? -1 : 0;
}

int safe_executable(struct safe_files *s, const char *path)
{
	struct safe_reply a = { .error = -1 };

	call_path(s, OP_EXECUTABLE, -1, path, &a);
	return a.error ? -1 : 0;
}

ssize_t safe_text(struct safe_files *s, const char *path, char *text, size_t size)
{
	struct safe_reply a = { .error = -1 };

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
	struct safe_request q = { .op = OP_COPY, .owner = owner, .max = max };
	struct safe_reply a;
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
		if (strlen(text) == (size_t)n)
			return text;
		errno = EINVAL; /* its length would not be what it takes */
	}
	free(text);
	return NULL;
}

static int call_parts(struct safe_files *s, int root, const char *path, struct safe_request *q,
		      struct safe_copy *ret)
{
	int fds[FD_MESSAGE_MAX], n = snprintf(q->path, sizeof(q->path), "%s", path), why;
	struct safe_reply a;

	*ret = (struct safe_copy){ NO_DESCRIPTOR, NO_DESCRIPTOR, NO_DESCRIPTOR, .why = { 0 } };
	errno = ENAMETOOLONG;
	if (n >= (int)sizeof(q->path))
		return -1;
	a.text[0] = '\0';
	if (call(s, q, root, &a, fds) < 0) {
		why = errno;
		fd_message_close(fds);
		snprintf(ret->why.text, sizeof(ret->why.text), "%s", a.text);
		errno = why;
		return -1;
	}
	ret->image = fds[0];
	ret->stat = a.stat;
	*(q->op == OP_PLACE ? &ret->place : &ret->parked) = fds[1];
	return 0;
}

int safe_parts(struct safe_files *s, int root, const char *path, safe_parts_fn parts, u64 max,
	       struct safe_copy *ret)
{
	struct safe_request q = { .op = OP_PARTS, .parts = parts, .max = max };

	return call_parts(s, root, path, &q, ret);
}

int safe_parts_place(struct safe_files *s, int root, const char *path, safe_parts_fn parts, u64 max,
		     struct safe_copy *ret)
{
	struct safe_request q = { .op = OP_PLACE, .parts = parts, .max = max };
	int failed = call_parts(s, root, path, &q, ret);

	/* it closes the file, and its server may not answer that: not the next call is to wait */
	if (!failed)
		safe_end(s);
	return failed;
}

char *safe_long_text(struct safe_files *s, int root, const char *path, u64 max, size_t *length)
{
	return safe_added_text(s, root, path, 0, max, length);
}

char *safe_added_text(struct safe_files *s, int root, const char *path, u64 from, u64 max,
		      size_t *length)
{
	struct safe_request q = { .op = OP_PARTS, .parts = safe_first, .from = from, .max = max };
	struct safe_copy copy;
	char *text = NULL;
	off_t size;
	ssize_t n;

	if (call_parts(s, root, path, &q, &copy) < 0)
		return NULL;
	size = lseek(copy.image, 0, SEEK_END);
	if (size >= 0)
		text = malloc(size + 1);
	n = text ? pread(copy.image, text, size, 0) : -1;
	if (copy.parked >= 0)
		close(copy.parked);
	close(copy.image);
	if (n >= 0) {
		text[n] = '\0';
		*length = n;
		return text;
	}
	free(text);
	errno = ENOMEM;
	return NULL;
}
