/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows to byte planes and back. Rows may lie anywhere: order[i] is the offset of
 * row i. Of each row the 8 bytes from column `at` on are taken; plane k holds byte
 * at + k of all n rows.
 */
#pragma once

#include "event.h"

#include <string.h>

/* rows -> planes: writes 8 * n bytes. */
void planes_split(u8 *planes, const u8 *rows, const u32 *order, u32 n, u32 at);

/* planes -> rows: reads 8 * n bytes. */
void planes_join(const u8 *planes, u8 *rows, const u32 *order, u32 n, u32 at);

/* A little-endian u64 at any address, in the host's order. */
static inline u64 planes_load(const u8 *at)
{
	u64 v;

	memcpy(&v, at, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

void planes_store(u8 *at, u64 v);
