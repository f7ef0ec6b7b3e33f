// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* pipe2 */
#include "sleepers.h"

#include "record/files/safe_open.h"
#include "record/pump/records.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_MAX (32u << 10) /* the kernel hands out no more at once */

struct taking {
	sleeper_fn fn;
	void *arg;
	size_t n;
	_Alignas(8) u8 bytes[2 * READ_MAX]; /* less than a stack is left in it */
};

/* Forked from a process with threads: system calls alone. */
static _Noreturn void serve(int fd, int out)
{
	static u8 part[READ_MAX];
	int low = fd < out ? fd : out, high = fd < out ? out : fd;
	ssize_t n, at, put = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (low)
		syscall(SYS_close_range, 0, low - 1, 0u);
	if (high > low + 1)
		syscall(SYS_close_range, low + 1, high - 1, 0u);
	syscall(SYS_close_range, high + 1, ~0u, 0u);
	while (put >= 0 && (n = read(fd, part, sizeof(part))) > 0)
		for (at = 0; at < n && put >= 0; at += put)
			put = write(out, part + at, n - at);
	_exit(0);
}

/* Hands on the whole ones; the rest stays. False: these are none. */
static bool hand_on(struct taking *t)
{
	const struct raw_stack *raw;
	size_t at = 0, size;

	while (t->n - at >= sizeof(*raw)) {
		raw = (const struct raw_stack *)(t->bytes + at);
		size = sizeof(*raw) + raw->n_stack;
		if (raw->kind != RAW_SLEEPER || raw->n_stack > SLEEPER_BYTES || raw->n_stack % 8)
			return false;
		if (t->n - at < size)
			break;
		t->fn(t->arg, raw);
		at += size;
	}
	t->n -= at;
	memmove(t->bytes, t->bytes + at, t->n);
	return true;
}

/* False: no more will come, or not in time. */
static bool take_some(struct taking *t, int from, u64 until)
{
	struct pollfd look = { from, POLLIN, 0 };
	u64 now = records_now();
	ssize_t n;

	if (now >= until)
		return false;
	n = poll(&look, 1, (int)((until - now) / 1000000) + 1);
	if (n < 0)
		return errno == EINTR;
	if (n == 0)
		return false;
	n = read(from, t->bytes + t->n, sizeof(t->bytes) - t->n);
	if (n < 0)
		return errno == EINTR;
	t->n += n;
	return n > 0 && hand_on(t);
}

void sleepers_read(int fd, u64 until, sleeper_fn fn, void *arg)
{
	static struct taking t; /* large for the stack of a thread */
	int pipe[2];
	pid_t pid;

	t.fn = fn;
	t.arg = arg;
	t.n = 0;
	if (pipe2(pipe, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0)
		serve(fd, pipe[1]);
	close(pipe[1]);
	while (pid > 0 && take_some(&t, pipe[0], until))
		;
	close(pipe[0]);
	if (pid > 0)
		safe_kill(pid);
}
