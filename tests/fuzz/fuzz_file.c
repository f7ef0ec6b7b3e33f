// SPDX-License-Identifier: GPL-2.0-or-later
/* A whole file through the reader. Headers are sealed again after a mutation. */
#include "fuzz.h"

#include "format/frame.h"
#include "format/recording.h"

static void read_all(struct reader *r)
{
	struct buf packed = { 0 }, records = { 0 };
	struct err e = { 0 };
	struct record rec;
	size_t n, i;

	while (reader_next(r, &rec, &e) > 0)
		if (!rec.desc || rec.size < sizeof(struct ev_header) ||
		    rec.tail_len + rec.desc->size > (size_t)rec.size + 8)
			fuzz_fail("a record outside its bounds");
	reader_blocks(r, &n);
	for (i = 0; i < n && i < 64; i++)
		reader_block(r, i, &packed, &records, &e);
	buf_free(&packed);
	buf_free(&records);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct reader *r = NULL;
	struct err e = { 0 };

	if (reader_open_fd(&r, fuzz_file(data, size), &e) < 0)
		return 0;
	read_all(r);
	reader_free(r);
	return 0;
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed)
{
	size_t at;

	size = LLVMFuzzerMutate(data, size, max);
	for (at = 0; seed % 8 && at + FRAME_SIZE <= size; at++)
		if (le_get(data + at, 4) == FRAME_ZSTD && le_get(data + at + 4, 4) == FRAME_BODY)
			frame_seal(data + at);
	return size;
}
