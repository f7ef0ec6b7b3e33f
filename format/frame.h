/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames that hold our own headers: zstd skippable frames of one size, so
 * that any zstd decoder steps over them, each with a checksum. First bytes of a
 * recording: the file frame; last: the end frame; between: block headers.
 */
#pragma once

#include "err.h"
#include "event.h"

#include <stdbool.h>
#include <stddef.h>

#define FRAME_BODY     96
#define FRAME_SIZE     (8 + FRAME_BODY) /* with the skippable frame's own magic and size */
#define FRAME_ZSTD     0x184D2A5Bu	/* one of zstd's 16 magics for skippable frames */
#define FRAME_INCOMPAT 0u		/* feature bits that a reader must know: none yet */

/* Feature bits that an older reader may ignore: what was done to a recording after it was made. */
#define FRAME_REPAIRED 1u  /* its end is missing: the index was made later */
#define FRAME_EXCERPT  2u  /* only a part of what was recorded */
#define FRAME_MERGED   4u  /* of several recordings */
#define FRAME_REDACTED 8u  /* text and addresses were replaced */
#define FRAME_MIGRATED 16u /* converted by a newer schema */

/* One entry of an index block: offset of a data block in the file, and its header frame. */
#define INDEX_ENTRY	(8 + FRAME_SIZE)
#define INDEX_BLOCK_MAX (32768 * INDEX_ENTRY) /* bytes of entries in one index block */

struct file_frame {
	u16 major;    /* another number: another reader is needed */
	u16 minor;    /* higher: this reader misses nothing that it needs */
	u32 compat;   /* feature bits */
	u32 incompat; /* feature bits; an unknown one: another reader is needed */
	u8 uuid[16];
};

struct end_frame {
	u64 index; /* offset of the first index block; the others follow up to the end frame */
	u64 size;  /* of the file, this frame included */
};

/* Little-endian numbers at any address. */
static inline u64 le_get(const u8 *at, int bytes)
{
	u64 v = 0;

	while (bytes-- > 0)
		v = v << 8 | at[bytes];
	return v;
}
void le_put(u8 *at, u64 v, int bytes);

/* Writes the skippable frame's head, and the checksum over a body that is otherwise complete. */
void frame_seal(u8 *frame);

/* True if frame has our head, this tag in its first bytes, and a right checksum. */
bool frame_check(const u8 *frame, const char *tag, size_t tag_len);

void file_frame_put(const struct file_frame *f, u8 *frame);
/* ERR_DAMAGED: no recording; ERR_VERSION: of another version. */
int file_frame_get(struct file_frame *f, const u8 *frame, struct err *e);

void end_frame_put(const struct end_frame *f, u8 *frame);
/* False if frame is not a sound end frame. */
bool end_frame_get(struct end_frame *f, const u8 *frame);
