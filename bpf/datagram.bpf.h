/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peers of datagrams: a call on a socket without a peer names its own, in user memory. The event
 * comes right before the record of the call. A receive of what stays (MSG_PEEK) has none.
 */
#pragma once

#include "head.bpf.h"

#define DATAGRAM_MOVE	  32 /* bit at which MOVE_* begins; below: tid */
#define DATAGRAM_MOVED	  40 /* and whether the call returned more than 0 */
#define DATAGRAM_ABI	  41 /* 0: arguments are where they are read */
#define DATAGRAM_RETURNED 48

/* In the first 8 bytes of a message: opcode, Z bit, and more than one question. */
#define NOT_DNS	   0xfeff40780000
#define DNS_HEADER 12

#define DATAGRAMS_MAX 32 /* of one call */

struct message { /* struct mmsghdr; it begins with struct msghdr */
	u64 address, address_len, buffers, n_buffers, control, control_len, flags;
	u32 len, unused;
};

#define PEER_IS	  (1 << 16)
#define PEER_IPV6 17 /* bit */

struct peer { /* how struct sockaddr_in and sockaddr_in6 begin */
	u16 family, port;
	u32 address; /* of IPv4 */
};

/* Without a branch: each makes the verifier look at all that follows once more. */
static __always_inline u64 of_datagram(const struct call *call, u8 move)
{
	return call->tid | (u64)move << DATAGRAM_MOVE | (u64)-call->ret >> 63 << DATAGRAM_MOVED |
	       (u64)(call->abi ^ NATIVE_ABI) << DATAGRAM_ABI | (u64)call->ret << DATAGRAM_RETURNED;
}

static __always_inline bool is_peek(u8 move, u64 arg2_arg3)
{
	u32 flags = 0;

	if (move & MOVE_FLAGS)
		flags = move & MOVE_MESSAGE ? arg2_arg3 >> 32 : arg2_arg3;
	return flags & (MSG_OOB | MSG_PEEK | MSG_ERRQUEUE);
}

/*
 * Id and flags of the message that a call moved, if it is one of DNS; 0: it is not. Bytes: what the
 * call returned. As a global function that counts nothing, as word_of_status.
 */
__noinline u32 dns_of(u64 move, u64 arg1, u64 arg2, u64 bytes)
{
	const struct message *all = (const void *)arg1;
	struct span s = { arg1, arg2 };
	u64 word = 0, buffers = 0;
	u32 len = bytes;

	if (!heads)
		return 0;
	if (move & MOVE_MANY)
		bpf_probe_read_user(&len, sizeof(len), &all->len);
	if (move & (MOVE_MESSAGE | MOVE_MANY)) {
		bpf_probe_read_user(&buffers, sizeof(buffers), &all->buffers);
		bpf_probe_read_user(&s, sizeof(s), (void *)buffers);
	}
	if (len < DNS_HEADER || s.len < sizeof(word) ||
	    bpf_probe_read_user(&word, sizeof(word), (void *)s.at) || word & NOT_DNS)
		return 0;
	return word;
}

/* Where the address of the peer is; 0: there is none. A global function for the same reason. */
__noinline u64 peer_at(u64 of, u64 arg2_arg3, u64 arg1, u64 arg4)
{
	u8 move = of >> DATAGRAM_MOVE;
	u64 address = arg4;

	if ((of >> DATAGRAM_MOVED & 3) != 1 || is_peek(move, arg2_arg3) ||
	    (move & (MOVE_MESSAGE | MOVE_MANY) && /* msg_name of struct msghdr */
	     bpf_probe_read_user(&address, sizeof(address), (void *)arg1)))
		return 0;
	return address;
}

/* Of an address of IPv4 or IPv6 its port, PEER_IS and PEER_IPV6; 0: it is another one. */
__noinline u64 peer_port(u64 address)
{
	struct peer p;

	if (!address || bpf_probe_read_user(&p, sizeof(p), (void *)address) ||
	    (p.family != AF_INET && p.family != AF_INET6))
		return 0;
	return PEER_IS | __builtin_bswap16(p.port) | (u64)(p.family == AF_INET6) << PEER_IPV6;
}

/* With few branches: after each, the verifier of old kernels looks at all that follows once more.
 */
static __always_inline int record_peer(u64 ts, u64 of, u64 arg2_arg3, u64 arg1, u64 arg4)
{
	u64 address = peer_at(of, arg2_arg3, arg1, arg4), port = peer_port(address);
	u32 v6 = port >> PEER_IPV6 & 1;
	struct ev_datagram *e;
	struct counts *c;

	if (!port)
		return 0;
	c = count_seen(GROUP_requests);
	if (!c)
		return 0;
	e = ev_reserve(c, ts, (u32)of, datagram);
	if (!e)
		return 0;
	__builtin_memset(e->daddr, 0, sizeof(e->daddr));
	bpf_probe_read_user(e->daddr, 4 + 12 * v6, (void *)address + 4 + 4 * v6);
	e->family = AF_INET + (AF_INET6 - AF_INET) * v6;
	e->dport = port;
	e->unused = 0;
	e->head = dns_of(of >> DATAGRAM_MOVE, arg1, arg2_arg3 >> 32, of >> DATAGRAM_RETURNED);
	e->unused2 = 0;
	ev_submit(e);
	return 0;
}

/*
 * As a global function, which the verifier looks at once: as emit_next_piece, for tp_btf only.
 * Elsewhere the first datagram of a call is recorded.
 */
__noinline int peers_of_datagrams(u64 ts, u64 of, u64 arg2_arg3, u64 arg1, u64 arg4)
{
	u32 n = of >> DATAGRAM_MOVE & MOVE_MANY ? of >> DATAGRAM_RETURNED : 1, i;

	if ((of >> DATAGRAM_MOVED & 3) != 1) /* an error is a large number as well */
		return 0;
#pragma clang loop unroll(disable)
	for (i = 0; i < n && i < DATAGRAMS_MAX; i++)
		record_peer(ts, of, arg2_arg3, arg1 + i * sizeof(struct message), arg4);
	return 0;
}

static __always_inline void datagram_moved(const struct call *call, u8 move, struct pt_regs *regs,
					   const bool btf)
{
	u64 arg1 = SYSCALL_ARG1(btf, regs), arg4 = SYSCALL_ARG4(btf, regs);
	u64 arg2_arg3 = SYSCALL_ARG2(btf, regs) << 32 | (u32)SYSCALL_ARG3(btf, regs);

	if (btf)
		peers_of_datagrams(call->ts, of_datagram(call, move), arg2_arg3, arg1, arg4);
	else
		record_peer(call->ts, of_datagram(call, move), arg2_arg3, arg1, arg4);
}
