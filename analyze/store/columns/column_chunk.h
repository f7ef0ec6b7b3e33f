/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a table of integers as a chunk of columns: of each column its minimum, and what its
 * values are above that in 0, 1, 2, 4 or 8 bytes. All in the order of this machine's bytes.
 */
#pragma once

#include "analyze/store/row_types.h"

#include "format/buf.h"

#define CHUNK_ROWS    16384
#define CHUNK_COLUMNS 32

struct chunk_column {
	s64 min, max; /* of what is not NULL; max < min: all is */
	u32 at;	      /* in the chunk */
	u32 width;    /* bytes of a value; the largest one is NULL. 0: all are min, or NULL */
};

struct chunk_head {
	u32 rows, columns;
	struct chunk_column column[CHUNK_COLUMNS];
};

/* Makes out the chunk of rows of as many columns, 8 bytes each. */
int chunk_pack(struct buf *out, const s64 *values, u32 rows, u32 columns, struct err *e);

/* Whether the head can be true of a chunk of so many bytes. */
bool chunk_check(const struct chunk_head *h, size_t bytes, u32 columns);

/* A value of a chunk that was checked, or BULK_NULL. */
s64 chunk_value(const u8 *chunk, const struct chunk_column *c, u32 row);

/* Those of rows first..last. */
void chunk_values(const u8 *chunk, const struct chunk_column *c, u32 first, u32 last, s64 *ret);

/* The same, at every step-th place of ret. */
void chunk_values_spread(const u8 *chunk, const struct chunk_column *c, u32 first, u32 last,
			 s64 *ret, size_t step);
