/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A turn on a server's socket, and a question on a connected one. */
#ifndef OBS_TURN_H
#define OBS_TURN_H

#include "format/event.h"

struct turn {
	struct service *service; /* NULL: not looked up yet */
	u64 first_recv;		 /* 0: none yet */
	u64 last_send;		 /* 0: none yet */
	u32 recvs, sends;
	u64 recv_bytes, send_bytes;
	u32 tid;
	u32 receiver; /* thread of the first receive */
	struct turn_call {
		struct socket_use *use;
		u32 n;
	} calls[4]; /* how often each system call occurred; a fifth is not counted */
};

/* What was asked and not answered. */
struct asking {
	u64 last_send;
	u32 sends;
	u64 bytes;
};

#endif
