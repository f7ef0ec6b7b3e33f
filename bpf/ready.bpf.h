/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When datagrams reach UDP sockets and bytes Unix sockets: of servers' sockets, which are UDP
 * sockets without a peer and Unix sockets with an address. These have no positions: how many wait
 * says which a receive gets.
 */
#pragma once

#include "conn.bpf.h"

#define IPPROTO_UDP 17

static __always_inline bool is_ready_server(struct sock *sk, struct unix_sock *un, const bool btf)
{
	if (GET(btf, sk, __sk_common.skc_family) == AF_UNIX)
		return GET(btf, un, addr);
	return GET(btf, sk, sk_protocol) == IPPROTO_UDP && !GET(btf, sk, __sk_common.skc_dport);
}

/*
 * Of the newest that waits: the one that came now, unless it was read since. The queue may empty
 * then: its length counts if that one was the newest before and after.
 */
static __always_inline u32 newest_length(struct sock *sk, const bool btf)
{
	u64 head = (u64)sk + bpf_core_field_offset(sk->sk_receive_queue);
	struct sk_buff *skb = GET(btf, sk, sk_receive_queue.prev), *after;
	u32 len;

	if ((u64)skb == head)
		return 0;
	len = btf ? CAST(skb, struct sk_buff)->len : BPF_CORE_READ(skb, len);
	barrier();
	after = GET(btf, sk, sk_receive_queue.prev);
	return after == skb ? len : 0;
}

static __always_inline int on_ready(struct sock *sk, struct udp_sock *udp, struct unix_sock *un,
				    const bool btf)
{
	struct ev_ready *e;
	struct counts *c;
	u32 conn;
	u64 ts;

	if (!enabled || !is_ready_server(sk, un, btf))
		return 0;
	c = count_seen(GROUP_requests);
	if (!c)
		return 0;
	conn = conn_word(c, sk, false, 0);
	if (!conn)
		return 0;
	ts = bpf_ktime_get_ns();
	e = ev_reserve(c, ts, 0, ready);
	if (!e)
		return 0;
	e->conn = conn;
	e->len = newest_length(sk, btf);
	e->queued = GET(btf, sk, sk_receive_queue.qlen);
	if (GET(btf, sk, __sk_common.skc_family) != AF_UNIX)
		e->queued += GET(btf, udp, reader_queue.qlen);
	e->unused = 0;
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/sk_data_ready")
int BPF_PROG(requests__ready, struct sock *sk)
{
	if (!has_casts || sk->sk_protocol == IPPROTO_TCP)
		return 0;
	return on_ready(sk, CAST(sk, struct udp_sock), CAST(sk, struct unix_sock), true);
}

SEC("?raw_tp/sk_data_ready")
int BPF_PROG(requests__ready__raw, struct sock *sk)
{
	return on_ready(sk, (void *)sk, (void *)sk, false);
}

/* A target has accepted a connection or bound a socket: it is followed, by a new number. */
static __always_inline void ready_follow(u32 fd, u8 role)
{
	u64 word = role == ROLE_ACCEPTED || role == ROLE_BOUND ? SOCK_SERVER : 0;
	struct sock_id id = { 0, KEY_SOCK };
	struct file *f = word ? file_at(fd) : NULL;
	struct socket *s;
	struct sock *sk;

	if (!f || (BPF_CORE_READ(f, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return;
	s = BPF_CORE_READ(f, private_data);
	sk = BPF_CORE_READ(s, sk);
	if (!sk || (BPF_CORE_READ(sk, __sk_common.skc_family) != AF_UNIX &&
		    BPF_CORE_READ(sk, sk_protocol) != IPPROTO_UDP))
		return;
	id.value = address_of(sk);
	slot_put(id.value, 0);
	bpf_map_update_elem(&wanted_socks, &id, &word, BPF_ANY);
}
