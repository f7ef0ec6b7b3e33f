// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flag O_NONBLOCK belongs to all that share the open file, the recorded command too. So each
 * write is of what a pipe takes at once if it takes anything, after a look whether it does.
 */
#define _GNU_SOURCE /* fopencookie */
#include "messages.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 200

static ssize_t put(void *cookie, const char *text, size_t n)
{
	static int wait_ms = WAIT_MS;
	struct pollfd p = { STDERR_FILENO, POLLOUT, 0 };
	size_t at = 0, part;
	ssize_t done;

	(void)cookie;
	while (at < n) {
		if (poll(&p, 1, wait_ms) <= 0) {
			wait_ms = 0;
			return n; /* an error would end the stream */
		}
		part = n - at < PIPE_BUF ? n - at : PIPE_BUF;
		done = send(STDERR_FILENO, text + at, part, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (done < 0 && errno == ENOTSOCK)
			done = write(STDERR_FILENO, text + at, part);
		if (done < 0 && errno != EINTR)
			return n;
		at += done > 0 ? done : 0;
		wait_ms = WAIT_MS;
	}
	return n;
}

void messages_start(void)
{
	const cookie_io_functions_t calls = { .write = put };
	FILE *f = fopencookie(NULL, "w", calls);

	if (!f)
		return;
	setvbuf(f, NULL, _IOLBF, BUFSIZ);
	stderr = f;
}
