// SPDX-License-Identifier: GPL-2.0-or-later
/* Protocol Buffers, the writing half. */
#include "protobuf.h"

#include <string.h>

static void add(struct pb *p, const void *data, size_t n)
{
	if (p->failed == 0)
		p->failed = buf_add(&p->b, data, n, p->e);
}

size_t varint(u8 *to, u64 value)
{
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		to[n++] = value | 0x80;
	to[n++] = value;
	return n;
}

void pb_number(struct pb *p, u32 tag, u64 value)
{
	struct buf *b = &p->b;
	u8 *at;
	size_t n;

	if (p->failed == 0 && b->cap - b->len < 2 * VARINT_MAX)
		p->failed = buf_reserve(b, 2 * VARINT_MAX, p->e);
	if (p->failed != 0)
		return;
	at = (u8 *)b->data + b->len;
	n = varint(at, tag);
	b->len += n + varint(at + n, value);
}

void pb_bytes(struct pb *p, u32 tag, const void *data, size_t n)
{
	pb_number(p, tag, n);
	add(p, data, n);
}

void pb_text(struct pb *p, u32 tag, const char *text)
{
	pb_bytes(p, tag, text, strlen(text));
}

size_t pb_open(struct pb *p, u32 tag)
{
	pb_number(p, tag, 0); /* the length: one byte, until it is known to need more */
	return p->b.len;
}

void pb_close(struct pb *p, size_t at)
{
	u8 bytes[VARINT_MAX];
	size_t len = p->b.len - at, n = varint(bytes, len);

	if (n > 1)
		add(p, bytes, n - 1);
	if (p->failed != 0)
		return;
	if (n > 1)
		memmove(p->b.data + at + n - 1, p->b.data + at, len);
	memcpy(p->b.data + at - 1, bytes, n);
}
