// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group hops: where segments of followed connections pass network devices. Devices do not know the
 * socket, and are in any network namespace: a connection is found by addresses and ports. Inside
 * of tunnels nothing is seen.
 */
#include "conn.bpf.h"

#define ETH_P_IP   0x0800
#define ETH_P_IPV6 0x86dd
#define IP4_HEADER 20
#define IP6_HEADER 40
#define TCP_HEADER 20
#define IP4_OFFSET 0x1f /* of a fragment that is not the first: upper bits */

/* Where the headers of a segment are, and what they say. */
struct passing {
	struct tuple t; /* of the sender */
	u64 ip;		/* address of the IP header */
	u32 linear;	/* bytes that may be read there */
	u32 bytes;	/* from there to the end of the segment */
	u32 seq, len;
};

/* Its header's length with options; 0: not a TCP segment. */
static __always_inline u32 read_ip4(struct passing *p, const u8 *h)
{
	u32 size = (h[0] & 15) * 4, total = h[2] << 8 | h[3];

	if (size < IP4_HEADER || h[9] != IPPROTO_TCP || h[6] & IP4_OFFSET || h[7])
		return 0;
	if (total) /* 0: longer than it can say */
		p->bytes = total;
	p->t.family = AF_INET;
	*(u32 *)p->t.local = *(u32 *)(h + 12);
	*(u32 *)p->t.remote = *(u32 *)(h + 16);
	return size;
}

static __always_inline u32 read_ip6(struct passing *p, const u8 *h)
{
	u32 length = h[4] << 8 | h[5];

	if (h[6] != IPPROTO_TCP)
		return 0;
	if (length)
		p->bytes = IP6_HEADER + length;
	p->t.family = AF_INET6;
	__builtin_memcpy(p->t.local, h + 8, sizeof(addr16));
	__builtin_memcpy(p->t.remote, h + 24, sizeof(addr16));
	return IP6_HEADER;
}

/* False: not a TCP segment with payload, or the network card left its headers elsewhere. */
static __always_inline bool read_headers(struct passing *p)
{
	u32 h[IP6_HEADER / 4] = {}, tcp[TCP_HEADER / 4], size;
	u8 version, *bytes = (void *)h;

	if (p->linear < IP4_HEADER || bpf_probe_read_kernel(h, IP4_HEADER, (void *)p->ip))
		return false;
	version = bytes[0] >> 4;
	if (version == 6 &&
	    (p->linear < IP6_HEADER || bpf_probe_read_kernel(h, IP6_HEADER, (void *)p->ip)))
		return false;
	size = version == 4 ? read_ip4(p, bytes) : version == 6 ? read_ip6(p, bytes) : 0;
	if (!size || p->linear < size + TCP_HEADER ||
	    bpf_probe_read_kernel(tcp, sizeof(tcp), (void *)(p->ip + size)))
		return false;
	bytes = (void *)tcp;
	size += (bytes[12] >> 4) * 4;
	p->t.sport = *(u16 *)bytes;
	p->t.dport = *(u16 *)(bytes + 2);
	p->seq = __builtin_bswap32(tcp[1]);
	p->len = p->bytes - size;
	return p->bytes > size;
}

/* The tuple of the other end. */
static __always_inline void turn(struct tuple *t)
{
	u16 port = t->sport;
	addr16 a;

	__builtin_memcpy(a, t->local, sizeof(a));
	__builtin_memcpy(t->local, t->remote, sizeof(a));
	__builtin_memcpy(t->remote, a, sizeof(a));
	t->sport = t->dport;
	t->dport = port;
}

static __always_inline int on_hop(struct passing *p, struct net_device *dev, u32 flags,
				  const bool btf)
{
	struct counts *c = count_seen(GROUP_hops);
	u32 *conn;
	struct ev_hop *e;
	u64 ts;

	if (!c)
		return 0;
	if (!read_headers(p)) {
		count(c, filtered);
		return 0;
	}
	ts = bpf_ktime_get_ns();
	if (is_loopback(&p->t))
		p->t.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	conn = bpf_map_lookup_elem(&tuples, &p->t);
	if (!conn) {
		turn(&p->t);
		flags |= HOP_FROM_PEER;
		conn = bpf_map_lookup_elem(&tuples, &p->t);
	}
	if (!conn) {
		count(c, filtered);
		return 0;
	}
	e = ev_reserve(c, ts, 0, hop);
	if (!e)
		return 0;
	e->conn = *conn;
	e->seq = p->seq;
	e->len = p->len;
	e->ifindex = GET(btf, dev, ifindex);
	e->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	e->flags = flags;
	__builtin_memset(e->device, 0, sizeof(e->device));
	bpf_core_read(e->device, sizeof(e->device), &dev->name);
	ev_submit(e);
	return 0;
}

static __always_inline int on_send(struct sk_buff *skb, struct net_device *dev, const bool btf)
{
	u64 head = address_of(GET(btf, skb, head)), data = address_of(GET(btf, skb, data));
	u64 skipped = head + GET(btf, skb, network_header) - data;
	u32 len = GET(btf, skb, len);
	struct passing p = { .ip = data + skipped, .bytes = len - skipped };
	s32 linear = len - GET(btf, skb, data_len) - skipped;

	p.linear = linear > 0 ? linear : 0;
	return on_hop(&p, dev, HOP_SENDS, btf);
}

/* Its data begins at the IP header, of which the socket buffer does not know yet. */
static __always_inline int on_receive(struct sk_buff *skb, const bool btf)
{
	u32 len = GET(btf, skb, len);
	struct passing p = {
		.ip = address_of(GET(btf, skb, data)),
		.bytes = len,
		.linear = len - GET(btf, skb, data_len),
	};
	u16 protocol = GET(btf, skb, protocol);

	if (protocol != __builtin_bswap16(ETH_P_IP) && protocol != __builtin_bswap16(ETH_P_IPV6))
		p.linear = 0;
	return on_hop(&p, GET(btf, skb, dev), 0, btf);
}

SEC("?tp_btf/net_dev_start_xmit")
int BPF_PROG(hops__send, struct sk_buff *skb, struct net_device *dev)
{
	return on_send(skb, dev, true);
}

SEC("?raw_tp/net_dev_start_xmit")
int BPF_PROG(hops__send__raw, struct sk_buff *skb, struct net_device *dev)
{
	return on_send(skb, dev, false);
}

SEC("?tp_btf/netif_receive_skb")
int BPF_PROG(hops__receive, struct sk_buff *skb)
{
	return on_receive(skb, true);
}

SEC("?raw_tp/netif_receive_skb")
int BPF_PROG(hops__receive__raw, struct sk_buff *skb)
{
	return on_receive(skb, false);
}
