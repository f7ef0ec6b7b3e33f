// SPDX-License-Identifier: GPL-2.0-or-later
/* The content of a block, in a valid frame: numbers of the header, then what zstd unpacks to. */
#include "fuzz.h"

#include "format/block.h"
#include "format/frame.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static struct block_decoder *dec;
static struct block_encoder *enc;

/* Bytes that are records after all come back as they were. */
static void round_trip(const u8 *data, size_t size)
{
	struct block_info info = { .kind = BLOCK_DATA }, read;
	struct buf block = { 0 }, records = { 0 };
	struct err e = { 0 };

	if (block_encode(enc, &info, data, size, &block, &e) == 0 &&
	    (block_header_get(&read, (u8 *)block.data, &e) < 0 ||
	     block_decode(dec, &read, block.data + FRAME_SIZE, &records, &e) < 0 ||
	     records.len != size || (size && memcmp(records.data, data, size) != 0)))
		fuzz_fail("records do not come back");
	buf_free(&block);
	buf_free(&records);
}

static void decode(const u8 *data, size_t size)
{
	struct block_info info = { .kind = BLOCK_DATA, .content = size - 8 };
	u8 frame[FRAME_SIZE], *packed = malloc(ZSTD_compressBound(size));
	struct buf records = { 0 };
	struct err e = { 0 };

	info.records = le_get(data, 2);
	info.raw = le_get(data + 2, 2);
	info.ts_min = data[4];
	info.ts_max = data[4] + le_get(data + 5, 3);
	info.packed = ZSTD_compress(packed, ZSTD_compressBound(size), data + 8, size - 8, 1);
	block_header_put(&info, frame);
	if (block_header_get(&info, frame, &e) == 0 &&
	    block_decode(dec, &info, packed, &records, &e) == 0 && records.len != info.raw)
		fuzz_fail("a block of another size than its header");
	buf_free(&records);
	free(packed);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct err e = { 0 };

	dec = dec ? dec : block_decoder_new(&e);
	enc = enc ? enc : block_encoder_new(1, NULL, &e);
	if (size < 9)
		return 0;
	decode(data, size);
	round_trip(data + 8, size - 8);
	return 0;
}

/* Makes the sizes of the header agree with the content, more often than chance would. */
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed)
{
	u64 records, classes, raw;

	size = LLVMFuzzerMutate(data, size, max);
	if (seed % 4 == 0 || size < 12)
		return size;
	records = le_get(data, 2) % 64;
	classes = le_get(data + 8, 4) % 8;
	raw = size - 8 - 4;
	if (raw < 8 * classes + 2 * records)
		return size;
	raw -= 8 * classes + 2 * records;
	le_put(data, records, 2);
	le_put(data + 2, raw, 2);
	le_put(data + 8, classes, 4);
	if (classes == 1 && records) {
		le_put(data + 14, raw / records, 2);
		le_put(data + 16, records, 4);
		memset(data + 20, 0, 2 * records);
	}
	return size;
}
