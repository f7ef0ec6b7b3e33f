/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP sockets that belong to targets, and the numbers of their connections. States change and
 * segments arrive in interrupts, so with targets a socket is followed if its owner is
 * one: known by the thread that changed its state first, by the inode of its descriptor, or by
 * the port on which a target listens.
 */
#pragma once

#include "fd.bpf.h"

#define SOCK_STREAM	1
#define IPPROTO_TCP	6
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT	2
#define TCP_CLOSE	7
#define TCP_LISTEN	10

#define SIDES (SOCK_SERVER | SOCK_CLIENT)

const volatile bool socks_followed = false; /* targets, or numbers of connections are needed */
const volatile u32 possible_cpus = 1;

/* Sockets that belong to targets; with group requests and -a, all. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 262144);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sock_id);
	__type(value, u64);
} wanted_socks SEC(".maps");

/*
 * What is known of sockets for good, by address, without a call: in each slot the word of one
 * socket, in its upper bits the part of the address that does not choose the slot. Sockets stand at
 * multiples of 64 within 128 TB, so no other is taken for it.
 */
#define SLOTS	 (1 << 16)
#define SLOT_TAG (~0ull << 39)
#define SOCK_NONE \
	(1ull << 35) /* not followed, if sock_epoch still has the value of the lower half */

volatile u64 sock_slots[SLOTS] = {};

/* Grows when sockets become those of targets by inode or port. */
volatile u32 sock_epoch = 0;

static __always_inline u64 slot_tag(u64 address)
{
	return address << 17 & SLOT_TAG;
}

static __always_inline volatile u64 *slot_of(u64 address)
{
	return &sock_slots[(address >> 6 ^ (address >> 22) * 40503) & (SLOTS - 1)];
}

/* 0: nothing is known. */
static __always_inline u64 slot_word(u64 address)
{
	u64 word = *slot_of(address);

	if ((word ^ slot_tag(address)) & SLOT_TAG)
		return 0;
	if (word & SOCK_NONE && (u32)word != sock_epoch)
		return 0;
	return word & ~SLOT_TAG;
}

static __always_inline void slot_put(u64 address, u64 word)
{
	*slot_of(address) = word | slot_tag(address);
}

static __always_inline u64 *sock_find(u64 kind, u64 value)
{
	struct sock_id id = { value, kind };

	return bpf_map_lookup_elem(&wanted_socks, &id);
}

/* Counts when there is no room: the socket then is not followed. */
static __always_inline void sock_know(struct counts *c, u64 kind, u64 value, u64 word)
{
	struct sock_id id = { value, kind };

	if (bpf_map_update_elem(&wanted_socks, &id, &word, BPF_NOEXIST) < 0 &&
	    !sock_find(kind, value))
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

/* The word of a socket that is followed; NULL: it is none. mine: a target uses it now. */
static __always_inline u64 *sock_word(struct counts *c, struct sock *sk, bool mine, u64 side)
{
	u64 *word = sock_find(KEY_SOCK, address_of(sk)), ino;

	if (word)
		return word;
	ino = sock_ino(sk);
	word = ino ? sock_find(KEY_INO, ino) : NULL;
	if (!word)
		word = sock_find(KEY_PORT, listen_key(sk));
	if (!word && !mine && !filter_all)
		return NULL;
	sock_know(c, KEY_SOCK, address_of(sk), word ? *word & SIDES : side);
	return sock_find(KEY_SOCK, address_of(sk));
}

/* in_task: the running thread is the one whose call this is; side: which it opens then. */
static __always_inline bool sock_wanted(struct counts *c, struct sock *sk, bool in_task, u64 side)
{
	u64 id = bpf_get_current_pid_tgid();

	if (in_task && id >> 32 == self_tgid) {
		count(c, self);
		return false;
	}
	if (!socks_followed || sock_word(c, sk, in_task && wanted(id), side) || filter_all)
		return true;
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

/*
 * A number that no other connection has. With the stock kind of rings the kernel may lack
 * additions that return a value: there each CPU has numbers of its own.
 */
volatile u32 conn_last = 0;
volatile u32 conn_last_of[1024] = {};

static __always_inline u32 conn_number(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	if (ring_own)
		return __sync_fetch_and_add(&conn_last, 1) + 1;
	__sync_fetch_and_add(&conn_last_of[cpu & 1023], 1);
	return (conn_last_of[cpu & 1023] - 1) * possible_cpus + cpu + 1;
}

/*
 * Group hops: numbers of connections by what the headers of their segments have, in network order.
 * Devices are in other network namespaces than sockets: only loopback addresses belong to one.
 */
struct tuple {
	addr16 local, remote; /* IPv4 in the first 4 bytes */
	u16 sport, dport;
	u32 family; /* AF_INET also for IPv4 through an IPv6 socket */
	u32 netns;  /* of loopback addresses; else 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 262144);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct tuple);
	__type(value, u32);
} tuples SEC(".maps");

static __always_inline bool is_loopback(const struct tuple *t)
{
	const u32 *a = (const void *)t->local;

	return t->family == AF_INET ? t->local[0] == 127
				    : !a[0] && !a[1] && !a[2] && a[3] == __builtin_bswap32(1);
}

static __always_inline void tuple_of(struct tuple *ret, struct sock *sk)
{
	u32 *a = (void *)ret->remote;

	__builtin_memset(ret, 0, sizeof(*ret));
	ret->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	ret->sport = BPF_CORE_READ((struct inet_sock *)sk, inet_sport);
	ret->dport = BPF_CORE_READ(sk, __sk_common.skc_dport);
	if (ret->family == AF_INET6) {
		bpf_core_read(ret->local, sizeof(addr16), &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(ret->remote, sizeof(addr16), &sk->__sk_common.skc_v6_daddr);
		if (!a[0] && !a[1] && a[2] == __builtin_bswap32(0xffff)) {
			__builtin_memset(ret->local, 0, 2 * sizeof(addr16));
			ret->family = AF_INET;
		}
	}
	if (ret->family == AF_INET) {
		*(u32 *)ret->local = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		*a = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	}
	if (is_loopback(ret))
		ret->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
}

/* Its segments are recorded from now on, also where another one had these addresses before. */
static __always_inline void tuple_know(struct sock *sk, u32 conn)
{
	struct counts *c;
	struct tuple t;

	if (!(asked & 1 << GROUP_hops) || BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return;
	tuple_of(&t, sk);
	if (bpf_map_update_elem(&tuples, &t, &conn, BPF_ANY) == 0)
		return;
	c = count_seen(GROUP_hops);
	if (c)
		count(c, lost.other); /* all of it */
}

static __always_inline void tuple_forget(struct sock *sk)
{
	struct tuple t;

	if (!(asked & 1 << GROUP_hops))
		return;
	tuple_of(&t, sk);
	bpf_map_delete_elem(&tuples, &t);
}

/* By number of a connection: enum hint, written by obsrec; long receives, counted here. */
volatile u32 hints[HINTS] = {};
volatile u32 long_receives[HINTS] = {};

/* The same: hint_word of PIPELINED, the only value, which both write. */
volatile u32 pipelined[HINTS] = {};
volatile u32 any_pipelined = 0;

static __always_inline void emit_connection(struct sock *sk, u64 word, u64 ts, u64 ino)
{
	struct counts *c = count_seen(GROUP_requests);
	struct ev_connection *e;

	if (!c)
		return;
	e = ev_reserve(c, ts, 0, connection);
	if (!e)
		return;
	__builtin_memset((char *)e + sizeof(struct ev_header), 0,
			 sizeof(*e) - sizeof(struct ev_header));
	e->sock = name_of(sk);
	e->ino = ino;
	e->conn = word;
	e->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	e->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	e->sport = BPF_CORE_READ(sk, __sk_common.skc_num);
	e->dport = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	e->side = word & SOCK_SERVER ? 1 : word & SOCK_CLIENT ? 2 : 0;
	fill_addresses(sk, e->saddr, e->daddr, e->family);
	ev_submit(e);
}

/* Its number, which it is given if it has none, and recorded with what is known of it. */
static __always_inline u64 conn_of(struct sock *sk, u64 *word, u64 ts)
{
	u64 w = *word, ino = 0;

	if (w & SOCK_INO_KNOWN && (u32)w)
		return w;
	ino = sock_ino(sk);
	if ((u32)w && !ino)
		return w;
	if (!(u32)w) {
		w |= conn_number();
		tuple_know(sk, w);
	}
	if (ino)
		w |= SOCK_INO_KNOWN;
	*word = w;
	emit_connection(sk, w, ts, ino);
	return w;
}

/* Its word with its number; 0: it is not followed, which is counted. mine: as above. ts 0: now. */
static __always_inline u64 conn_word(struct counts *c, struct sock *sk, bool mine, u64 ts)
{
	u64 address = address_of(sk), w = slot_word(address), *word = NULL;
	u32 epoch = sock_epoch;

	if (w && !(w & SOCK_NONE))
		return w;
	if (!w || mine)
		word = sock_word(c, sk, mine, 0);
	if (!word) {
		if (!w)
			slot_put(address, SOCK_NONE | epoch);
		count(c, filtered);
		return 0;
	}
	w = conn_of(sk, word, ts ? ts : bpf_ktime_get_ns());
	if (w & SOCK_INO_KNOWN)
		slot_put(address, w);
	return w;
}
