// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Group requests: when segments reach TCP sockets. The first bytes of what is then received, and
 * of answers, are read where calls return: head.bpf.h.
 */
#include "conn.bpf.h"
#include "ready.bpf.h"

#define TCP_FIN	      1
#define TCP_HEADER    20	 /* bytes, without options */
#define TCP_TIMESTAMP 0x0101080a /* no-ops before it: what aligns it */
#define TCP_SACK      0x010105	 /* the same of blocks, and their size */

/* Positions in the stream: bytes received and written since the connection was opened. */
struct segment {
	u32 conn, pos, len, unread, unacked, flags;
	s32 gap;
};

/*
 * By number of a connection modulo ENDS: where its segment recorded last ended, and above it the
 * rest of the number and the time in steps. A segment there that begins where that one ended needs
 * no position. The first one of each step has it again, as does the one after a loss.
 */
#define ENDS	  65536
#define STEP_BITS 26
#define END_KNOWN (1ull << 47)

volatile u64 segment_ends[ENDS] = {};

static __always_inline u64 end_of(const struct segment *s, u64 ts)
{
	return (u64)(s->conn / ENDS) << 48 | END_KNOWN | (ts >> STEP_BITS & 0x7fff) << 32 | s->pos;
}

static __always_inline bool emit_next(struct counts *c, const struct segment *s, u64 ts)
{
	struct ev_segment_next *e = ev_reserve(c, ts, 0, segment_next);

	if (!e)
		return false;
	e->conn = s->conn;
	e->len = s->len;
	e->unread = s->unread;
	e->flags = s->flags | (s->unacked ? 0 : SEGMENT_ACKED);
	ev_submit(e);
	return true;
}

static __always_inline bool emit_segment(struct counts *c, const struct segment *s, u32 written,
					 u64 ts)
{
	struct ev_segment *e = ev_reserve(c, ts, 0, segment);

	if (!e)
		return false;
	e->conn = s->conn;
	e->pos = s->pos;
	e->len = s->len;
	e->unread = s->unread;
	e->written = written;
	e->unacked = s->unacked;
	e->gap = s->gap;
	e->flags = s->flags;
	ev_submit(e);
	return true;
}

/*
 * Does the peer say that it has received bytes twice (RFC 2883)? Then the first block of its
 * selective acknowledgment begins below what it acknowledges; one above it, inside of the second
 * block, is not counted. Options as all current systems place them: timestamps first, if there are
 * any.
 */
static __always_inline bool has_dsack(struct sk_buff *skb, u32 size, u32 ack, const bool btf)
{
	unsigned char *options = GET(btf, skb, data) + TCP_HEADER;
	u32 word[3];

	if (size < TCP_HEADER + sizeof(word) ||
	    bpf_probe_read_kernel(word, sizeof(word), options) != 0)
		return false;
	if (word[0] == __builtin_bswap32(TCP_TIMESTAMP)) {
		if (size < TCP_HEADER + 2 * sizeof(word) ||
		    bpf_probe_read_kernel(word, sizeof(word), options + sizeof(word)) != 0)
			return false;
	}
	return __builtin_bswap32(word[0]) >> 8 == TCP_SACK &&
	       (s32)(__builtin_bswap32(word[1]) - ack) < 0;
}

/*
 * Does this ACK release the end of what was written (Nagle, as Minshall changed it)? Until now it
 * stayed, less than a segment, although both windows had room: a small segment was in flight.
 */
static __always_inline bool releases(struct tcp_sock *tp, u32 write_seq, u32 ack, const bool btf)
{
	u32 unsent = write_seq - GET(btf, tp, snd_nxt), small, una;

	if (!unsent || unsent >= GET(btf, tp, mss_cache))
		return false;
	small = GET(btf, tp, snd_sml);
	una = GET(btf, tp, snd_una);
	return (s32)(small - una) > 0 && (s32)(ack - small) >= 0 &&
	       write_seq - una <= GET(btf, tp, snd_wnd) &&
	       GET(btf, tp, packets_out) < GET(btf, tp, snd_cwnd);
}

static __always_inline int on_segment(struct sock *sk, struct tcp_sock *tp, struct sk_buff *skb,
				      const bool btf)
{
	struct tcp_skb_cb *cb = (void *)skb->cb;
	u32 seq = GET(btf, cb, seq), ack = GET(btf, cb, ack_seq), next, write_seq;
	u8 fin = GET(btf, cb, tcp_flags) & TCP_FIN;
	struct segment s = { .len = GET(btf, cb, end_seq) - seq - fin };
	volatile u64 *end;
	struct counts *c;
	bool done, dsack, held;
	u64 ts;

	if (!enabled)
		return 0;
	write_seq = GET(btf, tp, write_seq);
	dsack = GET(btf, tp, total_retrans) && has_dsack(skb, GET(btf, skb, len) - s.len, ack, btf);
	held = releases(tp, write_seq, ack, btf);
	/* a mere acknowledgement counts if it is that of the last byte written, or releases it */
	if (!s.len && !fin && !dsack && !held && (ack != write_seq || ack == GET(btf, tp, snd_una)))
		return 0;
	c = count_seen(GROUP_requests);
	if (!c)
		return 0;
	s.conn = conn_word(c, sk, false, 0);
	if (!s.conn)
		return 0;
	ts = bpf_ktime_get_ns();
	next = GET(btf, tp, rcv_nxt);
	s.gap = seq - next;
	s.pos = (u32)GET(btf, tp, bytes_received) + s.gap;
	s.unread = next - GET(btf, tp, copied_seq);
	s.unacked = write_seq - ack;
	s.flags = fin | (GET(btf, sk, sk_lock.owned) ? SEGMENT_BACKLOG : 0) |
		  (dsack ? SEGMENT_DSACK : 0) | (held ? SEGMENT_HELD : 0);
	end = &segment_ends[s.conn & (ENDS - 1)];
	if (*end == end_of(&s, ts) && !s.gap && !fin)
		done = emit_next(c, &s, ts);
	else
		done = emit_segment(
			c, &s, (u32)GET(btf, tp, bytes_acked) + write_seq - GET(btf, tp, snd_una),
			ts);
	s.pos += s.len;
	*end = done ? end_of(&s, ts) : 0;
	return 0;
}

SEC("?tp_btf/tcp_probe")
int BPF_PROG(requests__segment, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp;

	tp = has_casts ? CAST(sk, struct tcp_sock) : bpf_skc_to_tcp_sock(sk);
	return tp ? on_segment(sk, tp, skb, true) : 0;
}

SEC("?raw_tp/tcp_probe")
int BPF_PROG(requests__segment__raw, struct sock *sk, struct sk_buff *skb)
{
	return on_segment(sk, (void *)sk, skb, false);
}
