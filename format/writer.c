// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Appends a recording: file frame, schema block, data blocks, index blocks, end
 * frame. Never seeks back, so a pipe will do.
 */
#include "frame.h"
#include "recording.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZSTD_LEVEL 1
#define POLL_MS	   50
#define HURRY_MS   1000

struct writer {
	int fd;
	u64 bytes; /* written, whole blocks only */
	struct block_encoder *enc;
	u16 split[SCHEMA_EVENT_MAX];
	struct buf out;	   /* the block being written */
	struct buf index;  /* an INDEX_ENTRY for each data block */
	struct err failed; /* code 0 while all is well */
	bool socket;
	_Atomic bool hurry; /* a reader that does not read is waited for no longer */
};

/* Waits until a pipe or socket has room. */
static bool wait_room(const struct writer *w)
{
	struct pollfd p = { w->fd, POLLOUT, 0 };
	int waited = 0;

	while (poll(&p, 1, POLL_MS) == 0) {
		waited = w->hurry ? waited + POLL_MS : 0;
		errno = ETIMEDOUT;
		if (waited >= HURRY_MS)
			return false;
	}
	return true;
}

static int write_all(const struct writer *w, const char *data, size_t n)
{
	ssize_t done;

	for (; n > 0; data += done, n -= done) {
		/* a socket that blocks for others must not block here */
		done = w->socket ? send(w->fd, data, n, MSG_DONTWAIT) : write(w->fd, data, n);
		if (done < 0 && (errno == EINTR || (errno == EAGAIN && wait_room(w))))
			done = 0;
		else if (done < 0)
			return -1;
	}
	return 0;
}

void writer_hurry(struct writer *w)
{
	w->hurry = true;
}

/* Writes w->out. On failure takes a half-written block off again, where fd is a file. */
static int flush_out(struct writer *w, struct err *e)
{
	int ret = 0;

	if (write_all(w, w->out.data, w->out.len) < 0) {
		ret = err_errno(&w->failed, ERR_FAIL, "cannot write the recording");
		/* a pipe cannot be cut; the reader ignores half a block */
		if (ftruncate(w->fd, w->bytes) < 0)
			errno = 0;
		if (e)
			*e = w->failed;
	} else {
		w->bytes += w->out.len;
	}
	buf_clear(&w->out);
	return ret;
}

static int append_opaque(struct writer *w, u16 kind, const void *data, size_t n, struct err *e)
{
	struct block_info info = { .kind = kind, .stream = STREAM_RECORDER };
	int ret = block_encode(w->enc, &info, data, n, &w->out, e);

	return ret < 0 ? ret : flush_out(w, e);
}

/* Records of one system call number are similar. */
static void fill_split(u16 *split, const struct schema *s)
{
	int i, f;

	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		for (f = 0; s->by_id[i] && f < s->by_id[i]->n_fields; f++)
			if (s->by_id[i]->fields[f].kind == KIND_SYSCALL)
				split[i] = s->by_id[i]->fields[f].offset;
}

struct block_encoder *writer_encoder(struct err *e)
{
	static u16 split[SCHEMA_EVENT_MAX]; /* derived from the schema: always the same */

	if (!schema_own()) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	fill_split(split, schema_own());
	return block_encoder_new(ZSTD_LEVEL, split, e);
}

static int write_start(struct writer *w, const u8 uuid[16], u32 flags, const struct schema *schema,
		       struct err *e)
{
	struct file_frame file = { RECORDING_MAJOR, RECORDING_MINOR, flags, FRAME_INCOMPAT, { 0 } };
	struct buf text = { 0 };
	u8 frame[FRAME_SIZE];
	int ret;

	memcpy(file.uuid, uuid, sizeof(file.uuid));
	file_frame_put(&file, frame);
	ret = schema ? schema_write(schema, &text, e) : err_set(e, ERR_FAIL, "out of memory");
	if (ret == 0)
		ret = buf_add(&w->out, frame, sizeof(frame), e);
	if (ret == 0)
		ret = append_opaque(w, BLOCK_SCHEMA, text.data, text.len, e);
	buf_free(&text);
	return ret;
}

int writer_open(struct writer **ret, int fd, const u8 uuid[16], struct err *e)
{
	return writer_open_as(ret, fd, uuid, 0, NULL, e);
}

int writer_open_as(struct writer **ret, int fd, const u8 uuid[16], u32 flags,
		   const struct schema *schema, struct err *e)
{
	struct writer *w = calloc(1, sizeof(*w));
	struct stat sb;
	int r;

	if (!w)
		return err_set(e, ERR_FAIL, "out of memory for the recording");
	w->fd = fd;
	w->socket = fstat(fd, &sb) == 0 && S_ISSOCK(sb.st_mode);
	schema = schema ? schema : schema_own();
	if (schema)
		fill_split(w->split, schema);
	w->enc = block_encoder_new(ZSTD_LEVEL, w->split, e);
	r = w->enc ? write_start(w, uuid, flags, schema, e) : ERR_FAIL;
	if (r < 0)
		writer_free(w);
	else
		*ret = w;
	return r;
}

/* Writes the data block in w->out and notes it for the index. */
static int append_out(struct writer *w, struct err *e)
{
	u8 entry[INDEX_ENTRY];
	int ret;

	le_put(entry, w->bytes, 8);
	memcpy(entry + 8, w->out.data, FRAME_SIZE);
	ret = flush_out(w, e);
	return ret < 0 ? ret : buf_add(&w->index, entry, sizeof(entry), e);
}

static int has_failed(const struct writer *w, struct err *e)
{
	if (w->failed.code && e)
		*e = w->failed;
	return w->failed.code;
}

int writer_append(struct writer *w, struct block_info *info, const void *records, size_t len,
		  struct err *e)
{
	int ret = has_failed(w, e);

	if (ret < 0)
		return ret;
	info->kind = BLOCK_DATA;
	ret = block_encode(w->enc, info, records, len, &w->out, e);
	if (ret < 0) {
		buf_clear(&w->out);
		return ret;
	}
	return append_out(w, e);
}

int writer_append_block(struct writer *w, const void *block, size_t len, struct err *e)
{
	int ret = has_failed(w, e);

	if (ret == 0)
		ret = buf_add(&w->out, block, len, e);
	return ret < 0 ? ret : append_out(w, e);
}

int writer_copy(struct writer *w, const struct block_info *info, const void *packed, struct err *e)
{
	u8 frame[FRAME_SIZE];
	int ret = has_failed(w, e);

	block_header_put(info, frame);
	if (ret == 0)
		ret = buf_add(&w->out, frame, sizeof(frame), e);
	if (ret == 0)
		ret = buf_add(&w->out, packed, info->packed, e);
	return ret < 0 ? ret : append_out(w, e);
}

int writer_finish(struct writer *w, struct err *e)
{
	struct end_frame end = { .index = w->bytes };
	u8 frame[FRAME_SIZE];
	size_t at = 0, n;
	int ret;

	ret = has_failed(w, e);
	if (ret < 0)
		return ret;
	do { /* at least one, so that an index is always found */
		n = w->index.len - at;
		n = n < INDEX_BLOCK_MAX ? n : INDEX_BLOCK_MAX;
		ret = append_opaque(w, BLOCK_INDEX, n ? w->index.data + at : "", n, e);
		at += n;
	} while (ret == 0 && at < w->index.len);
	if (ret < 0)
		return ret;
	end.size = w->bytes + sizeof(frame);
	end_frame_put(&end, frame);
	ret = buf_add(&w->out, frame, sizeof(frame), e);
	return ret < 0 ? ret : flush_out(w, e);
}

u64 writer_bytes(const struct writer *w)
{
	return w->bytes;
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	block_encoder_free(w->enc);
	buf_free(&w->out);
	buf_free(&w->index);
	free(w);
}
