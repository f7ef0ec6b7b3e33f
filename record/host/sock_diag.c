// SPDX-License-Identifier: GPL-2.0-or-later
#include "sock_diag.h"

#include "format/event.h"

#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define WAIT_US	    100000
#define REPLY_BYTES (32 << 10) /* as the kernel sends at most */
#define REQUEST_MAX 64

int sock_diag_open(void)
{
	struct timeval limit = { .tv_usec = WAIT_US };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static bool ask(int diag, u32 number, const void *request, size_t n)
{
	struct {
		struct nlmsghdr h;
		char request[REQUEST_MAX];
	} question = { .h = { .nlmsg_len = NLMSG_LENGTH(n),
			      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			      .nlmsg_seq = number } };
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	memcpy(question.request, request, n);
	return sendto(diag, &question, NLMSG_LENGTH(n), 0, (const void *)&kernel, sizeof(kernel)) ==
	       (ssize_t)NLMSG_LENGTH(n);
}

int sock_diag_dump(int diag, const void *request, size_t n, size_t size, sock_diag_fn *take,
		   void *arg, struct err *e)
{
	static u32 number; /* what an earlier dump left is not taken for this one */
	char *reply =
		n <= REQUEST_MAX && ask(diag, ++number, request, n) ? malloc(REPLY_BYTES) : NULL;
	const struct nlmsghdr *h;
	bool more = reply;
	int ret = 0, left;
	ssize_t got;

	while (more && ret == 0) {
		got = recv(diag, reply, REPLY_BYTES, 0);
		more = got > 0;
		for (h = (const void *)reply; ret == 0 && more && NLMSG_OK(h, got);
		     h = NLMSG_NEXT(h, got)) {
			if (h->nlmsg_seq != number)
				continue;
			more = h->nlmsg_type == SOCK_DIAG_BY_FAMILY;
			left = (int)h->nlmsg_len - (int)NLMSG_SPACE(size);
			if (more && left >= 0)
				ret = take(arg, NLMSG_DATA(h),
					   (struct rtattr *)((char *)h + NLMSG_SPACE(size)), left,
					   e);
		}
	}
	free(reply);
	return ret < 0 ? ret : 0;
}
