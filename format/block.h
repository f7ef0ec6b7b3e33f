/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block: a run of records of one stream, compressed so that it can be read
 * without any other block. On disk it is a zstd skippable frame with the block
 * header, followed by one zstd frame with a content checksum. This layer knows
 * of a record only its header (ts, tid, type, size), never its fields.
 */
#pragma once

#include "buf.h"
#include "event.h"

#define BLOCK_RAW_MAX	  (4u << 20) /* bytes of records in one block */
#define BLOCK_RECORD_MAX  (BLOCK_RAW_MAX / sizeof(struct ev_header))
#define BLOCK_CONTENT_MAX (BLOCK_RAW_MAX + 12 * BLOCK_RECORD_MAX + (1u << 20))
#define STREAM_RECORDER	  0xffffffffu  /* the stream of records made by obsrec itself */
#define STREAM_MAX	  8192	       /* CPUs of one recording */
#define TS_MAX		  (1ull << 60) /* ns since boot: 36 years; a few can be added */

enum block_kind { BLOCK_SCHEMA = 1, BLOCK_DATA, BLOCK_INDEX };

/* What a block header says; see man/obsrec.5 for its bytes. */
struct block_info {
	u16 kind;    /* BLOCK_* */
	u32 stream;  /* CPU number, or STREAM_RECORDER */
	u32 groups;  /* bit mask of the groups of its records */
	u32 records; /* number of records */
	u32 raw;     /* bytes of records */
	u32 content; /* bytes that the zstd frame decompresses to */
	u32 packed;  /* bytes of the zstd frame */
	u64 ts_min;  /* first and last ts */
	u64 ts_max;
	u64 pos_begin; /* span of the CPU's ring; the next block of the stream begins at pos_end */
	u64 pos_end;
	u64 lost; /* events lost on this CPU so far, all groups and reasons */
};

struct block_encoder;
struct block_decoder;

/*
 * level: zstd's. split, if not NULL, has SCHEMA_EVENT_MAX elements and stays the caller's: for a
 * type of record the offset of a u16 by which its records differ most (0: none), so that
 * those with the same value are compressed together. The decoder need not know it.
 */
struct block_encoder *block_encoder_new(int level, const u16 *split, struct err *e);
void block_encoder_free(struct block_encoder *enc);

/*
 * Appends one whole block to out. records holds len bytes: whole records, each
 * size bytes long by its own header, at most BLOCK_RAW_MAX. The caller sets in
 * info kind, stream, groups, pos_begin, pos_end and lost; the rest is filled.
 * For BLOCK_SCHEMA and BLOCK_INDEX, records is opaque content, stored as is.
 */
int block_encode(struct block_encoder *enc, struct block_info *info, const void *records,
		 size_t len, struct buf *out, struct err *e);

/* Writes or reads a block header: FRAME_SIZE bytes (frame.h), checksummed. */
void block_header_put(const struct block_info *info, u8 *frame);
/* 0; ERR_DAMAGED if frame is not a sane block header. */
int block_header_get(struct block_info *info, const u8 *frame, struct err *e);

struct block_decoder *block_decoder_new(struct err *e);
void block_decoder_free(struct block_decoder *dec);

/*
 * Decompresses a block whose header is info from its zstd frame (info->packed
 * bytes) into out, which is cleared first: the records (for BLOCK_DATA, in the
 * order in which they were given) or the content. ERR_DAMAGED on any
 * contradiction; nothing is trusted.
 */
int block_decode(struct block_decoder *dec, const struct block_info *info, const void *packed,
		 struct buf *out, struct err *e);
