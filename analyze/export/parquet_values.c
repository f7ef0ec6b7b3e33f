// SPDX-License-Identifier: GPL-2.0-or-later
#include "parquet_values.h"

#include "analyze/store/row_types.h"
#include "protobuf.h"

#include <string.h>

/* DELTA_BINARY_PACKED: blocks of deltas, each in parts of 32 with a width of their own. */
#define PARTS 4
#define PART  32
#define BLOCK (PARTS * PART)

static void put_le(u8 *to, u64 v, u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		to[i] = (u8)(v >> 8 * i);
}

static int add_varint(struct buf *out, u64 value, struct err *e)
{
	u8 bytes[VARINT_MAX];

	return buf_add(out, bytes, varint(bytes, value), e);
}

static u64 zigzag(s64 v)
{
	return (u64)v << 1 ^ (u64)(v >> 63);
}

/* ---- definition levels: 1 of a value, 0 of NULL ---- */

static int add_bits(struct buf *out, const s64 *values, u32 n, struct err *e)
{
	u32 groups = (n + 7) / 8, i;
	int ret = add_varint(out, (u64)groups << 1 | 1, e);

	if (ret == 0)
		ret = buf_reserve(out, groups, e);
	if (ret < 0)
		return ret;
	memset(out->data + out->len, 0, groups);
	for (i = 0; i < n; i++)
		if (values[i] != BULK_NULL)
			out->data[out->len + i / 8] |= (char)(1u << i % 8);
	out->len += groups;
	return 0;
}

int page_levels(struct buf *out, const s64 *values, u32 n, u32 nulls, struct err *e)
{
	size_t start = out->len;
	u8 size[4] = { 0 }, level = nulls == 0;
	int ret = buf_add(out, size, sizeof(size), e);

	if (ret == 0 && nulls && nulls < n) {
		ret = add_bits(out, values, n, e);
	} else if (ret == 0) {
		ret = add_varint(out, (u64)n << 1, e);
		if (ret == 0)
			ret = buf_add(out, &level, 1, e);
	}
	if (ret < 0)
		return ret;
	put_le(size, out->len - start - sizeof(size), sizeof(size));
	memcpy(out->data + start, size, sizeof(size));
	return 0;
}

/* ---- integers ---- */

/* 32 values of so many bits, the lowest first. Returns the end. */
static u8 *pack_part(u8 *to, const u64 *v, u32 width)
{
	u64 gathered = 0;
	u32 have = 0, i;

	for (i = 0; i < PART && width; i++) {
		gathered |= v[i] << have;
		if (have + width < 64) {
			have += width;
			continue;
		}
		put_le(to, gathered, 8);
		to += 8;
		gathered = have ? v[i] >> (64 - have) : 0;
		have = have + width - 64;
	}
	put_le(to, gathered, have / 8); /* 32 bits, or none */
	return to + have / 8;
}

/* A block of the n deltas between n + 1 values; those that lack are filled with the least one. */
static int add_block(struct buf *out, const s64 *values, u32 n, struct err *e)
{
	u64 delta[BLOCK], bits;
	s64 least = INT64_MAX;
	u32 i, part;
	u8 *to, *widths;
	int ret;

	/* differences wrap around, and the reader's sums do */
	for (i = 0; i < n; i++) {
		delta[i] = (u64)values[i + 1] - (u64)values[i];
		least = (s64)delta[i] < least ? (s64)delta[i] : least;
	}
	for (i = 0; i < BLOCK; i++)
		delta[i] = i < n ? delta[i] - (u64)least : 0;
	ret = add_varint(out, zigzag(least), e);
	if (ret == 0)
		ret = buf_reserve(out, PARTS + BLOCK * 8, e);
	if (ret < 0)
		return ret;
	widths = (u8 *)out->data + out->len;
	to = widths + PARTS;
	for (part = 0; part < PARTS; part++) {
		for (i = 0, bits = 0; i < PART; i++)
			bits |= delta[part * PART + i];
		widths[part] = bits ? (u8)(64 - __builtin_clzll(bits)) : 0;
		if (part * PART < n)
			to = pack_part(to, delta + (size_t)part * PART, widths[part]);
	}
	out->len = (size_t)(to - (u8 *)out->data);
	return 0;
}

int page_deltas(struct buf *out, const s64 *values, u32 n, struct err *e)
{
	u32 i;
	int ret = add_varint(out, BLOCK, e);

	if (ret == 0)
		ret = add_varint(out, PARTS, e);
	if (ret == 0)
		ret = add_varint(out, n, e);
	if (ret == 0)
		ret = add_varint(out, n ? zigzag(values[0]) : 0, e);
	for (i = 1; i < n && ret == 0; i += BLOCK)
		ret = add_block(out, values + i - 1, n - i < BLOCK ? n - i : BLOCK, e);
	return ret;
}
