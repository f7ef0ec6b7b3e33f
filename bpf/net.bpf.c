// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group net: TCP. A socket's states change in interrupts as often as in its owner's
 * calls, so with targets a socket is followed if its owner is one: known by the thread that
 * changed its state first, by the inode of its descriptor, or by the port on which
 * a target listens.
 */
#include "fd.bpf.h"

#define IPPROTO_TCP	6
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT	2
#define TCP_SYN_RECV	3
#define TCP_CLOSE	7
#define TCP_LISTEN	10

/* Sockets that belong to targets. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 262144);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sock_id);
	__type(value, u8);
} wanted_socks SEC(".maps");

static __always_inline bool sock_known(u64 kind, u64 value)
{
	struct sock_id id = { value, kind };

	return bpf_map_lookup_elem(&wanted_socks, &id) != NULL;
}

/* Counts when there is no room: the socket then is not followed. */
static __always_inline void sock_know(struct counts *c, u64 kind, u64 value)
{
	struct sock_id id = { value, kind };
	u8 one = 1;

	if (bpf_map_update_elem(&wanted_socks, &id, &one, BPF_ANY) < 0)
		count(c, nostate);
}

static __always_inline u64 sock_ino(struct sock *sk)
{
	struct socket *s = BPF_CORE_READ(sk, sk_socket);
	struct file *f = s ? BPF_CORE_READ(s, file) : NULL;

	return f ? BPF_CORE_READ(f, f_inode, i_ino) : 0;
}

static __always_inline u64 listen_key(struct sock *sk)
{
	u32 netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);

	return (u64)netns << 16 | BPF_CORE_READ(sk, __sk_common.skc_num);
}

/* in_task: the running thread is the one whose call this is. */
static __always_inline bool sock_wanted(struct counts *c, struct sock *sk, bool in_task)
{
	u64 id = bpf_get_current_pid_tgid(), ino;

	if (in_task && id >> 32 == self_tgid) {
		count(c, self);
		return false;
	}
	if (filter_all)
		return true;
	if (sock_known(KEY_SOCK, (u64)sk))
		return true;
	ino = sock_ino(sk);
	if ((in_task && wanted(id)) || (ino && sock_known(KEY_INO, ino)) ||
	    sock_known(KEY_PORT, listen_key(sk))) {
		sock_know(c, KEY_SOCK, (u64)sk);
		return true;
	}
	count(c, filtered);
	return false;
}

static __always_inline void fill_addresses(struct sock *sk, u8 *saddr, u8 *daddr, u16 family)
{
	if (hide)
		return;
	if (family == AF_INET) {
		*(u32 *)saddr = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		*(u32 *)daddr = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	} else if (family == AF_INET6) {
		bpf_core_read(saddr, sizeof(addr16), &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(daddr, sizeof(addr16), &sk->__sk_common.skc_v6_daddr);
	}
}

static __always_inline int on_state(struct sock *sk, s32 from, s32 to)
{
	u64 ts = bpf_ktime_get_ns();
	struct tcp_sock *tp = (void *)sk;
	struct ev_tcp_state *e;
	struct counts *c;
	struct sock_id key = { (u64)sk, KEY_SOCK };

	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	c = count_seen(GROUP_net);
	if (!c)
		return 0;
	/* these come from connect(2) and listen(2) */
	if (!sock_wanted(c, sk, to == TCP_SYN_SENT || to == TCP_LISTEN))
		return 0;
	if (!filter_all && to == TCP_LISTEN)
		sock_know(c, KEY_PORT, listen_key(sk));
	if (!filter_all && to == TCP_CLOSE)
		bpf_map_delete_elem(&wanted_socks, &key);
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

	if (!c || !sock_wanted(c, sk, false))
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
