/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: what the writer promises and the reader relies on. The file is
 * only ever appended to, so that a pipe and a file hold the same bytes, and a
 * recording without its end is a recording that is shorter.
 *
 *   file frame | schema block | data blocks ... | index blocks | end frame
 *
 * man/obsrec.5 specifies every byte.
 */
#pragma once

#include "block.h"
#include "schema.h"

#define RECORDING_MAJOR 1 /* another number: another reader is needed */
#define RECORDING_MINOR 0

/* ---- writing ---- */

struct writer;

/*
 * Starts a recording on fd (a file, a pipe) and writes the file frame and the
 * schema block. fd stays the caller's. ERR_FAIL when writing fails.
 */
int writer_open(struct writer **ret, int fd, const u8 uuid[16], struct err *e);

/*
 * As writer_open, for a recording made of another one: with that schema (NULL: the program's own)
 * and with feature bits FRAME_* (frame.h) in the file frame.
 */
int writer_open_as(struct writer **ret, int fd, const u8 uuid[16], u32 flags,
		   const struct schema *schema, struct err *e);

/*
 * Compresses and appends one block of whole records; info as for block_encode.
 * Once an append has failed (full disk, closed pipe) the file ends with the
 * last whole block, and every later call returns the same error.
 */
int writer_append(struct writer *w, struct block_info *info, const void *records, size_t len,
		  struct err *e);

/* A block that was encoded before, by an encoder of writer_encoder(). */
int writer_append_block(struct writer *w, const void *block, size_t len, struct err *e);

/* An encoder that makes the blocks that writer_append would write. */
struct block_encoder *writer_encoder(struct err *e);

/* Appends a data block as it was read: header and the packed bytes after it (reader_block). */
int writer_copy(struct writer *w, const struct block_info *info, const void *packed, struct err *e);

/* Appends index and end. The file is complete only after this returned 0. */
int writer_finish(struct writer *w, struct err *e);

/* Bytes written so far. */
u64 writer_bytes(const struct writer *w);

/* From now on a pipe that takes nothing for a second is an error. For another thread. */
void writer_hurry(struct writer *w);

void writer_free(struct writer *w);

/* ---- reading ---- */

struct reader;

struct record {
	u64 ts;
	u32 tid;
	u32 stream; /* CPU number, or STREAM_RECORDER */
	u32 block;  /* number of its block, as in reader_blocks */
	u16 type;   /* id in the file's schema */
	u16 size;
	const struct event_desc *desc; /* from the file's schema; never NULL */
	const u8 *raw;		       /* as in the file, header included */
	const void *event;	       /* as this program's struct ev_*; NULL if it knows none */
	const char *tail;	       /* text, not NUL-terminated */
	size_t tail_len;
};

/* How whole the file is, known after reader_open; defects found later are added. */
struct recording_state {
	u8 uuid[16];
	u16 major, minor;
	u32 made;      /* FRAME_* bits: what was done to it after it was recorded */
	bool sound;    /* it has an index and an end */
	bool complete; /* and these are of the recorder: nothing is missing at its end */
	u64 file_bytes;
	u64 ignored;	    /* bytes that belong to no whole block */
	u64 blocks;	    /* data blocks */
	u64 records;	    /* in them */
	u64 raw;	    /* bytes of records */
	u64 packed;	    /* bytes of data blocks on disk */
	u64 ts_min, ts_max; /* of all streams but the recorder's; 0 if there are none */
	u32 streams;	    /* without the recorder's */
	u32 groups;	    /* bit mask of the groups that have records */
	u64 lost;	    /* sum of the streams' counters */
	u64 gaps;	    /* places where a stream's ring positions do not join */
	u64 duplicates;	    /* blocks that were in the file before: left out */
	u64 damaged;	    /* blocks that could not be used, with the duplicates: left out */
	u64 decoded;	    /* blocks decoded so far */
};

/*
 * Opens a recording; path "-" reads standard input into an unnamed temporary
 * file first. Uses the index if the file has a good one, else walks the block
 * headers. ERR_FAIL if it cannot be opened, ERR_DAMAGED if it is no recording,
 * holds no block or claims more records than its size can hold, ERR_VERSION if it needs another
 * reader.
 */
int reader_open(struct reader **ret, const char *path, struct err *e);

/* As reader_open, of an open file that can seek; fd becomes the reader's, also on error. */
int reader_open_fd(struct reader **ret, int fd, struct err *e);

/* Another reader of the same recording. */
int reader_twin(struct reader **ret, const struct reader *of, struct err *e);

const struct recording_state *reader_state(const struct reader *r);
const struct schema *reader_schema(const struct reader *r);

/* Every data block's header, in file order: for verify and info. */
const struct block_info *reader_blocks(const struct reader *r, size_t *ret_n);

/*
 * Limits what reader_next returns to from <= ts < to (the recorder's own stream
 * is always whole). Only blocks that overlap are read. Call before reader_next.
 */
void reader_limit(struct reader *r, u64 from, u64 to);

/* What reader_choose leaves in. */
struct reader_choice {
	u64 from, to; /* from <= ts < to, of the recorder's own stream too */
	u32 groups;   /* bit mask: blocks without records of these groups are not read */
	s64 stream;   /* only this one; -1: all */
};

/* As reader_limit, more narrowly. Records of other groups in the blocks that are read are given. */
void reader_choose(struct reader *r, const struct reader_choice *choice);

/*
 * For making an excerpt: reader_next gives whole blocks, those that overlap from <= ts < to and,
 * of the time before, those that have records of one of these groups (bit mask).
 */
void reader_excerpt(struct reader *r, u64 from, u64 to, u32 early);

/*
 * Decodes one data block by its number, separate from reader_next: its packed bytes and its
 * records, checked against the schema. ERR_DAMAGED if it cannot be decoded.
 */
int reader_block(struct reader *r, size_t number, struct buf *packed, struct buf *records,
		 struct err *e);

/*
 * Decodes blocks in a thread of its own before reader_next needs them, where there are several
 * CPUs: some 24 MiB more memory. Nothing else changes. Before reader_next. cpus: how many may be
 * used; 0: the default.
 */
void reader_ahead(struct reader *r, u32 cpus);

/*
 * Has reader_next call tick now and then with the records read so far, and all that there are. A
 * negative value ends the reading; tick has then filled e.
 */
typedef int (*reader_tick)(void *arg, u64 done, u64 all, struct err *e);
void reader_watch(struct reader *r, reader_tick tick, void *arg);

/*
 * The next record of all streams in order of time (ties: lower stream first; the
 * recorder's last). 1, 0 at the end, negative on error. Two records of one CPU whose
 * programs interrupted each other at a block's end may be out of order by that
 * long: code that subtracts timestamps must bear it. A block
 * that cannot be decoded is left out, counted in damaged, and reading goes on.
 * rec is valid until the next call. Memory: one decoded block for each stream that is not idle, at
 * most READER_MEMORY_MAX in all.
 */
int reader_next(struct reader *r, struct record *rec, struct err *e);

#define READER_MEMORY_MAX (384u << 20)

/* Back to the first record; limits may then be set again. */
void reader_rewind(struct reader *r);

void reader_free(struct reader *r);
