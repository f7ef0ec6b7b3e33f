// SPDX-License-Identifier: GPL-2.0-or-later
/* analyze/replay/requests/request_size.c: how many requests share a turn, by sizes alone. */
#include "tests/lib/unit.h"

#include "analyze/base/limits.h"
#include "analyze/replay/requests/request_size.h"

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

/* Bursts of up to so many requests on 16 connections, which arrive in pieces and interleaved. */
static struct request_count in_pieces(u64 unit, u64 piece, u64 requests, u64 *ret_truth,
				      double *ret_whole)
{
	struct request_stream at[16] = { 0 };
	struct request_size s = { 0 };
	u64 left[16] = { 0 }, truth = 0, whole = 0, i, c, k, bytes;

	for (i = 0; i < 6000; i++) {
		c = random_below(16);
		if (!left[c]) {
			truth += k = 1 + random_below(requests);
			/* one in twenty has a control frame, which shifts all ends after it */
			left[c] = unit * k + (random_below(20) ? 0 : 13);
		}
		bytes = left[c] < piece ? left[c] : piece;
		left[c] -= bytes;
		whole += bytes % unit == 0;
		request_size_note(&s, &at[c], bytes);
	}
	for (c = 0; c < 16; c++)
		truth -= left[c] / unit;
	*ret_truth = truth;
	*ret_whole = whole / 6000.0;
	return counted(&s);
}

/* Across a network under load a server reads segments one by one. */
static void requests_cut_by_the_network_are_counted(void **unused)
{
	static const u64 units[] = { 147, 146, 149, 90 }, most[] = { 115, 115, 115, 130 };
	struct request_count c;
	double whole;
	u64 truth, i;

	(void)unused;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		c = in_pieces(units[i], 2896, most[i], &truth, &whole);
		assert_true(whole < 0.4); /* their sizes alone tell little */
		assert_int_equal(c.unit, units[i]);
		assert_int_equal(c.turns, 6000);
		assert_in_range(c.requests, truth * 990 / 1000, truth * 1010 / 1000);
		assert_in_range(c.least, truth * 8 / 10, c.requests);
	}
	/* of more pieces than are looked at together */
	c = in_pieces(147, 1448, 250, &truth, &whole);
	assert_int_equal(c.unit, 0);
}

/* The first connections send something else for a long time: two blocks of turns, since the second
 * is looked for as long after the first as that was long. */
static void what_comes_late_is_found(void **unused)
{
	struct request_stream at = { 0 };
	struct request_size s = { 0 };
	struct request_count c;
	u64 i, bytes, other = 0, early = 0, late = 0, k;

	(void)unused;
	for (i = 0; i < REQUEST_SIZE_BLOCK; i++) {
		other += bytes = 300 + random_below(400);
		note_alone(&s, bytes);
	}
	for (i = 0; i < 20 * REQUEST_SIZE_BLOCK; i++) {
		k = 1 + random_below(9);
		*(i < REQUEST_SIZE_BLOCK ? &early : &late) += k;
		request_size_note(&s, &at, 147 * k);
	}
	c = counted(&s);
	assert_int_equal(c.unit, 147);
	assert_int_equal(c.turns, 21 * REQUEST_SIZE_BLOCK);
	/* of the first, what would fit in */
	assert_int_equal(c.requests, late + early + other / 147);
	assert_int_equal(c.least, late + 2 * REQUEST_SIZE_BLOCK);
}

/* Now and then a body comes in one turn: it is one request or thousands, and they are most. */
static void large_bodies_among_requests_tell_nothing(void **unused)
{
	struct request_stream at = { 0 };
	struct request_size s = { 0 };
	u64 i;

	(void)unused;
	for (i = 0; i < 3000; i++)
		request_size_note(&s, &at,
				  i % 33 ? 147 * (1 + random_below(5))
					 : 1000000 + random_below(1000000));
	assert_int_equal(counted(&s).unit, 0);
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

/*
 * Nine in ten are of one size, the others of three; and connections that keep to one size: eight of
 * any such are a multiple together. Three kinds, of which none is twice another; words.
 */
static void kinds_of_requests_are_not_many(void **unused)
{
	static const u64 rare[] = { 48, 96, 144 };
	struct request_size most = { 0 }, each = { 0 }, odd = { 0 }, words = { 0 }, few = { 0 };
	struct request_stream at[100] = { 0 }, one = { 0 };
	u64 i;

	(void)unused;
	for (i = 0; i < 6000; i++) {
		request_size_note(&most, &one, random_below(10) ? 60 : rare[random_below(3)]);
		request_size_note(&each, &at[i % 100], 40 + 8 * (i % 100 % 11));
		note_alone(&odd, 40 + 80 * random_below(3));
		note_alone(&words, 16 * (1 + random_below(5)));
	}
	for (i = 1; i < 8; i++)
		note_alone(&few, 100 * i);
	assert_int_equal(counted(&most).unit, 0);
	assert_int_equal(counted(&odd).unit, 0);
	assert_int_equal(counted(&words).unit, 0);
	assert_int_equal(counted(&few).unit, 0);
	assert_int_equal(counted(&each).unit, 0);
}

/* Six in ten of the turns are to fit. */
static void not_too_many_are_others(void **unused)
{
	struct request_size half = { 0 }, most = { 0 };
	u64 i, bytes;

	(void)unused;
	for (i = 0; i < 4000; i++) {
		bytes = 147 * (1 + random_below(4));
		note_alone(&half, random_below(100) < 52 ? bytes : 200 + random_below(400));
		note_alone(&most, random_below(100) < 68 ? bytes : 200 + random_below(400));
	}
	assert_int_equal(counted(&half).unit, 0);
	assert_int_equal(counted(&most).unit, 147);
}

/* A body that is read, and answered, as it comes: segments and full buffers are no requests. */
static void pieces_of_large_bodies_are_no_requests(void **unused)
{
	static const u64 pieces[] = { 1448, 1460, 1228, 8948, 65483, 512, 16384, 16406 /* TLS */ };
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

/* Sizes of a hostile recording, a unit among them. */
static void huge_sizes_do_no_harm(void **unused)
{
	static const u64 bytes[] = { UINT64_MAX, UINT64_MAX - 1, 1ull << 63, 1ull << 62, 36, 0 };
	struct request_stream at = { 0 };
	struct request_size s = { 0 };
	u64 i;

	(void)unused;
	for (i = 0; i < 20000; i++)
		request_size_note(&s, &at, bytes[i % 6]);
	assert_int_equal(counted(&s).unit, 0);
	s = (struct request_size){ 0 };
	for (i = 0; i < 20000; i++)
		request_size_note(&s, &at, i % 100 ? 41 * (i % 5) : 41 * (UINT64_MAX / 41));
	assert_int_equal(counted(&s).unit, 0);
}

/* What services keep while they look is bounded: beyond, what turns received is only summed up. */
static void memory_is_shared(void **unused)
{
	static struct request_size s[2000];
	u32 kept = 0, most = 0, told = 0;
	u64 i, k;

	(void)unused;
	for (i = 0; i < 2000; i++) {
		s[i].kept = &kept;
		for (k = 1; k < REQUEST_SIZE_BLOCK; k++)
			note_alone(&s[i], 147 * (1 + k % 7));
		most = kept > most ? kept : most;
	}
	assert_in_range(most, KEPT_TURNS - REQUEST_SIZE_BLOCK, KEPT_TURNS);
	for (i = 0; i < 2000; i++)
		told += counted(&s[i]).unit == 147;
	assert_in_range(told, KEPT_TURNS / REQUEST_SIZE_BLOCK, KEPT_TURNS / REQUEST_SIZE_BLOCK + 1);
	assert_int_equal(kept, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(multiplexed_requests_are_counted),
		T(requests_cut_by_the_network_are_counted),
		T(what_comes_late_is_found),
		T(large_bodies_among_requests_tell_nothing),
		T(a_size_never_seen_alone_is_found),
		T(other_sizes_tell_nothing),
		T(kinds_of_requests_are_not_many),
		T(not_too_many_are_others),
		T(pieces_of_large_bodies_are_no_requests),
		T(two_sizes_are_two_kinds),
		T(later_sizes_must_keep_to_it),
		T(huge_sizes_do_no_harm),
		T(memory_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
