// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/request_size.c: how many requests share a turn, by sizes alone. */
#include "tests/unit.h"

#include "analyze/request_size.h"

static u64 state = 1;

static u64 random_below(u64 n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

/* Calls of gRPC on shared connections: mostly one, sometimes up to 200, now and then a control
 * frame. */
static void multiplexed_requests_are_counted(void **unused)
{
	struct request_size s = { 0 };
	struct request_count c;
	u64 truth = 0, turns = 3000, k, i;

	(void)unused;
	for (i = 0; i < turns; i++) {
		k = random_below(4) ? 1 : 1 + random_below(i % 10 ? 12 : 200);
		truth += k;
		request_size_note(&s, 147 * k + (random_below(20) ? 0 : 13));
	}
	c = request_size_count(&s);
	assert_int_equal(c.unit, 147);
	assert_int_equal(c.turns, turns);
	assert_int_equal(c.requests, truth);
	assert_true(c.least < truth && c.least > truth * 9 / 10);
	assert_true(c.several > turns / 5 && c.several < turns / 4);
}

/* A server that never has only one to answer: the size was not seen alone. */
static void a_size_never_seen_alone_is_found(void **unused)
{
	static const u64 bytes[] = { 27048, 12348, 12201, 3675, 27048, 2499, 1470, 6174 };
	struct request_size s = { 0 };
	struct request_count c;
	u64 truth = 0, i;

	(void)unused;
	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		request_size_note(&s, bytes[i]);
		truth += bytes[i] / 147;
	}
	c = request_size_count(&s);
	assert_int_equal(c.unit, 147);
	assert_int_equal(c.requests, truth);
	assert_int_equal(c.least, truth);
	assert_int_equal(c.several, sizeof(bytes) / sizeof(bytes[0]));
}

static void other_sizes_tell_nothing(void **unused)
{
	u64 found = 0, seed, i, spread;

	(void)unused;
	for (seed = 0; seed < 400; seed++) {
		struct request_size s = { 0 };

		/* statements of some bytes more or less, files of any size, words of 8 bytes */
		spread = (const u64[]){ 5, 40, 1000, 100000 }[seed % 4];
		for (i = 0; i < 2000; i++)
			request_size_note(&s, 20 + random_below(spread) * (seed / 4 % 2 ? 8 : 1));
		found += request_size_count(&s).unit != 0;
	}
	assert_int_equal(found, 0);
}

static void two_sizes_are_two_kinds(void **unused)
{
	struct request_size s = { 0 };
	int i;

	(void)unused;
	for (i = 0; i < 100; i++)
		request_size_note(&s, 100);
	assert_int_equal(request_size_count(&s).unit, 0);
	for (i = 0; i < 50; i++)
		request_size_note(&s, 200); /* reads and writes, say: not two of the first */
	assert_int_equal(request_size_count(&s).unit, 0);
}

static void later_sizes_must_keep_to_it(void **unused)
{
	struct request_size s = { 0 };
	u64 i;

	(void)unused;
	for (i = 1; i <= REQUEST_SIZES; i++)
		request_size_note(&s, 100 * i);
	assert_int_equal(request_size_count(&s).unit, 100);
	for (i = 0; i < 1000; i++)
		request_size_note(&s, 100000 + random_below(99999));
	assert_int_equal(request_size_count(&s).unit, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(multiplexed_requests_are_counted), T(a_size_never_seen_alone_is_found),
		T(other_sizes_tell_nothing),	     T(two_sizes_are_two_kinds),
		T(later_sizes_must_keep_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
