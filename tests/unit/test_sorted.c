// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/stats/sorted.c: against sorting by comparisons. */
#include "analyze/stats/sorted.h"
#include "tests/lib/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MANY 20000

static u64 seed = 88172645463325252u;

static u64 noise(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void numbers_are_sorted(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 1023, 1024, 1025, MANY };
	static double v[MANY], want[MANY];
	size_t i, k;

	(void)state;
	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		size_t n = sizes[k];

		for (i = 0; i < n; i++) /* ties, and both signs */
			v[i] = i % 7 == 0 ? (double)(noise() % 5) - 2 + 0.0
					  : ldexp((double)(s64)noise(), (int)(noise() % 200) - 150);
		if (n > 1000) {
			v[7] = INFINITY;
			v[8] = -INFINITY;
			v[9] = 5e-324;
		}
		memcpy(want, v, sizeof(v));
		qsort(want, n, sizeof(*want), by_value);
		sort_numbers(v, n);
		for (i = 0; i < n; i++)
			assert_true(v[i] == want[i]);
	}
}

/* Keys with a low range have many ties; the whole range has negative ones and all digits. */
static void keys_move_their_values(void **state)
{
	static const u64 masks[] = { 0xff, 0xffffff, UINT64_MAX };
	static s64 keys[MANY], before[MANY];
	static u64 values[MANY];
	size_t i, k;

	(void)state;
	for (k = 0; k < sizeof(masks) / sizeof(masks[0]); k++) {
		for (i = 0; i < MANY; i++) {
			before[i] = keys[i] = (s64)((noise() & masks[k]) - 100);
			values[i] = i;
		}
		assert_true(sort_keys(keys, values, MANY));
		for (i = 0; i < MANY; i++) {
			assert_true(keys[i] == before[values[i]]);
			if (i) /* of equal keys the order stays */
				assert_true(keys[i - 1] < keys[i] ||
					    (keys[i - 1] == keys[i] && values[i - 1] < values[i]));
		}
	}
}

static void sorted_keys_stay(void **state)
{
	s64 keys[] = { INT64_MIN, -1, -1, 0, 5, INT64_MAX };
	double values[] = { 1, 2, 3, 4, 5, 6 };
	int i;

	(void)state;
	assert_true(sort_keys(keys, values, 6));
	for (i = 0; i < 6; i++)
		assert_true(values[i] == i + 1);
	assert_true(sort_keys(NULL, NULL, 0));
	keys[0] = 7;
	assert_true(sort_keys(keys, values, 6));
	assert_true(keys[4] == 7 && values[4] == 1 && keys[5] == INT64_MAX && values[5] == 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(numbers_are_sorted),
		T(keys_move_their_values),
		T(sorted_keys_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
