/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First bytes of what a connection has received, and of answers that look like errors. obsrec
 * makes names of them; they do not reach the file.
 */
#pragma once

#include "status.bpf.h"
#include "stream.bpf.h"

#define MSG_OOB	      0x1
#define MSG_PEEK      0x2
#define MSG_ERRQUEUE  0x2000
#define ENDS_PIECES   2 /* at the start of a long receive, if it is not read whole */
#define ANSWER_PIECES 4 /* read of a send of several answers */
#define BUFFERS_MAX   16
#define GATHERED      16	 /* pieces of a send of several buffers */
#define PREFACE	      0x20495250 /* "PRI " */

const volatile bool heads = false;  /* bytes are read */
const volatile u8 moves[1024] = {}; /* by number of a system call: MOVE_* */

/* The first buffer of a call: base and length. */
static __always_inline bool first_buffer(struct span *ret, u8 move, u64 arg1, u64 arg2)
{
	*ret = (struct span){ arg1, arg2 };
	if (move & MOVE_MESSAGE) /* msg_iov of struct msghdr */
		if (bpf_probe_read_user(&arg1, sizeof(arg1), (void *)(arg1 + 16)))
			return false;
	if (move & (MOVE_MESSAGE | MOVE_VECTOR))
		return bpf_probe_read_user(ret, sizeof(*ret), (void *)arg1) == 0;
	return true;
}

struct piece {
	u64 ts, at, have; /* have: bytes that are there, of len */
	u32 tid, conn, pos, len;
	u16 type;
};

static __always_inline bool emit_piece(struct counts *c, const struct piece *p, const u32 size)
{
	struct ev_raw *e = reserve(c, p->ts, p->tid, p->type, sizeof(*e) + size);
	u64 n = p->have < p->len ? p->have : p->len;

	if (!e)
		return false;
	e->conn = p->conn;
	e->pos = p->pos;
	e->len = p->len;
	barrier_var(n); /* the verifier wants the bound compared last, and at one place */
	if (n > size)
		n = size;
	if (!p->at)
		n = 0;
	e->n = bpf_probe_read_user(e->bytes, n, (void *)p->at) ? 0 : n;
	ev_submit(e);
	return true;
}

/* Short answers have more room than bytes: their errors take it. */
static __always_inline void emit_by_size(struct counts *c, const struct piece *p)
{
	if (!p->at || (p->len <= HEAD_SHORT && p->type < RAW_ANSWER))
		emit_piece(c, p, HEAD_SHORT);
	else if (p->len <= 256)
		emit_piece(c, p, 256);
	else if (p->len <= 1024)
		emit_piece(c, p, 1024);
	else
		emit_piece(c, p, HEAD_PIECE);
}

/*
 * Piece number i of a receive: at has p->have bytes in the first buffer, of the left ones. pieces:
 * that are read from its start. Returns its length.
 */
static __always_inline u32 emit_part(struct counts *c, struct piece *p, u32 i, u32 pieces, u32 left)
{
	p->len = left;
	if (left > HEAD_PIECE && p->have >= left) {
		p->len = i < pieces ? HEAD_PIECE : left - HEAD_PIECE;
		if (i >= pieces)
			p->at = 0;
	}
	emit_by_size(c, p);
	return p->len;
}

#define OF_ANSWERS 0x80 /* above the number of pieces */

/*
 * The same as a global function, which the verifier walks once, not in each turn of a loop: so its
 * arguments are numbers. Kernels before 5.12 refuse its atomic instructions, which obsrec takes out
 * of programs only: only programs of newer kernels (tp_btf) call it.
 */
__noinline u32 emit_next_piece(u64 ts, u64 at, u64 conn_pos, u64 tid_left, u64 have_i_pieces)
{
	u8 i = have_i_pieces >> 8;
	struct piece p = {
		.ts = ts,
		.at = at,
		.have = have_i_pieces >> 16,
		.tid = tid_left >> 32,
		.conn = conn_pos >> 32,
		.pos = conn_pos,
		.type = (have_i_pieces & OF_ANSWERS ? RAW_ANSWER : RAW_HEAD) + !!i,
	};
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_counts *c = bpf_map_lookup_elem(&counters, &cpu);

	if (!c)
		return 0;
	return emit_part(&c->group[GROUP_requests], &p, i, have_i_pieces & (OF_ANSWERS - 1),
			 tid_left);
}

/* How many pieces are read from the start of a receive of so many bytes. */
static __always_inline u32 pieces_of(u32 conn, u64 len)
{
	u32 slot = conn & (HINTS - 1);

	if (len <= (ENDS_PIECES + 1) * HEAD_PIECE || !ring_has_room(bpf_get_smp_processor_id()))
		return ENDS_PIECES;
	return hint_deep(&hints[slot], &long_receives[slot], conn) ? HEAD_DEEP : ENDS_PIECES;
}

/*
 * A long receive is read in pieces, each counted as an event: those at its start, what lies
 * between, of which nothing is read, and the end, where the next request may start after a long
 * body.
 */
static __always_inline void emit_pieces(struct counts *c, struct piece *p, u32 left, u32 pieces,
					const bool btf)
{
	u16 type = p->type;
	u64 at = p->at;
	u32 i, len;

#pragma clang loop unroll(disable)
	for (i = 0; i < (btf ? HEAD_DEEP : ENDS_PIECES) + 2 && left; i++) {
		if (i)
			c = count_seen(GROUP_requests);
		if (!c)
			return;
		p->at = at;
		if (btf) {
			len = emit_next_piece(p->ts, at, (u64)p->conn << 32 | p->pos,
					      (u64)p->tid << 32 | left,
					      p->have << 16 | i << 8 | pieces |
						      (type == RAW_ANSWER ? OF_ANSWERS : 0));
		} else {
			p->type = type + !!i;
			len = emit_part(c, p, i, pieces, left);
		}
		left -= len;
		p->have -= len;
		at += len;
		p->pos += len;
	}
}

static __always_inline bool is_tcp(struct sock *sk, const bool btf)
{
	return GET(btf && has_casts, sk, sk_protocol) == IPPROTO_TCP;
}

/* May be an error of one of the protocols: obsrec knows. */
static __always_inline bool maybe_error(const u8 *b)
{
	if (b[0] == 'H' && b[1] == 'T' && b[5] == '1') /* HTTP/1.1 404 */
		return b[9] == '4' || b[9] == '5';
	if (b[0] == '-' || (b[0] == 'E' && (!b[1] || b[1] == 'R')) ||
	    (b[0] == 'C' && b[1] == 'L') ||
	    (b[0] == 'S' && b[1] == 'E')) /* redis, PostgreSQL, memcached */
		return true;
	if (!b[2] && b[3] && b[4] == 0xff) /* MySQL */
		return true;
	if (!b[0] && b[3] == 1 && !(b[4] & 0x28)) /* HTTP/2: HEADERS with :status 400, 404, 500 */
		return b[9] >= 0x8c && b[9] <= 0x8e;
	return b[0] == 0x81 && !b[6] && b[7] > 1; /* memcached, binary */
}

/*
 * PostgreSQL: an error after the description of the rows, or after the login was accepted: the
 * second message of a send of several.
 */
static __always_inline bool error_follows(const u8 *b, u64 at, u64 n)
{
	u64 next = 1 + ((u64)b[3] << 8 | b[4]);
	u8 type[2] = {};

	if ((b[0] != 'T' && b[0] != 'R') || b[1] || b[2] || next + sizeof(type) > n)
		return false;
	return !bpf_probe_read_user(type, sizeof(type), (void *)(at + next)) && type[0] == 'E' &&
	       !type[1];
}

/* A connection that the peer opened: where its call is counted, its number and socket. */
struct served {
	struct counts *c;
	struct sock *sk;
	u32 conn;
	bool accepted; /* it was seen how it was opened */
};

static __always_inline bool find_served(struct served *ret, const struct call *call, u32 fd,
					const bool btf)
{
	u64 word;

	ret->sk = stream_at(fd, btf);
	if (!ret->sk)
		return false;
	ret->c = count_seen(GROUP_requests);
	if (!ret->c)
		return false;
	word = conn_word(ret->c, ret->sk, true, call->ts);
	if (!word)
		return false;
	ret->conn = word;
	ret->accepted = word & SOCK_SERVER;
	if (!(word & SOCK_CLIENT))
		return true;
	count(ret->c, filtered);
	return false;
}

/* Bytes that were read so far, the n of this call among them. */
static __always_inline u32 read_up_to(const struct served *on, u32 n, const bool btf)
{
	struct sock *sk = on->sk;
	struct tcp_sock *tp = btf && has_casts ? CAST(sk, struct tcp_sock) : (void *)sk;
	struct unix_bytes *b;

	if (!is_tcp(sk, btf)) {
		b = unix_bytes_of(on->conn, on->accepted);
		return b ? b->read += n : n;
	}
	if (btf && has_casts)
		return (u32)tp->bytes_received - tp->rcv_nxt + tp->copied_seq;
	return (u32)BPF_CORE_READ(tp, bytes_received) - BPF_CORE_READ(tp, rcv_nxt) +
	       BPF_CORE_READ(tp, copied_seq);
}

/*
 * By the first answer, whether more of redis or memcached follow it in a send of n bytes: its line,
 * and the value that the line announces, end before. Arrays and values of memcached are not looked
 * at: obsrec sees by the requests that there are several.
 */
static __always_inline bool several(const u8 *b, u64 n)
{
	bool is_value = b[0] == '$' && b[1] != '-';
	u64 value = 0;
	u32 i;

	if (b[0] != '+' && b[0] != '-' && b[0] != ':' && b[0] != '$' &&
	    (b[0] < 'A' || b[0] > 'Z' || b[0] == 'V' || b[0] == 'H'))
		return false;
#pragma clang loop unroll(full)
	for (i = 1; i < ANSWER_BYTES; i++) {
		if (b[i] == '\n')
			return b[i - 1] == '\r' && n > i + 1 + (is_value ? value + 2 : 0);
		if (is_value && b[i] >= '0' && b[i] <= '9')
			value = value * 10 + b[i] - '0';
	}
	return false;
}

/*
 * As much of several buffers as there is room for, one after the other, up to the first that is
 * cut: of that, a part of a body in HTTP/2, only the start is read. Returns how many buffers were
 * passed, and below that of how many bytes.
 */
static __always_inline u64 gather(struct counts *c, const struct piece *p, u64 buffers, bool last,
				  const u32 size)
{
	struct ev_raw *e = reserve(c, p->ts, p->tid, p->type, sizeof(*e) + size);
	u64 at = 0, n, passed = 0;
	struct span s;
	u32 i;

	if (!e)
		return 0;
#pragma clang loop unroll(disable)
	for (i = 0; i < BUFFERS_MAX && at <= size - size / 4 && passed < p->len; i++) {
		if (bpf_probe_read_user(&s, sizeof(s), (void *)(buffers + i * sizeof(s))))
			break;
		n = s.len;
		barrier_var(n);
		if (n > size / 4)
			n = size / 4;
		if (bpf_probe_read_user(e->bytes + at, n, (void *)s.at))
			break;
		at += n;
		passed += s.len;
		if (n < s.len) {
			i++;
			break;
		}
	}
	e->conn = p->conn;
	e->pos = p->pos;
	e->len = passed && !last && passed < p->len ? passed : p->len;
	e->n = at < e->len ? at : e->len;
	n = e->len;
	ev_submit(e);
	return (u64)i << 32 | n;
}

/* A global function for the same reason. */
__noinline u64 emit_gathered(u64 ts, u64 buffers, u64 conn_pos, u64 tid_len, u64 more)
{
	struct piece p = { .ts = ts,
			   .tid = tid_len >> 32,
			   .conn = conn_pos >> 32,
			   .pos = conn_pos,
			   .len = tid_len,
			   .type = more ? RAW_MORE : RAW_ANSWER };
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_counts *c = bpf_map_lookup_elem(&counters, &cpu);

	if (!c)
		return 0;
	if (more || p.len <= 1024)
		return gather(&c->group[GROUP_requests], &p, buffers, more == GATHERED - 1, 1024);
	return gather(&c->group[GROUP_requests], &p, buffers, false, HEAD_PIECE);
}

/* A send of several buffers; each piece is counted as an event. */
static __always_inline void emit_all_gathered(const struct piece *p, u64 buffers)
{
	u32 left = p->len, pos = p->pos, i;
	u64 passed;

#pragma clang loop unroll(disable)
	for (i = 0; i < GATHERED && left; i++) {
		if (i && !count_seen(GROUP_requests))
			return;
		passed = emit_gathered(p->ts, buffers, (u64)p->conn << 32 | pos,
				       (u64)p->tid << 32 | left, i);
		if (!(u32)passed || (u32)passed > left)
			return;
		buffers += (passed >> 32) * sizeof(struct span);
		left -= (u32)passed;
		pos += (u32)passed;
	}
}

/* Where the list of buffers is; 0: there is only one buffer. */
static __always_inline u64 buffers_of(u8 move, u64 arg1)
{
	u64 buffers = 0;

	if (move & MOVE_VECTOR)
		return arg1;
	if (move & MOVE_MESSAGE)
		bpf_probe_read_user(&buffers, sizeof(buffers), (void *)(arg1 + 16));
	return buffers;
}

/* Notes that all answers of a connection are wanted, if so now; whether they are. */
static __always_inline bool is_pipelined(u32 conn, bool now)
{
	volatile u32 *known = &pipelined[conn & (HINTS - 1)];

	if (now) {
		*known = hint_word(conn, PIPELINED);
		any_pipelined = 1;
	}
	return hint_value(*known, conn) == PIPELINED;
}

/*
 * The same of bytes written. From a Unix socket others may have been sent that were not looked at:
 * there is a gap then, as on TCP.
 */
static __always_inline u32 written_up_to(const struct served *on, u32 n, const bool btf)
{
	struct sock *sk = on->sk;
	struct tcp_sock *tp = (void *)sk;
	struct unix_bytes *b;

	if (!is_tcp(sk, btf)) {
		b = unix_bytes_of(on->conn, on->accepted);
		if (b && !is_pipelined(on->conn, false))
			b->written += UNSEEN;
		return b ? b->written += n : n;
	}
	return (u32)BPF_CORE_READ(tp, bytes_acked) + BPF_CORE_READ(tp, write_seq) -
	       BPF_CORE_READ(tp, snd_una);
}

static __always_inline void emit_joined(struct counts *c, const struct piece *p, const u64 *b)
{
	struct ev_raw *e = reserve(c, p->ts, p->tid, p->type, sizeof(*e) + ANSWER_BYTES);

	if (!e)
		return;
	e->conn = p->conn;
	e->pos = p->pos;
	e->len = p->len;
	e->n = ANSWER_BYTES;
	__builtin_memcpy(e->bytes, b, ANSWER_BYTES);
	ev_submit(e);
}

static __always_inline void answered(const struct call *call, const struct span *s, u32 fd,
				     u64 buffers, const bool btf)
{
	struct piece p = {
		call->ts, s->at, s->len, call->tid, 0, 0, call->ret, RAW_ANSWER,
	};
	u64 words[ANSWER_BYTES / sizeof(u64)] = {};
	const u8 *b = (const u8 *)words;
	bool error, more;
	struct served on;

	if (bpf_probe_read_user(words, sizeof(words), (void *)s->at))
		return;
	words[1] = word_of_status(words[0], words[1], s->len, buffers, call->ret);
	error = maybe_error(b) || error_follows(b, s->at, s->len);
	more = several(b, call->ret);
	if ((!error && !more && !any_pipelined) || !find_served(&on, call, fd, btf))
		return;
	p.conn = on.conn;
	p.pos = written_up_to(&on, call->ret, btf) - (u32)call->ret;
	/* an error of a longer line says nothing of what follows; HTTP has a body there */
	if (is_pipelined(p.conn, more) || (error && b[0] != 'H' && call->ret > HEAD_SHORT)) {
		if (btf && s->len < (u64)call->ret && buffers)
			emit_all_gathered(&p, buffers);
		else
			emit_pieces(on.c, &p, call->ret, ANSWER_PIECES, btf);
	} else if (error && b[0] == 'H' && is_split(s->len)) {
		emit_joined(on.c, &p, words);
	} else if (error) {
		emit_piece(on.c, &p, HEAD_SHORT);
	} else {
		count(on.c, filtered);
	}
}

/* At the start of a connection: all answers of HTTP/2 are wanted, from the first on. */
static __always_inline void check_preface(const struct piece *p)
{
	u32 word = 0;

	if (p->pos <= 2 && p->have >= sizeof(word) &&
	    !bpf_probe_read_user(&word, sizeof(word), (void *)p->at) && word == PREFACE)
		is_pipelined(p->conn, true);
}

static __always_inline void received(const struct call *call, const struct span *s, u32 fd,
				     const bool btf)
{
	u64 n = s->len < (u64)call->ret ? s->len : call->ret;
	struct piece p = { call->ts, s->at, n, call->tid, 0, 0, 0, RAW_HEAD };
	struct served on;

	if (!find_served(&on, call, fd, btf))
		return;
	p.conn = on.conn;
	if (hint_value(hints[p.conn & (HINTS - 1)], p.conn) == HINT_NONE) {
		count(on.c, filtered);
		return;
	}
	p.pos = read_up_to(&on, call->ret, btf) - (u32)call->ret;
	check_preface(&p);
	emit_pieces(on.c, &p, call->ret, btf ? pieces_of(p.conn, p.have) : ENDS_PIECES, btf);
}

/* A call that moves bytes of a descriptor has returned. */
static __always_inline void bytes_moved(const struct call *call, u8 move, struct pt_regs *regs,
					const bool btf)
{
	u64 flags = 0;
	struct span s;

	if (call->ret <= 0)
		return;
	if (move & MOVE_FLAGS)
		flags = move & MOVE_MESSAGE ? SYSCALL_ARG2(btf, regs) : SYSCALL_ARG3(btf, regs);
	if (flags & (MSG_OOB | MSG_PEEK | MSG_ERRQUEUE))
		return;
	if (!first_buffer(&s, move, SYSCALL_ARG1(btf, regs), SYSCALL_ARG2(btf, regs)))
		return;
	if (move & MOVE_RECEIVES)
		received(call, &s, SYSCALL_ARG0(btf, regs), btf);
	else
		answered(call, &s, SYSCALL_ARG0(btf, regs),
			 buffers_of(move, SYSCALL_ARG1(btf, regs)), btf);
}
