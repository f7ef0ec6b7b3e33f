// SPDX-License-Identifier: GPL-2.0-or-later
/* Times as people write them, pseudonyms, layouts converted, blocks found again. */
#include "analyze/base/when.h"
#include "analyze/transform/pseudonym.h"
#include "format/convert.h"
#include "format/frame.h"
#include "tests/lib/loaded.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void times_as_people_write_them(void **state)
{
	static const struct {
		const char *text;
		enum when_kind kind; /* WHEN_NONE: refused */
		u64 ns;
	} cases[] = {
		{ "10", WHEN_AFTER, 10000000000ull },
		{ "+2.5s", WHEN_AFTER, 2500000000ull },
		{ "250ms", WHEN_AFTER, 250000000ull },
		{ "7us", WHEN_AFTER, 7000 },
		{ "7ns", WHEN_AFTER, 7 },
		{ "3m", WHEN_AFTER, 180000000000ull },
		{ "1h", WHEN_AFTER, 3600000000000ull },
		{ "0", WHEN_AFTER, 0 },
		{ "14:03", WHEN_OF_DAY, 50580000000000ull },
		{ "14:03:07.25", WHEN_OF_DAY, 50587250000000ull },
		{ "1970-01-02T00:00:01Z", WHEN_DATE, 86401000000000ull },
		{ "2023-11-14T22:13:20.5Z", WHEN_DATE, 1700000000500000000ull },
		{ "2023-11-15T00:13:20+02:00", WHEN_DATE, 1700000000000000000ull },
		{ "2023-11-14 17:43:20-04:30", WHEN_DATE, 1700000000000000000ull },
		{ "", WHEN_NONE, 0 },
		{ "-1s", WHEN_NONE, 0 },
		{ "10x", WHEN_NONE, 0 },
		{ "nan", WHEN_NONE, 0 },
		{ "inf", WHEN_NONE, 0 },
		{ "1e30", WHEN_NONE, 0 },
		{ "24:00", WHEN_NONE, 0 },
		{ "14:60", WHEN_NONE, 0 },
		{ "14:03:", WHEN_NONE, 0 },
		{ "2023-13-01T00:00:00Z", WHEN_NONE, 0 },
		{ "2023-11-14", WHEN_NONE, 0 },
		{ "2023-11-14T22:13:20Zx", WHEN_NONE, 0 },
	};
	struct err e = { 0 };
	struct when w;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret = when_parse(&w, "from", cases[i].text, &e);

		if ((ret < 0) != (cases[i].kind == WHEN_NONE) || w.kind != cases[i].kind ||
		    (ret == 0 && w.ns != cases[i].ns))
			fail_msg("%s: %d, kind %d, %llu ns", cases[i].text, ret, w.kind,
				 (unsigned long long)w.ns);
	}
}

/* A recording from 23:59:50 to 00:00:30 UTC: times of day lie on both sides of midnight. */
static void times_of_day_around_midnight(void **state)
{
	const u64 second = 1000000000ull, begin = 5 * second;
	const struct origin o = { .begin = begin,
				  .end = begin + 40 * second,
				  .realtime = (s64)(86390 * second - begin),
				  .clock = true };
	const struct origin blind = { .begin = begin, .end = begin + second };
	struct err e = { 0 };
	struct when w;
	u64 ts;

	(void)state;
	assert_int_equal(when_parse(&w, "from", "23:59:55", &e), 0);
	assert_int_equal(when_resolve(&ts, &w, &o, 0, &e), 0);
	assert_int_equal(ts, begin + 5 * second);
	assert_int_equal(when_parse(&w, "from", "00:00:10", &e), 0);
	assert_int_equal(when_resolve(&ts, &w, &o, 0, &e), 0);
	assert_int_equal(ts, begin + 20 * second);
	/* just before the start, not almost a day after it */
	assert_int_equal(when_parse(&w, "from", "23:59:48", &e), 0);
	assert_int_equal(when_resolve(&ts, &w, &o, 0, &e), 0);
	assert_int_equal(ts, begin - 2 * second);
	assert_int_equal(when_resolve(&ts, &w, &blind, 0, &e), ERR_FAIL);
	w = (struct when){ 0 };
	assert_int_equal(when_resolve(&ts, &w, &o, 77, &e), 0);
	assert_int_equal(ts, 77);
}

static const u8 key[PSEUDONYM_KEY] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* The vector of the paper's appendix: 15 bytes 00..0e under the key 00..0f. */
static void siphash_is_siphash(void **state)
{
	(void)state;
	assert_true(siphash(key, key, 15) == 0xa129ca6149be45e5ull);
	assert_true(siphash(key, key, 0) == 0x726fdb47dd0e0e31ull);
}

static char *path_of(const char *path)
{
	struct buf out = { 0 };

	assert_int_equal(pseudonym_path(key, path, strlen(path), &out, NULL), 0);
	assert_int_equal(buf_add(&out, "", 1, NULL), 0);
	return out.data;
}

static void paths_keep_their_shape(void **state)
{
	char *a = path_of("/var/lib/a"), *b = path_of("/var/lib/b"), *c = path_of("/srv/lib/a");
	char *gone = path_of("/var/lib/a (deleted)"), *pipe = path_of("pipe:[4711]");
	char *fake = path_of("pipe:[/etc/secret]"), *deep, *long_path = calloc(1, 4097);
	size_t dir = strlen(a) - 13, i;

	(void)state;
	assert_null(strstr(a, "var"));
	assert_int_equal(strncmp(a, b, dir), 0);
	assert_int_not_equal(strcmp(a, b), 0);
	assert_int_not_equal(strncmp(a, c, dir), 0);
	assert_string_equal(a + dir, c + dir); /* the same name elsewhere */
	assert_int_equal(strncmp(gone, a, strlen(a)), 0);
	assert_string_equal(gone + strlen(a), " (deleted)");
	assert_string_equal(pipe, "pipe:[4711]");
	assert_null(strstr(fake, "secret"));
	for (i = 0; i < 4096; i++)
		long_path[i] = i % 2 ? 'a' : '/';
	deep = path_of(long_path);
	assert_true(strlen(deep) < 4096);
	free(a);
	free(b);
	free(c);
	free(gone);
	free(pipe);
	free(fake);
	free(deep);
	free(long_path);
}

static int by_number(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* No two IPv4 addresses become one, and none becomes loopback; IPv6 joins with its IPv4 form. */
static void addresses_stay_distinct(void **state)
{
	enum { N = 200000 };
	u32 *seen = calloc(N, sizeof(*seen)), i;
	u8 a[16] = { 127, 0, 0, 1 }, v4[16] = { 10, 0, 0, 7 };
	u8 mapped[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 7 }, six[16] = { 0x20, 1 };

	(void)state;
	pseudonym_address(key, 2, a);
	assert_int_equal(a[0] << 24 | a[3], 127 << 24 | 1);
	for (i = 0; i < N; i++) {
		u8 x[16] = { 10, (u8)(i >> 16), (u8)(i >> 8), (u8)i };

		pseudonym_address(key, 2, x);
		seen[i] = (u32)x[0] << 24 | (u32)x[1] << 16 | (u32)x[2] << 8 | x[3];
		assert_int_not_equal(x[0], 127);
	}
	qsort(seen, N, sizeof(*seen), by_number);
	for (i = 1; i < N; i++)
		assert_int_not_equal(seen[i - 1], seen[i]);
	free(seen);
	pseudonym_address(key, 2, v4);
	pseudonym_address(key, 10, mapped);
	assert_memory_equal(v4, mapped + 12, 4);
	pseudonym_address(key, 10, six);
	assert_int_equal(six[0], 0xfd);
	memset(six, 0, 16);
	six[15] = 1;
	pseudonym_address(key, 10, six);
	assert_int_equal(six[15] << 8 | six[0], 1 << 8);
}

/* An older layout: fields in another order and width, one missing, one that was dropped since. */
static void an_older_layout_becomes_the_new(void **state)
{
	static const char text[] = "obsrec-schema 1\n"
				   "group\t0\trecorder\td\ngroup\t1\tcore\td\ngroup\t3\tsched\td\n"
				   "event\t1\tinfo\trecorder\td\ntail\ttext\td\n"
				   "event\t18\texit\tcore\td\n"
				   "field\tu64\tcode\tFLAGS\td\nfield\tu64\told\tCOUNT\td\n"
				   "event\t48\tswitch\tsched\td\nfield\ts64\tnext\tPID\td\n";
	struct schema *old = NULL, *all = NULL;
	struct conversion c;
	struct buf record = { 0 }, out = { 0 };
	struct err e = { 0 };
	const struct event_desc *ev;
	int at;

	(void)state;
	assert_int_equal(schema_parse(&old, text, sizeof(text) - 1, &e), 0);
	assert_int_equal(schema_union(&all, (const struct schema *const *)&old, 1, &e), 0);
	conversion_make(&c, old, all);
	assert_true(c.same[EV_info]);
	assert_false(c.same[EV_switch]);
	assert_int_equal(record_new(old->by_id[EV_switch], 5, 6, "", 0, &record, &e), 0);
	record_set(old->by_id[EV_switch], (u8 *)record.data, "next", 77);
	at = conversion_put(&c, (u8 *)record.data, &out, &e);
	assert_int_equal(at, 0);
	ev = all->by_id[EV_switch];
	assert_int_equal(le_get((u8 *)out.data + 14, 2), ev->size);
	assert_int_equal(le_get((u8 *)out.data, 8), 5);
	assert_int_equal(field_value(event_field(ev, "next"), (u8 *)out.data), 77);
	assert_int_equal(field_value(event_field(ev, "state"), (u8 *)out.data), 0);
	buf_free(&record);
	buf_free(&out);
	schema_free(old);
	schema_free(all);
}

static const char three_blocks[] =
	"@recorder\n900 0 info text=\"targets=all\"\n"
	"@cpu 0\n1000 1 rename comm=\"a\"\n@block\n"
	"2000 1 rename comm=\"b\"\n@block\n3000 1 rename comm=\"c\"\n@block\n"
	"4000 1 rename comm=\"d\"\n";

/* Only the blocks that a time needs are decoded. */
static void only_needed_blocks_are_decoded(void **state)
{
	const char *path = packed(three_blocks);
	struct err e = { 0 };
	struct reader *r;
	struct record rec;
	int n = 0;

	(void)state;
	assert_int_equal(reader_open(&r, path, &e), 0);
	reader_limit(r, 3000, 4000);
	while (reader_next(r, &rec, &e) > 0)
		n += rec.ts == 3000;
	assert_int_equal(n, 1);
	assert_int_equal(reader_state(r)->decoded, 2); /* that one, and the recorder's */
	reader_rewind(r);
	reader_excerpt(r, 3000, 4000, 1u << GROUP_core);
	for (n = 0; reader_next(r, &rec, &e) > 0;)
		n += rec.stream == 0;
	assert_int_equal(n, 3); /* what was before, for its state; nothing after */
	reader_free(r);
	unlink(path);
}

/* Offset after the n-th data block's header, found by trying every byte. */
static u64 nth_header(int fd, u64 end, int n)
{
	struct block_info info;
	u8 frame[FRAME_SIZE];
	u64 at;

	for (at = 0; at + FRAME_SIZE <= end; at++) {
		assert_int_equal(pread(fd, frame, sizeof(frame), (off_t)at), FRAME_SIZE);
		if (block_header_get(&info, frame, NULL) == 0 && info.kind == BLOCK_DATA && !--n)
			return at;
	}
	fail_msg("no such block");
	return 0;
}

/* A damaged header in a recording without its end costs one block. */
static void blocks_after_damage_are_found(void **state)
{
	const char *path = packed(three_blocks);
	struct err e = { 0 };
	struct reader *r;
	struct record rec;
	int fd = open(path, O_RDWR), found = 0;
	u64 end = (u64)lseek(fd, 0, SEEK_END);

	(void)state;
	assert_int_equal(pwrite(fd, "damage", 6, (off_t)nth_header(fd, end, 4) + 20), 6);
	assert_int_equal(ftruncate(fd, (off_t)end - 10), 0);
	close(fd);
	assert_int_equal(reader_open(&r, path, &e), 0);
	assert_false(reader_state(r)->sound);
	assert_int_equal(reader_state(r)->blocks, 4);
	assert_int_equal(reader_state(r)->gaps, 1);
	assert_true(reader_state(r)->ignored >= FRAME_SIZE);
	while (reader_next(r, &rec, &e) > 0)
		found += rec.ts == 4000;
	assert_int_equal(found, 1);
	reader_free(r);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(times_as_people_write_them),
		T(times_of_day_around_midnight),
		T(siphash_is_siphash),
		T(paths_keep_their_shape),
		T(addresses_stay_distinct),
		T(an_older_layout_becomes_the_new),
		T(only_needed_blocks_are_decoded),
		T(blocks_after_damage_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
