// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums by a number, in an array that grows. */
#include "tally.h"

#include "format/grow.h"

#include <stdint.h>
#include <stdlib.h>

#define TALLY_MAX 400000

static struct tally_row *place_for(struct tally *t, s64 key)
{
	uintptr_t at = (uintptr_t)idmap_get(&t->places, (u64)key);
	struct err e = { 0 };

	if (at)
		return &t->of[at - 1];
	if (GROW(t->of, t->n, "sums", &e) < 0 ||
	    idmap_put(&t->places, (u64)key, (void *)(uintptr_t)(t->n + 1), TALLY_MAX, &e) < 0)
		return NULL;
	t->of[t->n] = (struct tally_row){ .key = key };
	return &t->of[t->n++];
}

void tally_add(struct tally *t, s64 key, double sum)
{
	struct tally_row *r = place_for(t, key);

	t->total += sum;
	if (!r)
		return;
	r->sum += sum;
	r->n++;
}

static int by_sum(const void *a, const void *b)
{
	const struct tally_row *x = a, *y = b;

	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

void tally_sort(struct tally *t)
{
	if (t->n)
		qsort(t->of, t->n, sizeof(t->of[0]), by_sum);
}

void tally_free(struct tally *t)
{
	free(t->of);
	idmap_free(&t->places);
	*t = (struct tally){ 0 };
}
