// SPDX-License-Identifier: GPL-2.0-or-later
/* Log-linear buckets: octave by octave, each cut into HIST_SUB equal parts. */
#include "hist.h"

#include <stdlib.h>

#define SUB_BITS 5 /* log2(HIST_SUB) */

/* Octave 0 holds the values below HIST_SUB one by one; octave o holds [SUB << (o-1), SUB << o). */
static void place(u64 value, int *octave, int *sub)
{
	int top;

	if (value < HIST_SUB) {
		*octave = 0;
		*sub = value;
		return;
	}
	top = 63 - __builtin_clzll(value);
	*octave = top - SUB_BITS + 1;
	*sub = (value >> (top - SUB_BITS)) & (HIST_SUB - 1);
}

void hist_add_times(struct hist *h, u64 value, u64 n)
{
	int octave, sub;
	u64 sum;
	u32 *at;

	if (!n)
		return;
	if (__builtin_mul_overflow(value, n, &sum) || __builtin_add_overflow(h->sum, sum, &h->sum))
		h->sum = UINT64_MAX;
	h->min = h->n == 0 || value < h->min ? value : h->min;
	h->max = value > h->max ? value : h->max;
	h->n = h->n + n < n ? UINT64_MAX : h->n + n;
	place(value, &octave, &sub);
	if (!h->octave[octave])
		h->octave[octave] = calloc(HIST_SUB, sizeof(**h->octave));
	if (!h->octave[octave])
		return;
	at = &h->octave[octave][sub];
	*at = n > UINT32_MAX - *at ? UINT32_MAX : *at + (u32)n;
}

void hist_add(struct hist *h, u64 value)
{
	hist_add_times(h, value, 1);
}

bool hist_take(struct hist *h, u64 value)
{
	int octave, sub;

	place(value, &octave, &sub);
	if (!h->octave[octave] || !h->octave[octave][sub])
		return false;
	h->octave[octave][sub]--;
	h->n--;
	h->sum -= value < h->sum ? value : h->sum;
	return true;
}

void hist_each(const struct hist *h, void (*fn)(void *arg, u64 low, u64 high, u64 n), void *arg)
{
	int octave, sub, shift;
	u64 low, high;

	for (octave = 0; octave < HIST_OCTAVES; octave++) {
		if (!h->octave[octave])
			continue;
		shift = octave ? octave - 1 : 0;
		for (sub = 0; sub < HIST_SUB; sub++) {
			if (!h->octave[octave][sub])
				continue;
			low = (u64)(octave ? HIST_SUB + sub : sub) << shift;
			high = low + (1ull << shift);
			fn(arg, low, high > low ? high : UINT64_MAX, h->octave[octave][sub]);
		}
	}
}

void hist_free(struct hist *h)
{
	int octave;

	for (octave = 0; octave < HIST_OCTAVES; octave++)
		free(h->octave[octave]);
	*h = (struct hist){ 0 };
}
