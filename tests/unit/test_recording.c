// SPDX-License-Identifier: GPL-2.0-or-later
/* format/block.c, planes.c, frame.c, writer.c, catalog.c, reader.c: what is written is read. */
#include "tests/lib/unit.h"

#include "format/frame.h"
#include "format/recording.h"
#include "tests/lib/loaded.h"
#include "tests/lib/textpack.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

static u64 seed = 88172645463325252u;

static u64 random_u64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Records of three kinds with rising times; returns the bytes. */
static size_t make_records(u8 *to, int n, u64 *ts)
{
	size_t at = 0;
	int i, k;

	for (i = 0; i < n; i++) {
		static const u16 types[] = { EV_syscall, EV_switch, EV_syscall_args };
		static const u16 sizes[] = { sizeof(struct ev_syscall), sizeof(struct ev_switch),
					     sizeof(struct ev_syscall_args) };
		int kind = random_u64() % 3;

		*ts += random_u64() % 1000;
		for (k = 16; k < sizes[kind]; k++)
			to[at + k] = random_u64() % 7;
		textpack_header(to + at, *ts, random_u64() % 5, types[kind], sizes[kind]);
		at += sizes[kind];
	}
	return at;
}

static void blocks_survive_the_round_trip(void **state)
{
	struct block_encoder *enc;
	struct block_decoder *dec;
	struct buf out = { 0 }, back = { 0 };
	struct err e = { 0 };
	u8 *records = malloc(1 << 20);
	u16 split[SCHEMA_EVENT_MAX] = { [EV_syscall] = offsetof(struct ev_syscall, nr) };
	int n;

	(void)state;
	enc = block_encoder_new(1, split, &e);
	dec = block_decoder_new(&e);
	for (n = 0; n < 5000; n = n * 2 + 1) {
		struct block_info info = { .kind = BLOCK_DATA, .stream = 3 }, got;
		u64 ts = 1000;
		size_t len = make_records(records, n, &ts);

		buf_clear(&out);
		assert_int_equal(block_encode(enc, &info, records, len, &out, &e), 0);
		assert_int_equal(block_header_get(&got, (u8 *)out.data, &e), 0);
		assert_int_equal(got.records, n);
		assert_int_equal(got.raw, len);
		assert_int_equal(got.stream, 3);
		assert_int_equal(block_decode(dec, &got, out.data + FRAME_SIZE, &back, &e), 0);
		assert_int_equal(back.len, len);
		assert_memory_equal(back.data, records, len);
	}
	block_encoder_free(enc);
	block_decoder_free(dec);
	buf_free(&out);
	buf_free(&back);
	free(records);
}

static void records_that_do_not_fit_are_refused(void **state)
{
	struct ev_switch ev = { 0 };
	struct block_info info = { .kind = BLOCK_DATA };
	struct err e = { 0 };
	struct block_encoder *enc = block_encoder_new(1, NULL, &e);
	struct buf out = { 0 };
	static const u16 sizes[] = { 0, 8, 15, 20, 32, 65528 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		textpack_header(&ev, 1, 2, EV_switch, sizes[i]);
		assert_int_equal(block_encode(enc, &info, &ev, sizeof(ev), &out, &e), ERR_FAIL);
	}
	block_encoder_free(enc);
	buf_free(&out);
}

#define STREAMS 5

/*
 * A recording of many blocks in several streams that overlap in time. A block begins before the
 * last one of its stream has ended: rings are emptied while records are still being written.
 */
static const char *make_recording(u64 *ret_records, bool finish)
{
	static char path[] = "/tmp/obs-unit-XXXXXX";
	u8 uuid[16] = "uuid";
	u8 *records = malloc(1 << 20);
	u64 ts[STREAMS], begin[STREAMS], pos[STREAMS] = { 0 };
	struct writer *w;
	struct err e = { 0 };
	int fd, i;

	snprintf(path, sizeof(path), "/tmp/obs-unit-XXXXXX");
	fd = mkstemp(path);
	for (i = 0; i < STREAMS; i++)
		begin[i] = ts[i] = 1000 + i;
	*ret_records = 0;
	assert_int_equal(writer_open(&w, fd, uuid, &e), 0);
	for (i = 0; i < 60; i++) {
		int s = random_u64() % STREAMS, n = 1 + random_u64() % 300;
		size_t len;
		struct block_info info = { .stream = s, .pos_begin = pos[s] };

		ts[s] -= (ts[s] - begin[s]) / 3;
		begin[s] = ts[s];
		len = make_records(records, n, &ts[s]);
		info.pos_end = pos[s] += len;
		assert_int_equal(writer_append(w, &info, records, len, &e), 0);
		*ret_records += n;
	}
	if (finish)
		assert_int_equal(writer_finish(w, &e), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), writer_bytes(w));
	writer_free(w);
	close(fd);
	free(records);
	return path;
}

static void streams_merge_in_order_of_time(void **state)
{
	u64 want, n, last, per_stream[STREAMS];
	struct reader *r;
	struct record rec;
	struct err e = { 0 };
	int with_index;

	(void)state;
	for (with_index = 0; with_index < 2; with_index++) {
		const char *path = make_recording(&want, with_index);

		memset(per_stream, 0, sizeof(per_stream));
		assert_int_equal(reader_open(&r, path, &e), 0);
		assert_int_equal(reader_state(r)->complete, with_index);
		assert_int_equal(reader_state(r)->records, want);
		assert_int_equal(reader_state(r)->gaps, 0);
		for (n = last = 0; reader_next(r, &rec, &e) > 0; n++) {
			assert_true(rec.ts >= last);
			assert_true(rec.ts >= per_stream[rec.stream]);
			per_stream[rec.stream] = last = rec.ts;
		}
		assert_int_equal(n, want);
		reader_rewind(r);
		reader_limit(r, 5000, 9000);
		while (reader_next(r, &rec, &e) > 0)
			assert_true(rec.ts >= 5000 && rec.ts < 9000);
		reader_free(r);
		unlink(path);
	}
}

/* Reads a whole file in whatever state; nothing may crash. Returns records, or -1. */
static long read_all(const char *path, u64 *ret_sum, bool *ret_sound)
{
	struct reader *r;
	struct record rec;
	struct err e = { 0 };
	long n = 0;
	int ret;

	*ret_sum = 0;
	*ret_sound = false;
	if (reader_open(&r, path, &e) < 0) {
		assert_true(e.text[0] != '\0');
		return -1;
	}
	while ((ret = reader_next(r, &rec, &e)) > 0) {
		u16 i;

		n++;
		for (i = 0; i < rec.size; i++)
			*ret_sum = *ret_sum * 31 + rec.raw[i];
	}
	*ret_sound = ret == 0 && reader_state(r)->complete && !reader_state(r)->damaged &&
		     !reader_state(r)->gaps;
	reader_free(r);
	return n;
}

static const char small[] =
	"@recorder\n1000 0 info text=\"targets=all\"\n"
	"@cpu 0\n2000 7 syscall dur=5 nr=read\n+9 7 switch next=8\n"
	"@cpu 1\n2005 9 syscall dur=5 nr=write fd=3\n@block\n+5 9 rename comm=\"x\"\n";

static size_t slurp(const char *path, u8 *data, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, data, size);

	close(fd);
	assert_true(n > 0 && (size_t)n < size);
	return n;
}

static void spill(const char *path, const u8 *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);

	assert_int_equal(write(fd, data, n), n);
	close(fd);
}

static void every_prefix_is_read_as_far_as_it_goes(void **state)
{
	static u8 data[65536];
	const char *path = packed(small);
	size_t size = slurp(path, data, sizeof(data)), n;
	long records, best = 0;
	bool sound;
	u64 sum;

	(void)state;
	for (n = 0; n < size; n++) {
		spill(path, data, n);
		records = read_all(path, &sum, &sound);
		assert_false(sound);
		assert_true(records >= best || records < 0);
		best = records > best ? records : best;
	}
	assert_int_equal(best, 5);
	unlink(path);
}

/* A changed byte is noticed, or changes nothing that is read. */
static void every_changed_byte_is_noticed(void **state)
{
	static u8 data[65536];
	const char *path = packed(small);
	size_t size = slurp(path, data, sizeof(data)), i;
	u64 want, sum;
	bool sound;
	int bit;

	(void)state;
	assert_int_equal(read_all(path, &want, &sound), 5);
	assert_true(sound);
	for (i = 0; i < size; i++)
		for (bit = 0; bit < 8; bit += 3) {
			data[i] ^= 1 << bit;
			spill(path, data, size);
			read_all(path, &sum, &sound);
			if (sound)
				assert_int_equal(sum, want);
			data[i] ^= 1 << bit;
		}
	unlink(path);
}

/* Many random changes at once, after the file frame: no crash, no hang. */
static void random_damage_is_survived(void **state)
{
	static u8 data[65536], copy[65536];
	const char *path = packed(small);
	size_t size = slurp(path, data, sizeof(data));
	bool sound;
	u64 sum;
	int i, k;

	(void)state;
	for (i = 0; i < 2000; i++) {
		memcpy(copy, data, size);
		for (k = 0; k < 1 + i % 20; k++)
			copy[FRAME_SIZE + random_u64() % (size - FRAME_SIZE)] = random_u64();
		spill(path, copy, size);
		read_all(path, &sum, &sound);
	}
	unlink(path);
}

static void full_disk_keeps_whole_blocks(void **state)
{
	struct ev_switch ev = { .h = { 1, 2, EV_switch, sizeof(ev) } };
	struct block_info info = { .stream = 0 };
	u8 uuid[16] = { 0 };
	struct writer *w;
	struct err e = { 0 };
	int fd = open("/dev/full", O_WRONLY);

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(writer_open(&w, fd, uuid, &e), ERR_FAIL);
	assert_non_null(strstr(e.text, "No space left"));
	(void)ev;
	(void)info;
	close(fd);
}

/* A socket that others use blocking; writing must end, or alarm(2) ends the test. */
static void a_silent_socket_does_not_block(void **state)
{
	static u8 records[1 << 18];
	struct block_info info = { .stream = 0 };
	u8 uuid[16] = { 0 };
	struct err e = { 0 };
	struct writer *w;
	int pair[2], i, ret = 0;
	u64 ts = 1;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	alarm(60);
	assert_int_equal(writer_open(&w, pair[0], uuid, &e), 0);
	writer_hurry(w);
	for (i = 0; ret == 0 && i < 1000; i++)
		ret = writer_append(w, &info, records, make_records(records, 3000, &ts), &e);
	alarm(0);
	assert_int_equal(ret, ERR_FAIL);
	assert_non_null(strstr(e.text, "timed out"));
	assert_int_equal(fcntl(pair[0], F_GETFL) & O_NONBLOCK, 0);
	writer_free(w);
	close(pair[0]);
	close(pair[1]);
}

/* Packs a text and returns the content of the file. */
static size_t pack_to(u8 *to, size_t size, const char *text)
{
	const char *path = packed(text);
	FILE *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(to, 1, size, f);
	fclose(f);
	unlink(path);
	return n;
}

/* textpack takes names where an event has a code, and refuses those that it does not know. */
static void names_pack_as_their_numbers(void **state)
{
	static const char names[] =
		"@cpu 0\n"
		"1 7 thread pid=7 state=S\n2 7 fd pid=7 fd=3 mode=socket family=inet6 role=accepted\n"
		"3 7 switch next=0 state=D\n4 0 waking target=7 context=hardirq\n"
		"5 7 block_issue op=WRITE\n6 7 syscall_args nr=futex op=WAKE\n"
		"7 7 syscall_args nr=futex op=WAIT|PRIVATE abi=aarch64\n8 7 switch next=0 state=R\n";
	static const char numbers[] =
		"@cpu 0\n"
		"1 7 thread pid=7 state=83\n2 7 fd pid=7 fd=3 mode=0140000 family=10 role=2\n"
		"3 7 switch next=0 state=2\n4 0 waking target=7 context=2\n"
		"5 7 block_issue op=1\n6 7 syscall_args nr=futex arg1=1\n"
		"7 7 syscall_args nr=futex arg1=128 abi=3\n8 7 switch next=0 state=0\n";
	static const char *const unknown[] = { "1 7 switch state=Q", "1 7 fd mode=cupboard",
					       "1 7 syscall_args nr=futex op=WAKE|SHOUT",
					       "1 7 syscall nr=read op=WAKE" };
	u8 a[16384], b[sizeof(a)];
	struct err e = { 0 };
	size_t n, i;

	(void)state;
	n = pack_to(a, sizeof(a), names);
	assert_true(n > 0 && n < sizeof(a));
	assert_int_equal(pack_to(b, sizeof(b), numbers), n);
	assert_memory_equal(a, b, n);
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		int fd = open("/dev/null", O_WRONLY);

		assert_int_equal(textpack(unknown[i], fd, &e), ERR_FAIL);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(blocks_survive_the_round_trip),  T(records_that_do_not_fit_are_refused),
		T(streams_merge_in_order_of_time), T(every_prefix_is_read_as_far_as_it_goes),
		T(every_changed_byte_is_noticed),  T(random_damage_is_survived),
		T(full_disk_keeps_whole_blocks),   T(a_silent_socket_does_not_block),
		T(names_pack_as_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
