// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of Parquet, read by a reader of their own: levels and deltas of values at the ends of their
 * type. */
#include "analyze/export/parquet_values.h"
#include "analyze/store/row_types.h"
#include "tests/lib/unit.h"

#define ROWS 1000

struct cursor {
	const u8 *at, *end;
};

static u64 varint_of(struct cursor *c)
{
	u64 v = 0;
	int shift;

	for (shift = 0; c->at < c->end; shift += 7) {
		v |= (u64)(*c->at & 0x7f) << shift;
		if (!(*c->at++ & 0x80))
			break;
	}
	return v;
}

static s64 zigzag_of(struct cursor *c)
{
	u64 v = varint_of(c);

	return (s64)(v >> 1 ^ -(v & 1));
}

static u64 bits_at(const u8 *from, u32 first, u32 width)
{
	u64 v = 0;
	u32 i;

	for (i = 0; i < width; i++)
		v |= (u64)(from[(first + i) / 8] >> (first + i) % 8 & 1) << i;
	return v;
}

/* As the format's documents say: a block has its least delta, then a width of each of 4 parts. */
static u32 read_deltas(struct cursor *c, u64 *values)
{
	u64 block = varint_of(c), parts = varint_of(c), n = varint_of(c), value = zigzag_of(c);
	u64 got = 0, least;
	u32 part, i;

	assert_int_equal(block, 128);
	assert_int_equal(parts, 4);
	assert_true(n <= ROWS);
	if (n)
		values[got++] = value;
	while (got < n) {
		const u8 *widths;

		least = zigzag_of(c);
		widths = c->at;
		c->at += parts;
		for (part = 0; part < parts && got < n; part++) {
			for (i = 0; i < 32 && got < n; i++) {
				value += least + bits_at(c->at, i * widths[part], widths[part]);
				values[got++] = value;
			}
			c->at += 4 * widths[part];
		}
	}
	assert_ptr_equal(c->at, c->end);
	return (u32)n;
}

static void check_deltas(const s64 *values, u32 n)
{
	struct buf out = { 0 };
	struct err e;
	struct cursor c;
	u64 got[ROWS];
	u32 i;

	assert_int_equal(page_deltas(&out, values, n, &e), 0);
	c = (struct cursor){ (const u8 *)out.data, (const u8 *)out.data + out.len };
	assert_int_equal(read_deltas(&c, got), n);
	for (i = 0; i < n; i++)
		assert_int_equal((s64)got[i], values[i]);
	buf_free(&out);
}

static void test_deltas(void **state)
{
	static const u32 counts[] = { 0, 1, 2, 32, 33, 128, 129, 130, 257, ROWS };
	s64 values[ROWS];
	size_t k;
	u32 i, mask;

	(void)state;
	for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		for (mask = 0; mask < 64; mask += 3) { /* differences of each width */
			for (i = 0; i < ROWS; i++)
				values[i] = (s64)(((u64)rand() << 33 ^ (u64)rand() << 11 ^
						   (u64)rand()) >>
						  mask);
			check_deltas(values, counts[k]);
		}
		for (i = 0; i < ROWS; i++) /* differences that wrap around */
			values[i] = i % 2 ? INT64_MAX : INT64_MIN + 1;
		check_deltas(values, counts[k]);
		for (i = 0; i < ROWS; i++)
			values[i] = -7;
		check_deltas(values, counts[k]);
	}
}

/* Runs of equal levels, or groups of 8 as bits. */
static void check_levels(const s64 *values, u32 n, u32 nulls)
{
	struct buf out = { 0 };
	struct err e;
	struct cursor c;
	u64 head;
	u32 i;

	assert_int_equal(page_levels(&out, values, n, nulls, &e), 0);
	assert_true(out.len > 4);
	assert_int_equal(bits_at((const u8 *)out.data, 0, 32), out.len - 4);
	c = (struct cursor){ (const u8 *)out.data + 4, (const u8 *)out.data + out.len };
	head = varint_of(&c);
	if (head & 1) {
		assert_int_equal(head >> 1, (n + 7) / 8);
		for (i = 0; i < n; i++)
			assert_int_equal(bits_at(c.at, i, 1), values[i] != BULK_NULL);
		c.at += head >> 1;
	} else {
		assert_int_equal(head >> 1, n);
		assert_int_equal(*c.at++, nulls == 0);
	}
	assert_ptr_equal(c.at, c.end);
	buf_free(&out);
}

static void test_levels(void **state)
{
	s64 values[ROWS];
	u32 i, n, nulls;

	(void)state;
	for (n = 1; n < 70; n++) {
		for (i = 0, nulls = 0; i < n; i++) {
			values[i] = i % 3 ? (s64)i : BULK_NULL;
			nulls += i % 3 == 0;
		}
		check_levels(values, n, nulls);
		for (i = 0; i < n; i++)
			values[i] = 1;
		check_levels(values, n, 0);
		for (i = 0; i < n; i++)
			values[i] = BULK_NULL;
		check_levels(values, n, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deltas),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
