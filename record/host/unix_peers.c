// SPDX-License-Identifier: GPL-2.0-or-later
#include "unix_peers.h"

#include "sock_diag.h"

#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>

#define ESTABLISHED 1

void unix_peers_take(struct sockets *s, u32 ino, u32 peer)
{
	struct socket_info *one = (struct socket_info *)sockets_find(s, ino);
	const struct socket_info *other = sockets_find(s, peer);
	bool receives = other && other->socktype == SOCK_DGRAM && other->path;

	if (one && one->family == AF_UNIX && one->role == ROLE_UNKNOWN && other &&
	    other->family == AF_UNIX && (other->role == ROLE_ACCEPTED || receives)) {
		one->role = ROLE_CONNECTED;
		one->path = other->path;
	}
}

static int take(void *arg, const void *fixed, struct rtattr *a, int left, struct err *e)
{
	const struct unix_diag_msg *m = fixed;
	u32 peer;

	(void)e;
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type != UNIX_DIAG_PEER || RTA_PAYLOAD(a) < sizeof(peer))
			continue;
		memcpy(&peer, RTA_DATA(a), sizeof(peer));
		unix_peers_take(arg, m->udiag_ino, peer);
	}
	return 0;
}

void unix_peers_read(struct sockets *s, int diag)
{
	const struct unix_diag_req established = { .sdiag_family = AF_UNIX,
						   .udiag_states = 1 << ESTABLISHED,
						   .udiag_show = UDIAG_SHOW_PEER };

	if (diag >= 0)
		sock_diag_dump(diag, &established, sizeof(established),
			       sizeof(struct unix_diag_msg), take, s, NULL);
}
