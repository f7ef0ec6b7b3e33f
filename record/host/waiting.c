// SPDX-License-Identifier: GPL-2.0-or-later
#include "waiting.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define REPLY_BYTES (32 << 10) /* as the kernel sends at most */
#define ESTABLISHED 1
#define CLOSE_WAIT  8
#define MS	    1000000ull

/*
 * The kernel counts from the times of the last data, in jiffies: equal ones prove nothing. Before
 * the first send, its time is that of the connection, which the first request may come with.
 */
void waiting_take(struct socket_info *i, const void *info, size_t size)
{
	struct tcp_info t = { .tcpi_state = 0 };

	memcpy(&t, info, size < sizeof(t) ? size : sizeof(t));
	if (!t.tcpi_bytes_received ||
	    (t.tcpi_data_segs_out && t.tcpi_last_data_recv >= t.tcpi_last_data_sent))
		return;
	i->asked = t.tcpi_last_data_recv * MS + 1;
	i->answered = t.tcpi_bytes_acked > 1; /* the SYN counts as 1 */
}

static struct socket_info *info_of(struct sockets *s, u64 ino)
{
	return (struct socket_info *)sockets_find(s, ino);
}

static void take(struct sockets *s, const struct nlmsghdr *h)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	int left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));
	struct rtattr *a = (struct rtattr *)(m + 1);
	struct socket_info *i = left < 0 ? NULL : info_of(s, m->idiag_inode);

	for (; i && RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == INET_DIAG_INFO)
			waiting_take(i, RTA_DATA(a), RTA_PAYLOAD(a));
}

static bool ask(int diag, u8 family)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} question = {
		.h = { .nlmsg_len = sizeof(question),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.r = { .sdiag_family = family,
		       .sdiag_protocol = IPPROTO_TCP,
		       .idiag_ext = 1 << (INET_DIAG_INFO - 1),
		       .idiag_states = 1 << ESTABLISHED | 1 << CLOSE_WAIT },
	};
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	return sendto(diag, &question, sizeof(question), 0, (const void *)&kernel,
		      sizeof(kernel)) == sizeof(question);
}

static void read_family(struct sockets *s, int diag, u8 family)
{
	char *reply = ask(diag, family) ? malloc(REPLY_BYTES) : NULL;
	const struct nlmsghdr *h;
	bool more = reply;
	ssize_t n;

	while (more) {
		n = recv(diag, reply, REPLY_BYTES, 0);
		more = n > 0;
		for (h = (const void *)reply; more && NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			more = h->nlmsg_type == SOCK_DIAG_BY_FAMILY;
			if (more)
				take(s, h);
		}
	}
	free(reply);
}

void waiting_read(struct sockets *s, int diag)
{
	if (diag < 0)
		return;
	read_family(s, diag, AF_INET);
	read_family(s, diag, AF_INET6);
}
