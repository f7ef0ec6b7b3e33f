// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds a recording's blocks: by index or by walking. Nothing that the file says is trusted. */
#include "catalog.h"

#include "frame.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a file may claim to hold: for each of its bytes, and without condition. */
#define RECORDS_A_BYTE 16
#define RECORDS_FREE   4000000
#define RAW_A_BYTE     512
#define RAW_FREE       (1ull << 28)

/* Reads exactly n bytes at offset; false at the end of the file or on error. */
static bool read_at(int fd, void *data, size_t n, u64 offset)
{
	u8 *at = data;
	ssize_t got;

	for (; n > 0; at += got, n -= got, offset += got) {
		got = pread(fd, at, n, offset);
		if (got <= 0)
			return false;
	}
	return true;
}

static int catalog_add(struct catalog *c, const struct block_info *info, u64 offset, struct err *e)
{
	size_t cap = c->cap ? 2 * c->cap : 256;
	struct block_info *blocks;
	u64 *offsets;

	if (c->n == c->cap) {
		blocks = realloc(c->blocks, cap * sizeof(*blocks));
		c->blocks = blocks ? blocks : c->blocks;
		offsets = realloc(c->offsets, cap * sizeof(*offsets));
		c->offsets = offsets ? offsets : c->offsets;
		if (!blocks || !offsets)
			return err_set(e, ERR_FAIL, "out of memory for the list of blocks");
		c->cap = cap;
	}
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

	if (!read_at(fd, frame, sizeof(frame), offset))
		return err_set(e, ERR_DAMAGED, "the recording ends inside its first blocks");
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
	if (!read_at(fd, packed, info.packed, offset + FRAME_SIZE)) {
		ret = err_set(e, ERR_DAMAGED, "the recording ends inside its first blocks");
		goto out;
	}
	*ret_end = offset + FRAME_SIZE + info.packed;
	ret = block_decode(dec, &info, packed, out, e);
out:
	block_decoder_free(dec);
	free(packed);
	return ret;
}

/* Takes the entries of one index block; false if one of them cannot be true. */
static bool take_entries(struct catalog *c, const struct buf *b, u64 *next, u64 limit)
{
	struct block_info info;
	size_t at;
	u64 offset;

	if (b->len % INDEX_ENTRY)
		return false;
	for (at = 0; at < b->len; at += INDEX_ENTRY) {
		const u8 *entry = (const u8 *)b->data + at;

		offset = le_get(entry, 8);
		if (block_header_get(&info, entry + 8, NULL) < 0 || info.kind != BLOCK_DATA ||
		    offset != *next || info.packed + FRAME_SIZE > limit - offset)
			return false;
		if (catalog_add(c, &info, offset + FRAME_SIZE, NULL) < 0)
			return false;
		*next = offset + FRAME_SIZE + info.packed;
	}
	return true;
}

/* True if the file ends soundly and its index names blocks that fill it without a gap. */
static bool use_index(struct catalog *c, int fd, u64 first, u64 size)
{
	struct buf content = { 0 };
	u8 frame[FRAME_SIZE];
	struct end_frame end;
	u64 next = first, at;
	bool good;

	if (size < first + FRAME_SIZE || !read_at(fd, frame, sizeof(frame), size - FRAME_SIZE) ||
	    !end_frame_get(&end, frame) || end.size != size || end.index < first ||
	    end.index > size - FRAME_SIZE)
		return false;
	good = end.index < size - FRAME_SIZE;
	for (at = end.index; good && at < size - FRAME_SIZE;)
		good = read_opaque(fd, at, BLOCK_INDEX, &content, &at, NULL) == 0 &&
		       take_entries(c, &content, &next, end.index);
	buf_free(&content);
	if (good && at == size - FRAME_SIZE && next == end.index)
		return true;
	c->n = 0;
	return false;
}

/*
 * The first place from at on where a sound block header stands, or size. Damage in the middle of a
 * file costs the blocks that it hit, not those after it.
 */
static u64 next_header(int fd, u64 at, u64 size)
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
	u8 chunk[65536], frame[FRAME_SIZE];
	size_t n, i;

	for (; at + FRAME_SIZE <= size; at += n - sizeof(magic) + 1) {
		n = size - at < sizeof(chunk) ? size - at : sizeof(chunk);
		if (!read_at(fd, chunk, n, at))
			return size;
		for (i = 0; i + sizeof(magic) <= n; i++)
			if (memcmp(chunk + i, magic, sizeof(magic)) == 0 &&
			    read_at(fd, frame, sizeof(frame), at + i) &&
			    block_header_get(&info, frame, NULL) == 0)
				return at + i;
	}
	return size;
}

/* Walks headers to the end of the file and over what is none; counts the bytes of that. */
static int walk(struct catalog *c, int fd, u64 first, u64 size, u64 *ret_ignored, struct err *e)
{
	struct block_info info;
	u8 frame[FRAME_SIZE];
	u64 at = first, next;
	int ret = 0;

	*ret_ignored = 0;
	while (ret == 0 && at < size) {
		if (read_at(fd, frame, sizeof(frame), at) &&
		    block_header_get(&info, frame, NULL) == 0 &&
		    info.packed <= size - at - FRAME_SIZE) {
			if (info.kind == BLOCK_DATA)
				ret = catalog_add(c, &info, at + FRAME_SIZE, e);
			at += FRAME_SIZE + info.packed;
			continue;
		}
		next = next_header(fd, at + 1, size);
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
static u64 checksum_of(const struct catalog *c, size_t i, int fd)
{
	const struct block_info *b = &c->blocks[i];
	u8 sum[4] = { 0 };

	if (b->pos_begin == b->pos_end && b->packed >= sizeof(sum))
		read_at(fd, sum, sizeof(sum), c->offsets[i] + b->packed - sizeof(sum));
	return le_get(sum, sizeof(sum));
}

/* Takes out blocks that are there already, since their events would count twice. */
static int drop_duplicates(struct catalog *c, int fd, u64 *ret_n, struct err *e)
{
	struct place *list = calloc(c->n + 1, sizeof(*list));
	size_t i, kept = 0;

	if (!list)
		return err_set(e, ERR_FAIL, "out of memory for the list of blocks");
	for (i = 0; i < c->n; i++) {
		const struct block_info *b = &c->blocks[i];

		list[i] = (struct place){ b->pos_begin,		 b->pos_end, b->ts_min,	 b->ts_max,
					  checksum_of(c, i, fd), b->stream,  b->records, i };
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
	struct stream_end *grown;
	u32 i;

	for (i = 0; i < *n; i++)
		if ((*ends)[i].stream == b->stream)
			return &(*ends)[i];
	if (*n == STREAM_MAX) {
		err_set(e, ERR_DAMAGED, "the recording claims more than %d CPUs", STREAM_MAX);
		return NULL;
	}
	grown = realloc(*ends, (*n + 1) * sizeof(*grown));
	if (!grown) {
		err_set(e, ERR_FAIL, "out of memory for the list of streams");
		return NULL;
	}
	*ends = grown;
	grown[*n] = (struct stream_end){ b->stream, b->pos_begin, 0 };
	return &grown[(*n)++];
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
	if (!read_at(fd, frame, sizeof(frame), 0))
		return err_set(e, ERR_DAMAGED, "the file is too short to be a recording");
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
	st.sound = use_index(c, fd, first, st.file_bytes);
	st.complete = st.sound && !(st.made & FRAME_REPAIRED);
	if (!st.sound)
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

void catalog_free(struct catalog *c)
{
	free(c->blocks);
	free(c->offsets);
	*c = (struct catalog){ 0 };
}
