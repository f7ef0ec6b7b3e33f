// SPDX-License-Identifier: GPL-2.0-or-later
/* Radix sort from the lowest digit on; digits in which all keys agree are left out. */
#include "sorted.h"

#include <gsl/gsl_sort.h>
#include <stdlib.h>
#include <string.h>

#define BITS   11
#define DIGITS 6 /* BITS * DIGITS >= 64 */
#define VALUES (1u << BITS)
#define FEW    1024 /* fewer are sorted by comparisons */

typedef u64 __attribute__((may_alias)) word;

struct radix {
	word *key, *value; /* value: NULL if there are none */
	word *to_key, *to_value;
	size_t at[DIGITS][VALUES]; /* counts; then where the next one of the value goes */
};

static unsigned int digit(u64 key, int d)
{
	return key >> (d * BITS) & (VALUES - 1);
}

static void count(struct radix *r, size_t n)
{
	size_t i;
	int d;

	memset(r->at, 0, sizeof(r->at));
	for (i = 0; i < n; i++)
		for (d = 0; d < DIGITS; d++)
			r->at[d][digit(r->key[i], d)]++;
}

static void swap(word **a, word **b)
{
	word *c = *a;

	*a = *b;
	*b = c;
}

static void move(struct radix *r, size_t n, int d)
{
	size_t *at = r->at[d], i, k, sum = 0;

	for (i = 0; i < VALUES; i++) {
		k = at[i];
		at[i] = sum;
		sum += k;
	}
	for (i = 0; i < n; i++) {
		k = at[digit(r->key[i], d)]++;
		r->to_key[k] = r->key[i];
		if (r->value)
			r->to_value[k] = r->value[i];
	}
	swap(&r->key, &r->to_key);
	swap(&r->value, &r->to_value);
}

/* Keys as unsigned numbers. False: out of memory, nothing has moved. */
static bool sort(word *key, word *value, size_t n)
{
	struct radix *r = malloc(sizeof(*r));
	word *more = malloc(n * sizeof(*more) * (value ? 2 : 1));
	bool done = r && more;
	int d;

	if (!done)
		goto out;
	r->key = key;
	r->value = value;
	r->to_key = more;
	r->to_value = value ? more + n : NULL;
	count(r, n);
	for (d = 0; d < DIGITS; d++)
		if (r->at[d][digit(r->key[0], d)] != n)
			move(r, n, d);
	if (r->key != key) {
		memcpy(key, r->key, n * sizeof(*key));
		if (value)
			memcpy(value, r->value, n * sizeof(*value));
	}
out:
	free(r);
	free(more);
	return done;
}

/* Doubles as unsigned numbers in the same order: negative ones turned round, below the others. */
static void turn(word *v, size_t n, bool back)
{
	u64 top = 1ull << 63;
	size_t i;

	for (i = 0; i < n; i++)
		v[i] ^= !(v[i] & top) == back ? UINT64_MAX : top;
}

void sort_numbers(double *v, size_t n)
{
	word *w = (word *)v;

	if (n < FEW) {
		gsl_sort(v, 1, n);
		return;
	}
	turn(w, n, false);
	if (sort(w, NULL, n)) {
		turn(w, n, true);
		return;
	}
	turn(w, n, true);
	gsl_sort(v, 1, n);
}

bool sort_keys(s64 *keys, void *values, size_t n)
{
	size_t i;
	bool done;

	for (i = 1; i < n && keys[i - 1] <= keys[i]; i++)
		;
	if (i >= n)
		return true;
	for (i = 0; i < n; i++)
		keys[i] ^= INT64_MIN;
	done = sort((word *)keys, values, n);
	for (i = 0; i < n; i++)
		keys[i] ^= INT64_MIN;
	return done;
}

size_t sorted_from(const void *rows, size_t n, size_t bytes, s64 v)
{
	size_t low = 0, high = n, mid;
	s64 at;

	while (low < high) {
		mid = low + (high - low) / 2;
		memcpy(&at, (const char *)rows + mid * bytes, sizeof(at));
		if (at < v)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
