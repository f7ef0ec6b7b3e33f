// SPDX-License-Identifier: GPL-2.0-or-later
#include "column_chunk.h"

#include <string.h>

#define TOGETHER 64 /* rows of which all columns are read while they are in the cache */

static void measure(struct chunk_column *c, const s64 *values, u32 rows, u32 columns)
{
	s64 min = c->min, max = c->max;
	bool null = c->width;
	u32 i;

	for (i = 0; i < rows; i++) {
		s64 v = values[(size_t)i * columns];

		null |= v == BULK_NULL;
		min = v < min && v != BULK_NULL ? v : min;
		max = v > max ? v : max; /* BULK_NULL is below all */
	}
	c->min = min;
	c->max = max;
	c->width = null; /* until all rows are known */
}

static void measure_all(struct chunk_head *h, const s64 *values)
{
	u32 at, c;

	for (c = 0; c < h->columns; c++)
		h->column[c] = (struct chunk_column){ .min = INT64_MAX, .max = INT64_MIN };
	for (at = 0; at < h->rows; at += TOGETHER)
		for (c = 0; c < h->columns; c++)
			measure(&h->column[c], values + (size_t)at * h->columns + c,
				h->rows - at < TOGETHER ? h->rows - at : TOGETHER, h->columns);
}

static void choose_width(struct chunk_column *c)
{
	u64 range = (u64)c->max - (u64)c->min;

	if (c->max < c->min || (!range && !c->width))
		c->width = 0;
	else if (range < UINT8_MAX)
		c->width = 1;
	else if (range < UINT16_MAX)
		c->width = 2;
	else
		c->width = range < UINT32_MAX ? 4 : 8;
}

#define PACK(type)                                                                      \
	for (i = 0; i < rows; i++) {                                                    \
		s64 v = values[(size_t)i * columns];                                    \
		type packed = v == BULK_NULL ? (type)-1 : (type)((u64)v - (u64)c->min); \
                                                                                        \
		memcpy(at + (size_t)i * sizeof(packed), &packed, sizeof(packed));       \
	}

static void pack(u8 *at, const struct chunk_column *c, const s64 *values, u32 rows, u32 columns)
{
	u32 i;

	switch (c->width) {
	case 1:
		PACK(u8)
		break;
	case 2:
		PACK(u16)
		break;
	case 4:
		PACK(u32)
		break;
	case 8: /* as they are */
		for (i = 0; i < rows; i++)
			memcpy(at + (size_t)i * 8, &values[(size_t)i * columns], 8);
	}
}

int chunk_pack(struct buf *out, const s64 *values, u32 rows, u32 columns, struct err *e)
{
	struct chunk_head h = { .rows = rows, .columns = columns };
	size_t size = sizeof(h);
	u32 c, at;
	int ret;

	if (rows > CHUNK_ROWS || columns > CHUNK_COLUMNS)
		return err_set(e, ERR_FAIL, "a chunk of %u rows of %u columns", rows, columns);
	measure_all(&h, values);
	for (c = 0; c < columns; c++) {
		choose_width(&h.column[c]);
		h.column[c].at = size;
		size += ((size_t)h.column[c].width * rows + 7) & ~(size_t)7;
	}
	buf_clear(out);
	ret = buf_reserve(out, size, e);
	if (ret < 0)
		return ret;
	out->len = size;
	memset(out->data, 0, size);
	memcpy(out->data, &h, sizeof(h));
	for (at = 0; at < rows; at += TOGETHER)
		for (c = 0; c < columns; c++)
			pack((u8 *)out->data + h.column[c].at + (size_t)at * h.column[c].width,
			     &h.column[c], values + (size_t)at * columns + c,
			     rows - at < TOGETHER ? rows - at : TOGETHER, columns);
	return 0;
}

bool chunk_check(const struct chunk_head *h, size_t bytes, u32 columns)
{
	u32 c;

	if (bytes < sizeof(*h) || !h->rows || h->rows > CHUNK_ROWS || h->columns != columns ||
	    columns > CHUNK_COLUMNS)
		return false;
	for (c = 0; c < columns; c++) {
		u32 width = h->column[c].width;

		if ((width != 0 && width != 1 && width != 2 && width != 4 && width != 8) ||
		    h->column[c].at > bytes || (u64)width * h->rows > bytes - h->column[c].at)
			return false;
	}
	return true;
}

#define LOAD(type)                                                                   \
	{                                                                            \
		type packed;                                                         \
                                                                                     \
		memcpy(&packed, at + (size_t)row * sizeof(packed), sizeof(packed));  \
		return packed == (type)-1 ? BULK_NULL : (s64)((u64)c->min + packed); \
	}

static inline s64 value(const u8 *at, const struct chunk_column *c, u32 row)
{
	s64 v;

	switch (c->width) {
	case 1:
		LOAD(u8)
	case 2:
		LOAD(u16)
	case 4:
		LOAD(u32)
	case 8:
		memcpy(&v, at + (size_t)row * 8, 8);
		return v;
	default:
		return c->max < c->min ? BULK_NULL : c->min;
	}
}

s64 chunk_value(const u8 *chunk, const struct chunk_column *c, u32 row)
{
	return value(chunk + c->at, c, row);
}

#define UNPACK(type)                                                                \
	for (; row < last; row++, ret += step) {                                    \
		type packed;                                                        \
                                                                                    \
		memcpy(&packed, at + (size_t)row * sizeof(packed), sizeof(packed)); \
		*ret = packed == (type)-1 ? BULK_NULL : (s64)(min + packed);        \
	}                                                                           \
	break;

static inline __attribute__((always_inline)) void unpack(const u8 *chunk,
							 const struct chunk_column *c, u32 first,
							 u32 last, s64 *ret, size_t step)
{
	const u8 *at = chunk + c->at;
	u64 min = (u64)c->min;
	u32 row = first;
	s64 same;

	switch (c->width) {
	case 1:
		UNPACK(u8)
	case 2:
		UNPACK(u16)
	case 4:
		UNPACK(u32)
	case 8:
		for (; row < last; row++, ret += step)
			memcpy(ret, at + (size_t)row * 8, 8);
		break;
	default:
		for (same = value(at, c, row); row < last; row++, ret += step)
			*ret = same;
	}
}

void chunk_values(const u8 *chunk, const struct chunk_column *c, u32 first, u32 last, s64 *ret)
{
	unpack(chunk, c, first, last, ret, 1);
}

void chunk_values_spread(const u8 *chunk, const struct chunk_column *c, u32 first, u32 last,
			 s64 *ret, size_t step)
{
	unpack(chunk, c, first, last, ret, step);
}
