/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One stream of a recording while it is read: its decoded block, and buffers. Part of the reader.
 */
#pragma once

#include "buf.h"
#include "schema.h"

#define SPARE_MAX  4 /* buffers of idle streams that are kept */
#define LOOK_AHEAD 8 /* blocks of a stream that may begin before one of it ends */

struct stream {
	u32 id;
	size_t *blocks; /* its blocks' numbers in the catalog, in file order */
	size_t n_blocks;
	size_t next_block;
	u32 block;	    /* number of the decoded one */
	struct buf records; /* the decoded block */
	u32 *at;	    /* offsets of its records, in order of time */
	size_t at_cap;
	u32 n, next;	 /* records; the next one to give. next == n: block not decoded */
	u64 key;	 /* ts of the next record, or of the next block's first */
	struct buf held; /* records later than the start of a following block */
	u32 n_held;
	u64 held_ts;   /* of the first of them */
	u64 decoded;   /* bytes of its blocks so far */
	u64 waited;    /* bytes that were held back so far, as often as they were */
	u32 n_waiting; /* blocks that records were held back of */
	u64 memory;    /* of its buffers */
};

/* Buffers that idle streams gave away, for those that decode a block next. */
struct spares {
	struct spare {
		struct buf records;
		u32 *at;
		size_t at_cap;
	} of[SPARE_MAX];
	int n;
};

/* Lists n decoded records, checked against the schema, in order of time. */
int stream_list(struct stream *s, const struct schema *schema, u32 n, struct err *e);

/* As stream_list, with the records that were held back. */
int stream_list_all(struct stream *s, const struct schema *schema, u32 n, struct err *e);

/*
 * Of the listed records, holds back those later than limit. ERR_DAMAGED if that has become more
 * work than real recordings are: none is listed, and the n_waiting blocks before are lost too.
 */
int stream_hold(struct stream *s, u64 limit, struct err *e);

/* Bytes of the stream's buffers. */
u64 stream_memory(const struct stream *s);

/* Buffers for a stream that has none, if there are spare ones. */
void stream_take(struct stream *s, struct spares *spares);

/* A stream without decoded records gives its buffers away. */
void stream_give(struct stream *s, struct spares *spares);

void stream_free(struct stream *s);
void spares_free(struct spares *spares);
