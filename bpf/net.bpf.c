// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group net: TCP. A socket's states change in interrupts as often as in its owner's
 * calls, so with targets a socket is followed if its owner is one: known by the thread that
 * changed its state first, by the inode of its descriptor, or by the port on which
 * a target listens.
 */
#include "conn.bpf.h"

static __always_inline int on_state(struct sock *sk, s32 from, s32 to)
{
	u64 ts = bpf_ktime_get_ns();
	struct tcp_sock *tp = (void *)sk;
	struct ev_tcp_state *e;
	struct counts *c;
	struct sock_id key = { address_of(sk), KEY_SOCK };
	u64 *word;

	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	/* without group net, its connections are followed, not recorded */
	c = count_seen(asked & 1 << GROUP_net ? GROUP_net : GROUP_requests);
	if (!c)
		return 0;
	if (to != TCP_ESTABLISHED) /* another socket may stand at this address now */
		*slot_of(key.value) = 0;
	/* these come from connect(2) and listen(2) */
	if (!sock_wanted(c, sk, to == TCP_SYN_SENT || to == TCP_LISTEN,
			 to == TCP_SYN_SENT ? SOCK_CLIENT : 0))
		return 0;
	if (socks_followed && to == TCP_LISTEN) {
		sock_know(c, KEY_PORT, listen_key(sk), SOCK_SERVER);
		__sync_fetch_and_add(&sock_epoch, 1);
	}
	if (socks_followed && to == TCP_CLOSE)
		bpf_map_delete_elem(&wanted_socks, &key);
	if (to == TCP_CLOSE)
		tuple_forget(sk);
	/* its number at once: before the first segment is received, one may be sent */
	word = asked & 1 << GROUP_hops && to == TCP_ESTABLISHED ? sock_find(KEY_SOCK, key.value)
								: NULL;
	if (word)
		conn_of(sk, word, ts);
	if (!(asked & 1 << GROUP_net)) {
		count(c, filtered);
		return 0;
	}
	e = ev_reserve(c, ts, (u32)bpf_get_current_pid_tgid(), tcp_state);
	if (!e)
		return 0;
	__builtin_memset((char *)e + sizeof(struct ev_header), 0,
			 sizeof(*e) - sizeof(struct ev_header));
	e->sock = name_of(sk);
	e->ino = sock_ino(sk);
	e->sent = BPF_CORE_READ(tp, bytes_acked);
	e->received = BPF_CORE_READ(tp, bytes_received);
	e->srtt = BPF_CORE_READ(tp, srtt_us) >> 3;
	e->retransmits = BPF_CORE_READ(tp, total_retrans);
	e->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	e->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	e->sport = BPF_CORE_READ(sk, __sk_common.skc_num);
	e->dport = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	e->from = from;
	e->to = to;
	e->backlog = BPF_CORE_READ(sk, sk_ack_backlog);
	e->error = -BPF_CORE_READ(sk, sk_err);
	fill_addresses(sk, e->saddr, e->daddr, e->family);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/inet_sock_set_state")
int BPF_PROG(net__state, struct sock *sk, s32 from, s32 to)
{
	return on_state(sk, from, to);
}

SEC("?raw_tp/inet_sock_set_state")
int BPF_PROG(net__state__raw, struct sock *sk, s32 from, s32 to)
{
	return on_state(sk, from, to);
}

static __always_inline int on_retransmit(struct sock *sk)
{
	struct counts *c = count_seen(GROUP_net);
	u64 ts = bpf_ktime_get_ns();
	struct ev_tcp_retransmit *e;

	if (!c || !sock_wanted(c, sk, false, 0))
		return 0;
	e = ev_reserve(c, ts, (u32)bpf_get_current_pid_tgid(), tcp_retransmit);
	if (!e)
		return 0;
	__builtin_memset((char *)e + sizeof(struct ev_header), 0,
			 sizeof(*e) - sizeof(struct ev_header));
	e->sock = name_of(sk);
	e->ino = sock_ino(sk);
	e->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	e->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	e->sport = BPF_CORE_READ(sk, __sk_common.skc_num);
	e->dport = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	bpf_core_read(&e->state, sizeof(e->state), &sk->__sk_common.skc_state);
	fill_addresses(sk, e->saddr, e->daddr, e->family);
	ev_submit(e);
	return 0;
}

SEC("?tp_btf/tcp_retransmit_skb")
int BPF_PROG(net__retransmit, struct sock *sk)
{
	return on_retransmit(sk);
}

SEC("?raw_tp/tcp_retransmit_skb")
int BPF_PROG(net__retransmit__raw, struct sock *sk)
{
	return on_retransmit(sk);
}
