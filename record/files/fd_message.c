// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC */
#include "fd_message.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool fd_message_send(int sock, void *data, size_t size, const int fds[FD_MESSAGE_MAX])
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(FD_MESSAGE_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { data, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int n = 0, i, sent[FD_MESSAGE_MAX];
	struct cmsghdr *c;

	for (i = 0; i < FD_MESSAGE_MAX; i++)
		if (fds[i] >= 0)
			sent[n++] = fds[i];
	if (n) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), sent, n * sizeof(int));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL) == (ssize_t)size;
}

bool fd_message_receive(int sock, void *data, size_t size, int fds[FD_MESSAGE_MAX], int flags)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(FD_MESSAGE_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { data, size };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | flags);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	fds[0] = fds[1] = NO_DESCRIPTOR;
	if (n > 0 && c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n == (ssize_t)size;
}

void fd_message_close(const int fds[FD_MESSAGE_MAX])
{
	int i;

	for (i = 0; i < FD_MESSAGE_MAX; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int fd_message_park(int fd)
{
	const int fds[FD_MESSAGE_MAX] = { fd, NO_DESCRIPTOR };
	int pair[2];
	char one = 0;
	bool sent;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return NO_DESCRIPTOR;
	sent = fd_message_send(pair[0], &one, 1, fds);
	close(pair[0]);
	if (sent)
		return pair[1];
	close(pair[1]);
	return NO_DESCRIPTOR;
}

int fd_message_unpark(int parked)
{
	int fds[FD_MESSAGE_MAX];
	char one;

	/* it stays in the message: another one may want it later */
	return fd_message_receive(parked, &one, 1, fds, MSG_PEEK) ? fds[0] : NO_DESCRIPTOR;
}
