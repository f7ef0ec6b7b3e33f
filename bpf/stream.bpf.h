/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stream sockets that requests are read from, and how many bytes of Unix ones were. */
#pragma once

#include "conn.bpf.h"

#define UNSEEN 0x10000 /* more than a connection starts with (parse.h) */

/*
 * The socket of a descriptor, if requests are read from it: one of TCP, or a Unix stream that has
 * an address, as those have that a server accepted.
 */
static __always_inline struct sock *stream_by_casts(u32 fd)
{
	struct file *f = file_by_casts(fd);
	struct socket *s;
	struct sock *sk;

	if (!f || (f->f_inode->i_mode & S_IFMT) != S_IFSOCK)
		return NULL;
	s = CAST(f->private_data, struct socket);
	sk = s->sk;
	if (sk->sk_protocol == IPPROTO_TCP)
		return sk;
	if (s->type != SOCK_STREAM || sk->__sk_common.skc_family != AF_UNIX)
		return NULL;
	return CAST(sk, struct unix_sock)->addr ? sk : NULL;
}

static __always_inline struct sock *stream_by_reads(u32 fd)
{
	struct file *f = file_at(fd);
	struct socket *s;
	struct sock *sk;

	if (!f || (BPF_CORE_READ(f, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return NULL;
	s = BPF_CORE_READ(f, private_data);
	sk = BPF_CORE_READ(s, sk);
	if (!sk || BPF_CORE_READ(sk, sk_protocol) == IPPROTO_TCP)
		return sk;
	if (BPF_CORE_READ(s, type) != SOCK_STREAM ||
	    BPF_CORE_READ(sk, __sk_common.skc_family) != AF_UNIX)
		return NULL;
	return BPF_CORE_READ((struct unix_sock *)sk, addr) ? sk : NULL;
}

static __always_inline struct sock *stream_at(u32 fd, const bool btf)
{
	return btf && has_casts ? stream_by_casts(fd) : stream_by_reads(fd);
}

/* Unix sockets do not count bytes: those that were looked at, by number of a connection. */
struct unix_bytes {
	u32 read, written;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct unix_bytes);
} unix_bytes SEC(".maps");

/* accepted: seen since, so that all bytes are; else some may have been moved before. */
static __always_inline struct unix_bytes *unix_bytes_of(u32 conn, bool accepted)
{
	struct unix_bytes first = {}, *b = bpf_map_lookup_elem(&unix_bytes, &conn);

	if (b)
		return b;
	if (!accepted)
		first.read = first.written = UNSEEN;
	bpf_map_update_elem(&unix_bytes, &conn, &first, BPF_NOEXIST);
	return bpf_map_lookup_elem(&unix_bytes, &conn);
}
