/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request on a server's socket, and a question on a connected one. */
#pragma once

#include "format/event.h"

#include <stdbool.h>

struct request {
	struct service *service; /* NULL: not looked up yet */
	u64 first_recv;		 /* 0: none yet */
	u64 first_send;		 /* entry; 0: none yet, or not seen */
	u64 last_send;		 /* 0: none yet */
	u32 recvs, sends;
	u64 recv_bytes, send_bytes;
	u32 tid;
	u32 receiver; /* thread of the first receive */
	u64 arrival;  /* of its first byte in the kernel; 0: not known */
	u64 latency;  /* as counted in a window at its last send; 0: not yet */
	u32 answered; /* thread that answered the one before on this socket; 0: none */
	u64 last_recv;
	u64 rest;      /* all that had arrived was read, and more arrived later, ns */
	u64 late;      /* of a body that arrived after the last send: rest if a send follows, ns */
	u64 full;      /* since when sends would block; 0: they do not */
	u64 blocked;   /* ns of that, until all was acknowledged */
	u64 held;      /* by the socket, after the last send: known when it ends */
	u64 wakeups;   /* of the thread of the last receive, then */
	u32 reader;    /* that thread */
	u32 announced; /* bytes after the first receive with some to come */
	u32 to_come;   /* and after that at counted, by their own length; 0: not known */
	u64 counted;
	bool failed; /* an answer could not be written */
	bool soon;   /* it answered without a sleep after that */
	struct request_call {
		struct socket_use *use;
		u32 n;
	} calls[4]; /* how often each system call occurred; a fifth is not counted */
};

/* What was asked and not answered. */
struct asking {
	u64 connect;	/* before it: a connect in progress; 0: none */
	u64 answering;	/* last send of the question before, while its answer comes; 0: none */
	u64 first_send; /* entry; 0: not seen */
	u64 last_send;
	u32 sends;
	u32 tid; /* of the last send */
	u64 bytes;
};

/* All of a connected socket: sends without an answer, summed over time. */
struct outstanding {
	u64 sends, answers;
	u64 most;   /* at one time */
	u64 waited; /* ns, of all */
	u64 at;	    /* up to when */
};
