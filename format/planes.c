// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows to byte planes and back, 16 rows by 8 bytes at a time. */
#include "planes.h"

/* Rows that are turned at a time: their bytes at one column fill a vector. */
#define ROWS 16

typedef u8 vec __attribute__((vector_size(ROWS)));

/* clang and, since 12, gcc take the indices as arguments; older gcc as a vector. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef SHUFFLE
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (vec){ __VA_ARGS__ })
#endif

/* The lower or upper halves of two vectors, byte by byte in turn. */
#define LOWER(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/*
 * One step of turning 128 bytes, 8 vectors of 16. Of a byte's place, 3 bits are the number of its
 * vector and 4 its place in it. The step puts the bit of the vector's number with this value last
 * among the 4, and the first of these where that one was.
 */
static inline __attribute__((always_inline)) void turn(vec v[8], int bit)
{
	vec lower;
	int i;

#ifdef __clang__
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 8
#endif
	for (i = 0; i < 8; i++) {
		if (i & bit)
			continue;
		lower = LOWER(v[i], v[i | bit]);
		v[i | bit] = UPPER(v[i], v[i | bit]);
		v[i] = lower;
	}
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
	/* after the four steps below, the vector that holds the plane */
	static const u8 where[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };
	u32 i, k;
	vec v[8];

	for (i = 0; i + ROWS <= n; i += ROWS) {
		for (k = 0; k < 8; k++) {
			memcpy(&v[k], rows + order[i + 2 * k] + at, 8);
			memcpy((u8 *)&v[k] + 8, rows + order[i + 2 * k + 1] + at, 8);
		}
		turn(v, 4);
		turn(v, 2);
		turn(v, 1);
		turn(v, 4);
		for (k = 0; k < 8; k++)
			memcpy(planes + (size_t)k * n + i, &v[where[k]], ROWS);
	}
	for (; i < n; i++)
		for (k = 0; k < 8; k++)
			planes[(size_t)k * n + i] = rows[order[i] + at + k];
}

void planes_join(const u8 *planes, u8 *rows, const u32 *order, u32 n, u32 at)
{
	u32 i, k;
	vec v[8];

	for (i = 0; i + ROWS <= n; i += ROWS) {
		for (k = 0; k < 8; k++)
			memcpy(&v[k], planes + (size_t)k * n + i, ROWS);
		turn(v, 4);
		turn(v, 2);
		turn(v, 1);
		for (k = 0; k < 8; k++) {
			memcpy(rows + order[i + 2 * k] + at, &v[k], 8);
			memcpy(rows + order[i + 2 * k + 1] + at, (u8 *)&v[k] + 8, 8);
		}
	}
	for (; i < n; i++)
		for (k = 0; k < 8; k++)
			rows[order[i] + at + k] = planes[(size_t)k * n + i];
}
