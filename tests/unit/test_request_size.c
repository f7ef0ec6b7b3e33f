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

/* Each of these turns is of its own connection. */
static void note_alone(struct request_size *s, u64 bytes)
{
	struct request_stream at = { 0 };

	request_size_note(s, &at, bytes);
}

static struct request_count counted(struct request_size *s)
{
	struct request_count c = request_size_count(s);

	request_size_free(s);
	return c;
}

/* Calls of gRPC on shared connections: mostly one, sometimes up to 200, now and then a control
 * frame. In a short recording and in one of many blocks. */
static void multiplexed_requests_are_counted(void **unused)
{
	static const u64 lengths[] = { 3000, REQUEST_SIZE_BLOCK, 10 * REQUEST_SIZE_BLOCK };
	struct request_count c;
	u64 truth, k, i, round;

	(void)unused;
	for (round = 0; round < sizeof(lengths) / sizeof(lengths[0]); round++) {
		struct request_stream at[16] = { 0 };
		struct request_size s = { 0 };

		for (truth = i = 0; i < lengths[round]; i++) {
			k = random_below(4) ? 1 : 1 + random_below(i % 10 ? 12 : 200);
			truth += k;
			request_size_note(&s, &at[random_below(16)],
					  147 * k + (random_below(20) ? 0 : 13));
		}
		c = counted(&s);
		assert_int_equal(c.unit, 147);
		assert_int_equal(c.turns, lengths[round]);
		assert_int_equal(c.requests, truth);
		assert_true(c.least < truth && c.least > truth * 9 / 10);
		assert_true(c.several > c.turns / 5 && c.several < c.turns / 4);
	}
}

/*
 * Across a network under load: bursts of requests arrive in pieces of two segments, which a server
 * reads one by one. One turn in twenty ends with a control frame, which shifts all ends after it.
 */
static void requests_cut_by_the_network_are_counted(void **unused)
{
	struct request_stream at[16] = { 0 };
	struct request_size s = { 0 };
	struct request_count c;
	u64 truth = 0, whole = 0, i, k, left, piece;

	(void)unused;
	for (i = 0; i < 2000; i++) {
		k = 1 + random_below(80);
		truth += k;
		for (left = 147 * k + (random_below(20) ? 0 : 13); left; left -= piece) {
			piece = left < 2896 ? left : 2896;
			whole += piece % 147 == 0;
			request_size_note(&s, &at[i % 16], piece);
		}
	}
	c = counted(&s);
	assert_true(whole < c.turns * 4 / 10); /* their sizes alone tell little */
	assert_int_equal(c.unit, 147);
	assert_in_range(c.requests, truth * 995 / 1000, truth * 1005 / 1000);
	assert_in_range(c.least, truth * 8 / 10, c.requests);
}

/* The first connections send something else for a long time. */
static void what_comes_late_is_found(void **unused)
{
	struct request_stream at = { 0 };
	struct request_size s = { 0 };
	struct request_count c;
	u64 i, truth = 0, k;

	(void)unused;
	for (i = 0; i < REQUEST_SIZE_BLOCK; i++)
		note_alone(&s, 1000 + random_below(1000));
	for (i = 0; i < 10 * REQUEST_SIZE_BLOCK; i++) {
		truth += k = 1 + random_below(9);
		request_size_note(&s, &at, 147 * k);
	}
	c = counted(&s);
	assert_int_equal(c.unit, 147);
	assert_int_equal(c.turns, 11 * REQUEST_SIZE_BLOCK);
	/* of the first, what would fit in */
	assert_in_range(c.requests, truth, truth + REQUEST_SIZE_BLOCK * 2000 / 147);
	assert_in_range(c.least, truth * 9 / 10, truth + REQUEST_SIZE_BLOCK);
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
		note_alone(&s, bytes[i]);
		truth += bytes[i] / 147;
	}
	c = counted(&s);
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
		struct request_stream at[4] = { 0 };
		struct request_size s = { 0 };

		/* statements of some bytes more or less, files of any size, words of 8 bytes */
		spread = (const u64[]){ 5, 40, 1000, 100000 }[seed % 4];
		for (i = 0; i < 2000; i++)
			request_size_note(&s, &at[seed / 8 % 2 ? 0 : random_below(4)],
					  20 + random_below(spread) * (seed / 4 % 2 ? 8 : 1));
		found += counted(&s).unit != 0;
	}
	assert_int_equal(found, 0);
}

/* A body that is read, and answered, as it comes: segments and full buffers are no requests. */
static void pieces_of_large_bodies_are_no_requests(void **unused)
{
	static const u64 pieces[] = { 1448, 1460, 1398, 8948, 65483, 4096, 16384 };
	u64 i, left, piece, round;

	(void)unused;
	for (round = 0; round < sizeof(pieces) / sizeof(pieces[0]); round++) {
		struct request_stream at = { 0 };
		struct request_size s = { 0 };

		for (i = 0; i < 300; i++)
			for (left = 100 + random_below(60 * pieces[round]); left; left -= piece) {
				piece = (1 + random_below(4)) * pieces[round];
				piece = piece < left ? piece : left;
				request_size_note(&s, &at, piece);
			}
		assert_int_equal(counted(&s).unit, 0);
	}
}

static void two_sizes_are_two_kinds(void **unused)
{
	struct request_size s = { 0 }, both = { 0 };
	int i;

	(void)unused;
	for (i = 0; i < 100; i++) {
		note_alone(&s, 100);
		note_alone(&both, 100);
		if (i % 2)
			note_alone(&both, 200); /* reads and writes, say: not two of the first */
	}
	assert_int_equal(counted(&s).unit, 0);
	assert_int_equal(counted(&both).unit, 0);
}

static void later_sizes_must_keep_to_it(void **unused)
{
	struct request_size s = { 0 };
	struct request_stream at = { 0 };
	u64 i;

	(void)unused;
	for (i = 1; i <= REQUEST_SIZE_BLOCK; i++)
		request_size_note(&s, &at, 100 * (1 + i % 9));
	assert_int_equal(request_size_count(&s).unit, 100);
	for (i = 0; i < 20 * REQUEST_SIZE_BLOCK; i++)
		request_size_note(&s, &at, 100000 + random_below(99999));
	assert_int_equal(counted(&s).unit, 0);
}

/* Sizes of a hostile recording. */
static void huge_sizes_do_no_harm(void **unused)
{
	static const u64 bytes[] = { UINT64_MAX, UINT64_MAX - 1, 1ull << 63, 1ull << 62, 16, 0 };
	struct request_stream at = { 0 };
	struct request_size s = { 0 };
	u64 i;

	(void)unused;
	for (i = 0; i < 20000; i++)
		request_size_note(&s, &at, bytes[i % 6]);
	assert_int_equal(counted(&s).unit, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(multiplexed_requests_are_counted),
		T(requests_cut_by_the_network_are_counted),
		T(what_comes_late_is_found),
		T(a_size_never_seen_alone_is_found),
		T(other_sizes_tell_nothing),
		T(pieces_of_large_bodies_are_no_requests),
		T(two_sizes_are_two_kinds),
		T(later_sizes_must_keep_to_it),
		T(huge_sizes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
