// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds a recording's blocks: by index or by walking. Nothing that the file says is trusted. */
#include "catalog.h"

#include "frame.h"
#include "grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a file may claim to hold: for each of its bytes, and without condition. */
#define RECORDS_A_BYTE 16
#define RECORDS_FREE   4000000
#define RAW_A_BYTE     512
#define RAW_FREE       (1ull << 28)

#define SHORT "the recording ends inside its first blocks"

/* Reads exactly n bytes at offset. ERR_DAMAGED with the sentence where the file ends before. */
static int read_at(int fd, void *data, size_t n, u64 offset, const char *sentence, struct err *e)
{
	u8 *at = data;
	ssize_t got;

	for (; n > 0; at += got, n -= got, offset += got) {
		got = pread(fd, at, n, offset);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got < 0)
			return err_errno(e, ERR_FAIL, "cannot read the recording");
		else if (got == 0)
			return err_set(e, ERR_DAMAGED, "%s", sentence);
	}
	return 0;
}

static int catalog_add(struct catalog *c, const struct block_info *info, u64 offset, struct err *e)
{
	if (GROW(c->blocks, c->n, "the list of blocks", e) < 0 ||
	    GROW(c->offsets, c->n, "the list of blocks", e) < 0)
		return ERR_FAIL;
	c->blocks[c->n] = *info;
	c->offsets[c->n++] = offset;
	return 0;
}

/* Decompresses a schema or index block whose header is at offset. */
static int read_opaque(int fd, u64 offset, u16 kind, struct buf *out, u64 *ret_end, struct err *e)
{
	struct block_decoder *dec = NULL;
	struct block_info info;
	u8 frame[FRAME_SIZE];
	char *packed = NULL;
	int ret;

	ret = read_at(fd, frame, sizeof(frame), offset, SHORT, e);
	if (ret == 0)
		ret = block_header_get(&info, frame, e);
	if (ret < 0)
		return ret;
	if (info.kind != kind)
		return err_set(e, ERR_DAMAGED,
			       "a block of the recording is not where it should be");
	ret = ERR_FAIL;
	packed = malloc(info.packed + 1);
	dec = block_decoder_new(e);
	if (!packed || !dec) {
		err_set(e, ERR_FAIL, "out of memory for a block");
		goto out;
	}
	ret = read_at(fd, packed, info.packed, offset + FRAME_SIZE, SHORT, e);
	if (ret < 0)
		goto out;
	*ret_end = offset + FRAME_SIZE + info.packed;
	ret = block_decode(dec, &info, packed, out, e);
out:
	block_decoder_free(dec);
	free(packed);
	return ret;
}

/* Takes the entries of one index block. ERR_DAMAGED if one of them cannot be true. */
static int take_entries(struct catalog *c, const struct buf *b, u64 *next, u64 limit, struct err *e)
{
	struct block_info info;
	size_t at;
	u64 offset;
	int ret = b->len % INDEX_ENTRY ? ERR_DAMAGED : 0;

	for (at = 0; ret == 0 && at < b->len; at += INDEX_ENTRY) {
		const u8 *entry = (const u8 *)b->data + at;

		offset = le_get(entry, 8);
		if (block_header_get(&info, entry + 8, NULL) < 0 || info.kind != BLOCK_DATA ||
		    offset != *next || info.packed + FRAME_SIZE > limit - offset)
			return ERR_DAMAGED;
		ret = catalog_add(c, &info, offset + FRAME_SIZE, e);
		*next = offset + FRAME_SIZE + info.packed;
	}
	return ret;
}

/* 1 if the file ends soundly and its index names blocks that fill it without a gap, else 0. */
static int use_index(struct catalog *c, int fd, u64 first, u64 size, struct err *e)
{
	struct buf content = { 0 };
	u8 frame[FRAME_SIZE];
	struct end_frame end;
	u64 next = first, at;
	int ret;

	if (size < first + FRAME_SIZE)
		return 0;
	ret = read_at(fd, frame, sizeof(frame), size - FRAME_SIZE, SHORT, e);
	if (ret == 0 && (!end_frame_get(&end, frame) || end.size != size || end.index < first ||
			 end.index >= size - FRAME_SIZE))
		return 0;
	for (at = ret == 0 ? end.index : size; ret == 0 && at < size - FRAME_SIZE;) {
		ret = read_opaque(fd, at, BLOCK_INDEX, &content, &at, e);
		if (ret == 0)
			ret = take_entries(c, &content, &next, end.index, e);
	}
	buf_free(&content);
	if (ret == 0 && at == size - FRAME_SIZE && next == end.index)
		return 1;
	c->n = 0;
	return ret == ERR_FAIL ? ret : 0;
}

/* Reads the block header at a place: 1 if a sound one is there, else 0. */
static int header_at(struct block_info *info, int fd, u64 at, struct err *e)
{
	u8 frame[FRAME_SIZE];
	int ret = read_at(fd, frame, sizeof(frame), at, SHORT, e);

	if (ret < 0)
		return ret == ERR_FAIL ? ret : 0;
	return block_header_get(info, frame, NULL) == 0;
}

/*
 * Moves at to the next place where a sound block header stands, or to size. Damage in the middle
 * of a file costs the blocks that it hit, not those after it.
 */
static int next_header(u64 *at, int fd, u64 size, struct err *e)
{
	static const u8 magic[8] = { FRAME_ZSTD & 0xff,
				     FRAME_ZSTD >> 8 & 0xff,
				     FRAME_ZSTD >> 16 & 0xff,
				     FRAME_ZSTD >> 24,
				     FRAME_BODY,
				     0,
				     0,
				     0 };
	struct block_info info;
	u8 chunk[65536];
	size_t n, i;
	int ret = 0;

	for (; ret == 0 && *at + FRAME_SIZE <= size; *at += n - sizeof(magic) + 1) {
		n = size - *at < sizeof(chunk) ? size - *at : sizeof(chunk);
		ret = read_at(fd, chunk, n, *at, SHORT, e);
		for (i = 0; ret == 0 && i + sizeof(magic) <= n; i++) {
			if (memcmp(chunk + i, magic, sizeof(magic)) == 0)
				ret = header_at(&info, fd, *at + i, e);
			if (ret == 1) {
				*at += i;
				return 0;
			}
		}
	}
	*at = size;
	return ret == ERR_DAMAGED ? 0 : ret;
}

/* Walks headers to the end of the file and over what is none; counts the bytes of that. */
static int walk(struct catalog *c, int fd, u64 first, u64 size, u64 *ret_ignored, struct err *e)
{
	struct block_info info;
	u64 at = first, next;
	int ret = 0;

	*ret_ignored = 0;
	while (ret == 0 && at < size) {
		ret = header_at(&info, fd, at, e);
		if (ret == 1 && info.packed <= size - at - FRAME_SIZE) {
			ret = 0;
			if (info.kind == BLOCK_DATA)
				ret = catalog_add(c, &info, at + FRAME_SIZE, e);
			at += FRAME_SIZE + info.packed;
			continue;
		}
		next = at + 1;
		if (ret >= 0)
			ret = next_header(&next, fd, size, e);
		*ret_ignored += next - at;
		at = next;
	}
	return ret;
}

/* What two copies of a block share: their place in the CPU's ring; the recorder's, their content.
 */
struct place {
	u64 pos_begin, pos_end, ts_min, ts_max, sum;
	u32 stream, records;
	size_t number;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const u64 keys[][2] = {
		{ x->stream, y->stream },   { x->pos_begin, y->pos_begin },
		{ x->pos_end, y->pos_end }, { x->ts_min, y->ts_min },
		{ x->ts_max, y->ts_max },   { x->records, y->records },
		{ x->sum, y->sum },
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = compare_places(a, b);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* zstd's checksum of the content, which ends the frame; 0 for blocks with a place in a ring. */
static int checksum_of(u64 *ret_sum, const struct catalog *c, size_t i, int fd, struct err *e)
{
	const struct block_info *b = &c->blocks[i];
	u8 sum[4] = { 0 };
	int ret = 0;

	if (b->pos_begin == b->pos_end && b->packed >= sizeof(sum))
		ret = read_at(fd, sum, sizeof(sum), c->offsets[i] + b->packed - sizeof(sum), SHORT,
			      e);
	*ret_sum = le_get(sum, sizeof(sum));
	return ret;
}

/* Takes out blocks that are there already, since their events would count twice. */
static int drop_duplicates(struct catalog *c, int fd, u64 *ret_n, struct err *e)
{
	struct place *list = calloc(c->n + 1, sizeof(*list));
	size_t i, kept = 0;
	int ret = 0;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for the list of blocks");
	for (i = 0; ret == 0 && i < c->n; i++) {
		const struct block_info *b = &c->blocks[i];

		list[i] = (struct place){ b->pos_begin, b->pos_end, b->ts_min, b->ts_max, 0,
					  b->stream,	b->records, i };
		ret = checksum_of(&list[i].sum, c, i, fd, e);
	}
	if (ret < 0) {
		free(list);
		return ret;
	}
	qsort(list, c->n, sizeof(*list), by_place);
	for (i = 1; i < c->n; i++)
		if (list[i].records && compare_places(&list[i - 1], &list[i]) == 0)
			c->blocks[list[i].number].kind = 0;
	free(list);
	for (i = 0; i < c->n; i++) {
		if (c->blocks[i].kind != BLOCK_DATA)
			continue;
		c->blocks[kept] = c->blocks[i];
		c->offsets[kept++] = c->offsets[i];
	}
	*ret_n = c->n - kept;
	c->n = kept;
	return 0;
}

/*
 * What is more than a file of this size can hold is made to exhaust its reader. Times of real
 * events alone take more than a bit each; small files may be synthetic.
 */
static int check_claims(const struct recording_state *st, struct err *e)
{
	const u64 records = st->file_bytes * RECORDS_A_BYTE, raw = st->file_bytes * RAW_A_BYTE;

	if (st->records <= RECORDS_FREE + records && st->raw <= RAW_FREE + raw)
		return 0;
	return err_set(e, ERR_DAMAGED,
		       "the recording claims %llu records of %llu bytes in a file of %llu bytes: "
		       "events of a real host do not shrink so much",
		       (unsigned long long)st->records, (unsigned long long)st->raw,
		       (unsigned long long)st->file_bytes);
}

/* What the last block of each stream said; streams are few, blocks come in turn. */
struct stream_end {
	u32 stream;
	u64 pos_end;
	u64 lost;
};

/* The end of a block's stream so far; a new stream begins where its first block does. */
static struct stream_end *end_of(struct stream_end **ends, u32 *n, const struct block_info *b,
				 struct err *e)
{
	u32 i;

	for (i = 0; i < *n; i++)
		if ((*ends)[i].stream == b->stream)
			return &(*ends)[i];
	if (*n == STREAM_MAX) {
		err_set(e, ERR_DAMAGED, "the recording claims more than %d CPUs", STREAM_MAX);
		return NULL;
	}
	if (GROW(*ends, *n, "the list of streams", e) < 0)
		return NULL;
	(*ends)[*n] = (struct stream_end){ b->stream, b->pos_begin, 0 };
	return &(*ends)[(*n)++];
}

static int sum_up(const struct catalog *c, struct recording_state *st, struct err *e)
{
	struct stream_end *ends = NULL, *s;
	size_t i;

	st->blocks = c->n;
	for (i = 0; i < c->n; i++) {
		const struct block_info *b = &c->blocks[i];

		st->records += b->records;
		st->raw += b->raw;
		st->packed += FRAME_SIZE + b->packed;
		st->groups |= b->groups;
		if (b->stream == STREAM_RECORDER)
			continue;
		if (b->records && (!st->ts_min || b->ts_min < st->ts_min))
			st->ts_min = b->ts_min;
		st->ts_max = b->ts_max > st->ts_max ? b->ts_max : st->ts_max;
		s = end_of(&ends, &st->streams, b, e);
		if (!s) {
			free(ends);
			return e ? (int)e->code : ERR_DAMAGED;
		}
		st->gaps += s->pos_end != b->pos_begin;
		s->pos_end = b->pos_end;
		st->lost += b->lost > s->lost ? b->lost - s->lost : 0;
		s->lost = b->lost > s->lost ? b->lost : s->lost;
	}
	free(ends);
	return 0;
}

int catalog_read(struct catalog *c, struct schema **ret_schema, struct recording_state *state,
		 int fd, struct err *e)
{
	struct recording_state st = { 0 };
	struct file_frame file;
	struct buf text = { 0 };
	u8 frame[FRAME_SIZE];
	struct stat sb;
	u64 first;
	int ret;

	if (fstat(fd, &sb) < 0)
		return err_errno(e, ERR_FAIL, "cannot examine the recording");
	st.file_bytes = sb.st_size;
	if (st.file_bytes == 0)
		return err_set(e, ERR_DAMAGED, "the file is empty");
	ret = read_at(fd, frame, sizeof(frame), 0, "the file is too short to be a recording", e);
	if (ret == 0)
		ret = file_frame_get(&file, frame, e);
	if (ret == 0)
		ret = read_opaque(fd, FRAME_SIZE, BLOCK_SCHEMA, &text, &first, e);
	if (ret == 0)
		ret = schema_parse(ret_schema, text.data ? text.data : "", text.len, e);
	buf_free(&text);
	if (ret < 0)
		return ret;
	memcpy(st.uuid, file.uuid, sizeof(st.uuid));
	st.major = file.major;
	st.minor = file.minor;
	st.made = file.compat;
	ret = use_index(c, fd, first, st.file_bytes, e);
	st.sound = ret == 1;
	st.complete = st.sound && !(st.made & FRAME_REPAIRED);
	if (ret == 1)
		ret = 0;
	else if (ret == 0)
		ret = walk(c, fd, first, st.file_bytes, &st.ignored, e);
	if (ret == 0)
		ret = drop_duplicates(c, fd, &st.duplicates, e);
	st.damaged = st.duplicates;
	if (ret == 0)
		ret = sum_up(c, &st, e);
	if (ret == 0)
		ret = check_claims(&st, e);
	if (ret == 0)
		*state = st;
	return ret;
}

int catalog_packed(const struct catalog *c, int fd, size_t number, struct buf *packed,
		   struct err *e)
{
	const struct block_info *b = &c->blocks[number];
	int ret;

	buf_clear(packed);
	ret = buf_reserve(packed, b->packed, e);
	if (ret < 0)
		return ret;
	return read_at(fd, packed->data, b->packed, c->offsets[number],
		       "a block of the recording cannot be read", e);
}

void catalog_free(struct catalog *c)
{
	free(c->blocks);
	free(c->offsets);
	*c = (struct catalog){ 0 };
}
