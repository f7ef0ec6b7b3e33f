// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows to byte planes and back, 8 rows by 8 bytes at a time. */
#include "planes.h"

#include <string.h>

/* Transposes 8 rows of 8 bytes (Hacker's Delight 7-3, on bytes). */
static void transpose8(u64 r[8])
{
	static const struct {
		int apart, shift;
		u64 mask;
	} steps[] = {
		{ 1, 8, 0x00ff00ff00ff00ff },
		{ 2, 16, 0x0000ffff0000ffff },
		{ 4, 32, 0x00000000ffffffff },
	};
	int s, i;

#pragma GCC unroll 3
	for (s = 0; s < 3; s++) {
#pragma GCC unroll 8
		for (i = 0; i < 8; i++) {
			int j = i | steps[s].apart;
			u64 t;

			if (i & steps[s].apart)
				continue;
			t = ((r[i] >> steps[s].shift) ^ r[j]) & steps[s].mask;
			r[j] ^= t;
			r[i] ^= t << steps[s].shift;
		}
	}
}

u64 planes_load(const u8 *at)
{
	u64 v;

	memcpy(&v, at, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

void planes_store(u8 *at, u64 v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	memcpy(at, &v, 8);
}

void planes_split(u8 *planes, const u8 *rows, const u32 *order, u32 n, u32 at)
{
	u64 r[8];
	u32 i, k;

	for (i = 0; i + 8 <= n; i += 8) {
		for (k = 0; k < 8; k++)
			r[k] = planes_load(rows + order[i + k] + at);
		transpose8(r);
		for (k = 0; k < 8; k++)
			planes_store(planes + (size_t)k * n + i, r[k]);
	}
	for (; i < n; i++)
		for (k = 0; k < 8; k++)
			planes[(size_t)k * n + i] = rows[order[i] + at + k];
}

void planes_join(const u8 *planes, u8 *rows, const u32 *order, u32 n, u32 at)
{
	u64 r[8];
	u32 i, k;

	for (i = 0; i + 8 <= n; i += 8) {
		for (k = 0; k < 8; k++)
			r[k] = planes_load(planes + (size_t)k * n + i);
		transpose8(r);
		for (k = 0; k < 8; k++)
			planes_store(rows + order[i + k] + at, r[k]);
	}
	for (; i < n; i++)
		for (k = 0; k < 8; k++)
			rows[order[i] + at + k] = planes[(size_t)k * n + i];
}
