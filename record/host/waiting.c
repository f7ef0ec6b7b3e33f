// SPDX-License-Identifier: GPL-2.0-or-later
#include "waiting.h"

#include "sock_diag.h"

#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

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

static int take(void *arg, const void *fixed, struct rtattr *a, int left, struct err *e)
{
	const struct inet_diag_msg *m = fixed;
	struct socket_info *i = (struct socket_info *)sockets_find(arg, m->idiag_inode);

	(void)e;
	for (; i && RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == INET_DIAG_INFO)
			waiting_take(i, RTA_DATA(a), RTA_PAYLOAD(a));
	return 0;
}

void waiting_read(struct sockets *s, int diag)
{
	static const u8 families[] = { AF_INET, AF_INET6 };
	struct inet_diag_req_v2 established = { .sdiag_protocol = IPPROTO_TCP,
						.idiag_ext = 1 << (INET_DIAG_INFO - 1),
						.idiag_states =
							1 << ESTABLISHED | 1 << CLOSE_WAIT };
	size_t i;

	for (i = 0; diag >= 0 && i < sizeof(families); i++) {
		established.sdiag_family = families[i];
		sock_diag_dump(diag, &established, sizeof(established),
			       sizeof(struct inet_diag_msg), take, s, NULL);
	}
}
