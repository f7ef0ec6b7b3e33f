/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the bytes of TCP connections reached the kernel: see track_segments.c. */
#pragma once

#include "analyze/replay/io/descriptors.h"

/*
 * The receive v of a server's socket moved so many bytes. Returns when the first of them arrived;
 * 0: not known. Later calls of segments_first are about this receive.
 */
u64 segments_received(struct replay *r, struct file *f, const struct call_view *v, u64 bytes);

/* The receive that was just noted, or is at hand, got len bytes from this position on. */
void segments_read(struct replay *r, struct file *f, u32 conn, u32 pos, u32 len, u64 ts);

/*
 * When the byte at this position of a connection arrived, which the receive at ts got; 0: not
 * known. The first bytes of a connection may have come with the segment that opened it.
 */
u64 segments_first(const struct replay *r, u32 conn, u32 pos, u64 ts);

/* When the first byte arrived that was not read until now; 0: all was read, or it is not known. */
u64 segments_unread(struct replay *r, struct file *f);

/* The number of the connection of a socket, also of other sockets than TCP; 0: not known. */
u32 segments_conn(const struct replay *r, struct file *f);

/*
 * How the connection of a socket that process p closes ended: its peer closed or reset it before;
 * or p left bytes unread. Asked once, when p closes it.
 */
enum closing { CLOSED_BY_OWNER, CLOSED_UNREAD, CLOSED_BY_PEER };
enum closing segments_closing(struct replay *r, const struct process *p, const struct file *f);

/*
 * A send that was entered then returned: the next acknowledgement of all that was written, or one
 * that came before it returned, is the one of its last byte, unless a mere ACK comes later.
 */
void segments_sent(struct replay *r, const struct file *f, u64 entry);

/* When the peer had acknowledged all that was written; 0: not seen since the last send; none: of
 * this socket segments are not recorded. */
u64 segments_acked(const struct replay *r, const struct file *f, u64 none);

/* After the last send, at sent, its end stayed so long in the socket, until the peer acknowledged
 * what was before it (Nagle); 0: it left at once, or that is not known. */
u64 segments_held(const struct replay *r, const struct file *f, u64 sent);
