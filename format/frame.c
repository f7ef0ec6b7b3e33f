// SPDX-License-Identifier: GPL-2.0-or-later
/* The frames of our own headers: file, end, and what block headers share with them. */
#include "frame.h"

#include "recording.h"

#include <string.h>

#define FILE_TAG "OBSREC\r\n" /* the line end shows transfers that rewrite text */
#define END_TAG	 "OBSEND\r\n"
#define TAG_LEN	 8
#define CHECK_AT (FRAME_BODY - 8)

void le_put(u8 *at, u64 v, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++, v >>= 8)
		at[i] = v;
}

/* FNV-1a, 64 bits: guards headers against damage, not against forgery. */
static u64 checksum(const u8 *at, size_t n)
{
	u64 h = 0xcbf29ce484222325u;

	while (n--)
		h = (h ^ *at++) * 0x100000001b3u;
	return h;
}

void frame_seal(u8 *frame)
{
	le_put(frame, FRAME_ZSTD, 4);
	le_put(frame + 4, FRAME_BODY, 4);
	le_put(frame + 8 + CHECK_AT, checksum(frame + 8, CHECK_AT), 8);
}

bool frame_check(const u8 *frame, const char *tag, size_t tag_len)
{
	return le_get(frame, 4) == FRAME_ZSTD && le_get(frame + 4, 4) == FRAME_BODY &&
	       memcmp(frame + 8, tag, tag_len) == 0 &&
	       le_get(frame + 8 + CHECK_AT, 8) == checksum(frame + 8, CHECK_AT);
}

void file_frame_put(const struct file_frame *f, u8 *frame)
{
	u8 *b = frame + 8;

	memset(frame, 0, FRAME_SIZE);
	memcpy(b, FILE_TAG, TAG_LEN);
	le_put(b + 8, f->major, 2);
	le_put(b + 10, f->minor, 2);
	le_put(b + 12, f->compat, 4);
	le_put(b + 16, f->incompat, 4);
	memcpy(b + 24, f->uuid, sizeof(f->uuid));
	frame_seal(frame);
}

int file_frame_get(struct file_frame *f, const u8 *frame, struct err *e)
{
	const u8 *b = frame + 8;

	if (memcmp(frame, "SQLite format 3", 16) == 0)
		return err_set(e, ERR_DAMAGED,
			       "this is a database; the command needs the recording itself");
	/* the tag alone identifies the file; a wrong sum then means damage */
	if (memcmp(b, FILE_TAG, TAG_LEN) != 0)
		return err_set(e, ERR_DAMAGED, "this is not a recording made by obsrec");
	if (!frame_check(frame, FILE_TAG, TAG_LEN))
		return err_set(e, ERR_DAMAGED, "the first bytes of the recording are damaged");
	f->major = le_get(b + 8, 2);
	f->minor = le_get(b + 10, 2);
	f->compat = le_get(b + 12, 4);
	f->incompat = le_get(b + 16, 4);
	memcpy(f->uuid, b + 24, sizeof(f->uuid));
	if (f->major != RECORDING_MAJOR)
		return err_set(
			e, ERR_VERSION,
			"the recording has format version %u.%u; this program reads version "
			"%u: use the obsanalyze of the same version as the obsrec that wrote it",
			f->major, f->minor, RECORDING_MAJOR);
	if (f->incompat & ~FRAME_INCOMPAT)
		return err_set(e, ERR_VERSION,
			       "the recording needs features that this program lacks (bits 0x%x): "
			       "use a newer obsanalyze",
			       f->incompat & ~FRAME_INCOMPAT);
	return 0;
}

void end_frame_put(const struct end_frame *f, u8 *frame)
{
	memset(frame, 0, FRAME_SIZE);
	memcpy(frame + 8, END_TAG, TAG_LEN);
	le_put(frame + 16, f->index, 8);
	le_put(frame + 24, f->size, 8);
	frame_seal(frame);
}

bool end_frame_get(struct end_frame *f, const u8 *frame)
{
	if (!frame_check(frame, END_TAG, TAG_LEN))
		return false;
	f->index = le_get(frame + 16, 8);
	f->size = le_get(frame + 24, 8);
	return true;
}
