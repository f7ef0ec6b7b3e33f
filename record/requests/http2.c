// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HTTP/2 (RFC 9113): each stream that the client opens is a request. Its answer is an error by the
 * status, and one of gRPC by grpc-status, which trailers have as well.
 */
#include "parse.h"

#include <stdio.h>

#define FRAME	    9
#define PREFACE	    24
#define DATA	    0
#define HEADERS	    1
#define TYPES	    0x20 /* known and extensions in use */
#define END_HEADERS 0x04
#define PADDED	    0x08
#define PRIORITY    0x20
#define FAILED	    (1u << 31) /* of the number of a stream: its error was counted */

/* The header block within a frame's payload; false: it makes no sense. */
static bool block_of(u8 flags, const u8 *b, size_t n, size_t *from, size_t *to)
{
	*from = 0;
	*to = n;
	if (flags & PADDED) {
		if (!n || b[0] >= n)
			return false;
		*from = 1;
		*to = n - b[0];
	}
	if (flags & PRIORITY)
		*from += 5;
	return *from <= *to;
}

/* Decodes a frame's header block; false: it is not known. */
static bool decode(struct hpack **h, u8 flags, const u8 *b, size_t n, struct headers *ret)
{
	size_t from, to;

	if (!*h)
		*h = hpack_new();
	if (!*h)
		return false;
	if (b && flags & END_HEADERS && block_of(flags, b, n, &from, &to))
		return hpack_decode(*h, b + from, to - from, ret);
	hpack_forget(*h);
	return false;
}

static u32 name_of(struct found *f, u32 at, const struct headers *h)
{
	char name[NAME_BYTES];
	int k = snprintf(name, sizeof(name), "%s ", h->method[0] ? h->method : "?");

	path_template(name + k, sizeof(name) - k, h->path, strlen(h->path));
	return found_add(f, at, h->grpc ? PROTOCOL_GRPC : PROTOCOL_HTTP2, name);
}

static void name_request(struct stream *s, struct found *f, u32 at, u8 flags, const u8 *b, size_t n,
			 u32 opened)
{
	struct headers h;
	bool known = decode(&s->hpack, flags, b, n, &h) && h.has_path;
	u32 name;

	if (!opened)
		return;
	name = known ? name_of(f, at, &h) : found_add(f, at, PROTOCOL_HTTP2, "(path not seen)");
	s->asked.list[opened / 2 % ASKED].name = name;
	s->asked.list[opened / 2 % ASKED].id = opened;
}

void http2_answered(struct stream *s, struct errors_found *f, u8 flags, u32 id, const u8 *b,
		    size_t n)
{
	struct error_run run = { .count = 1, .protocol = PROTOCOL_HTTP2 };
	u32 i = id / 2 % ASKED;
	struct headers h;

	if (!decode(&s->answers.hpack, flags, b, n, &h)) {
		f->missed = true;
		return;
	}
	run.status = h.status >= 400 && h.status < 600 ? h.status : 0;
	if (!run.status && h.grpc_status > 0) {
		run.status = (u16)h.grpc_status;
		run.protocol = PROTOCOL_GRPC;
	}
	if (!run.status)
		return;
	if (s->asked.list[i].id == (id | FAILED))
		return; /* the trailers after such a status */
	if (s->asked.list[i].id == id) {
		run.name = s->asked.list[i].name;
		s->asked.list[i].id |= FAILED;
	}
	errors_add(f, run, NULL, 0);
}

u64 parse_http2(struct stream *s, struct found *f, const u8 *b, size_t n)
{
	u64 at = 0;
	u32 len, id;
	bool whole, opens;

	s->whole = true;
	if (n && memcmp(b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", n < PREFACE ? n : PREFACE) == 0) {
		f->incomplete = n < PREFACE;
		if (f->incomplete)
			return 0;
		at = PREFACE;
	}
	s->quiet = true; /* frames of the connection, as PING, begin no request */
	while (at < n) {
		f->incomplete = n - at < FRAME;
		if (f->incomplete)
			return at;
		len = (u32)b[at] << 16 | b[at + 1] << 8 | b[at + 2];
		id = be32(b + at + 5) & 0x7fffffff;
		f->lost = b[at + 3] >= TYPES || b[at + 5] & 128;
		if (f->lost)
			return at;
		s->quiet &= b[at + 3] != DATA && b[at + 3] != HEADERS;
		whole = n - at - FRAME >= len;
		f->incomplete = b[at + 3] == HEADERS && !whole && n - at < CARRY_MAX;
		if (f->incomplete)
			return at;
		opens = b[at + 3] == HEADERS && id & 1 && id > s->last;
		if (b[at + 3] == HEADERS)
			name_request(s, f, at, b[at + 4], whole ? b + at + FRAME : NULL, len,
				     opens ? id : 0);
		s->last = opens ? id : s->last;
		at += FRAME + len;
	}
	return at;
}
