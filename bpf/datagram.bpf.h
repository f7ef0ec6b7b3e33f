/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peers of datagrams: a call on a socket without a peer names its own, in user memory. The event
 * comes right before the record of the call. A receive of what stays (MSG_PEEK) has none.
 */
#pragma once

#include "head.bpf.h"

#define DATAGRAM_MOVE  32 /* bit at which MOVE_* begins; below: tid */
#define DATAGRAM_MOVED 40 /* and whether the call returned more than 0 */
#define DATAGRAM_ABI   41 /* 0: arguments are where they are read */

struct peer { /* how struct sockaddr_in and sockaddr_in6 begin */
	u16 family, port;
	u32 address; /* of IPv4 */
};

/* Without a branch: each makes the verifier look at all that follows once more. */
static __always_inline u64 of_datagram(const struct call *call, u8 move)
{
	return call->tid | (u64)move << DATAGRAM_MOVE | (u64)-call->ret >> 63 << DATAGRAM_MOVED |
	       (u64)(call->abi ^ NATIVE_ABI) << DATAGRAM_ABI;
}

static __always_inline bool is_peek(u8 move, u64 arg2_arg3)
{
	u32 flags = 0;

	if (move & MOVE_FLAGS)
		flags = move & MOVE_MESSAGE ? arg2_arg3 >> 32 : arg2_arg3;
	return flags & (MSG_OOB | MSG_PEEK | MSG_ERRQUEUE);
}

static __always_inline int record_peer(u64 ts, u64 of, u64 arg2_arg3, u64 arg1, u64 arg4)
{
	u8 move = of >> DATAGRAM_MOVE;
	struct ev_datagram *e;
	u64 address = arg4;
	struct counts *c;
	struct peer p;

	if (of >> DATAGRAM_MOVED != 1 || is_peek(move, arg2_arg3) ||
	    (move & MOVE_MESSAGE && /* msg_name of struct msghdr */
	     bpf_probe_read_user(&address, sizeof(address), (void *)arg1)) ||
	    !address || bpf_probe_read_user(&p, sizeof(p), (void *)address) ||
	    (p.family != AF_INET && p.family != AF_INET6))
		return 0;
	c = count_seen(GROUP_requests);
	if (!c)
		return 0;
	e = ev_reserve(c, ts, (u32)of, datagram);
	if (!e)
		return 0;
	__builtin_memset(e->daddr, 0, sizeof(e->daddr));
	if (p.family == AF_INET)
		*(u32 *)e->daddr = p.address;
	else
		bpf_probe_read_user(e->daddr, sizeof(e->daddr), (void *)address + sizeof(p));
	e->family = p.family;
	e->dport = __builtin_bswap16(p.port);
	e->unused = 0;
	ev_submit(e);
	return 0;
}

/* As a global function, which the verifier looks at once: as emit_next_piece, for tp_btf only. */
__noinline int peer_of_datagram(u64 ts, u64 of, u64 arg2_arg3, u64 arg1, u64 arg4)
{
	return record_peer(ts, of, arg2_arg3, arg1, arg4);
}

static __always_inline void datagram_moved(const struct call *call, u8 move, struct pt_regs *regs,
					   const bool btf)
{
	u64 arg1 = SYSCALL_ARG1(btf, regs), arg4 = SYSCALL_ARG4(btf, regs);
	u64 arg2_arg3 = SYSCALL_ARG2(btf, regs) << 32 | (u32)SYSCALL_ARG3(btf, regs);

	if (btf)
		peer_of_datagram(call->ts, of_datagram(call, move), arg2_arg3, arg1, arg4);
	else
		record_peer(call->ts, of_datagram(call, move), arg2_arg3, arg1, arg4);
}
