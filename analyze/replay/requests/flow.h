/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receives and sends in order of time: how many, and the gaps between them, in windows of which
 * only one is open. Of one process on a server socket (a row of table service), or of all processes
 * that answer there (a row of table server).
 */
#pragma once

#include "analyze/replay/track.h"
#include "analyze/stats/moments.h"

enum { RECV, SEND };

/* Zero-initialised it is empty. */
struct flow {
	u64 n[2], first[2], last[2];
	/* the open window */
	u64 window, window_n[2], window_requests, window_received;
	struct moments gaps[2];
};

/* Goes on to the window of ts; what was open becomes a row of table t, request_window or
 * server_window, with this id. */
void flow_go_to(struct replay *r, struct flow *f, enum table_id t, u32 id, u64 ts);
/* Counts a receive or a send, after flow_go_to. A gap in which events were lost is none. */
void flow_note(struct replay *r, struct flow *f, int way, u64 ts);
/* Writes the open window. */
void flow_write(struct replay *r, struct flow *f, enum table_id t, u32 id);

/*
 * All processes of one name that answer on one port (or on sockets in the file system): the
 * server that they are together. Servers live as long as the replay.
 */
struct server;

/* NULL if there are too many. kind: any number that distinguishes protocols. */
int server_of(struct replay *r, struct server **ret, const struct process *p, u8 kind, u16 port,
	      struct err *e);
u32 server_id(const struct server *s);
void server_note(struct replay *r, struct server *s, int way, u64 ts);
/* A request got its first answer, after server_note of that. */
void server_request(struct server *s);

/* So many requests were received, by protocol. */
void server_received(struct server *s, u32 n);
