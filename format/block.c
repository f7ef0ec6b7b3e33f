// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records to compressed block and back, side by side.
 *
 * Before zstd sees them, records are turned from rows into byte planes: records
 * of one type and size (system calls: and number) form a class, and the first bytes of all records
 * of a class stand together, then the second bytes, and so on; timestamps are stored separately, as
 * differences. Similar bytes are then adjacent.
 *
 *   content: u32 number of classes
 *            class table: u16 type, u16 size, u32 records, for each class
 *            class numbers of the records: low bytes, then high bytes
 *            differences of the timestamps: 8 planes
 *            for each class: planes of bytes 8.. of its records
 */
#include "block.h"

#include "frame.h"
#include "planes.h"
#include "schema.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define BLOCK_TAG  "OBSB"
#define CLASS_MAX  4096 /* kinds of (type, size) in one block */
#define CLASS_HASH (4 * CLASS_MAX)
#define WINDOW_LOG 23 /* no frame may ask a reader for a window above 8 MiB */
#define HEADER_TS  8  /* bytes of the record that the timestamp planes hold */

struct class
{
	u16 type;
	u16 size;
	u16 key; /* encoder only: value of the u16 that splits the type */
	u32 records;
	u32 first; /* of its records in order[] */
	u32 next;  /* fill mark while order[] is made */
};

/* What both directions need: which record is where, by class. */
struct layout {
	struct class *classes;
	u16 *class_of; /* of each record */
	u32 *order;    /* offsets of the records, class by class */
	u64 *deltas;
	u16 *hash; /* class number + 1 */
	u32 n_classes;
	u32 n;
	u32 room; /* records that the arrays hold */
};

struct block_encoder {
	ZSTD_CCtx *zstd;
	const u16 *split;
	struct layout layout;
	struct buf content;
};

struct block_decoder {
	ZSTD_DCtx *zstd;
	struct layout layout;
	struct buf content;
};

static void layout_free(struct layout *l)
{
	free(l->classes);
	free(l->class_of);
	free(l->order);
	free(l->deltas);
	free(l->hash);
}

/* Makes room for that many records. */
static int layout_room(struct layout *l, u32 records, struct err *e)
{
	u32 room = l->room ? l->room : 256;

	if (l->room && records <= l->room)
		return 0;
	while (room < records)
		room *= 2;
	layout_free(l);
	*l = (struct layout){ .classes = calloc(CLASS_MAX, sizeof(*l->classes)),
			      .class_of = calloc(room, sizeof(*l->class_of)),
			      .order = calloc(room, sizeof(*l->order)),
			      .deltas = calloc(room, sizeof(*l->deltas)),
			      .hash = calloc(CLASS_HASH, sizeof(*l->hash)),
			      .n_classes = l->n_classes,
			      .n = l->n };
	if (!l->classes || !l->class_of || !l->order || !l->deltas || !l->hash)
		return err_set(e, ERR_FAIL, "out of memory for blocks");
	l->room = room;
	return 0;
}

/* Fills order[] from class_of[] once the classes' numbers of records are known. */
static void layout_order(struct layout *l)
{
	u32 i, first = 0, at = 0;

	for (i = 0; i < l->n_classes; i++) {
		l->classes[i].first = l->classes[i].next = first;
		first += l->classes[i].records;
	}
	for (i = 0; i < l->n; i++) {
		struct class *c = &l->classes[l->class_of[i]];

		l->order[c->next++] = at;
		at += c->size;
	}
}

/* ---- headers ---- */

void block_header_put(const struct block_info *info, u8 *frame)
{
	u8 *b = frame + 8;

	memset(frame, 0, FRAME_SIZE);
	memcpy(b, BLOCK_TAG, 4);
	le_put(b + 4, info->kind, 2);
	le_put(b + 6, FRAME_BODY, 2);
	le_put(b + 8, info->stream, 4);
	le_put(b + 12, info->groups, 4);
	le_put(b + 16, info->records, 4);
	le_put(b + 20, info->raw, 4);
	le_put(b + 24, info->content, 4);
	le_put(b + 28, info->packed, 4);
	le_put(b + 32, info->ts_min, 8);
	le_put(b + 40, info->ts_max, 8);
	le_put(b + 48, info->pos_begin, 8);
	le_put(b + 56, info->pos_end, 8);
	le_put(b + 64, info->lost, 8);
	frame_seal(frame);
}

int block_header_get(struct block_info *info, const u8 *frame, struct err *e)
{
	const u8 *b = frame + 8;

	if (!frame_check(frame, BLOCK_TAG, 4))
		return err_set(e, ERR_DAMAGED, "a block header is damaged");
	*info = (struct block_info){
		.kind = le_get(b + 4, 2),
		.stream = le_get(b + 8, 4),
		.groups = le_get(b + 12, 4),
		.records = le_get(b + 16, 4),
		.raw = le_get(b + 20, 4),
		.content = le_get(b + 24, 4),
		.packed = le_get(b + 28, 4),
		.ts_min = le_get(b + 32, 8),
		.ts_max = le_get(b + 40, 8),
		.pos_begin = le_get(b + 48, 8),
		.pos_end = le_get(b + 56, 8),
		.lost = le_get(b + 64, 8),
	};
	if (info->kind < BLOCK_SCHEMA || info->kind > BLOCK_INDEX || info->raw > BLOCK_RAW_MAX ||
	    info->content > BLOCK_CONTENT_MAX || info->packed > ZSTD_compressBound(info->content) ||
	    info->records > info->raw / sizeof(struct ev_header) || info->ts_min > info->ts_max ||
	    info->ts_max > TS_MAX || info->pos_begin > info->pos_end)
		return err_set(e, ERR_DAMAGED, "a block header contradicts itself");
	return 0;
}

/* ---- encoding ---- */

struct block_encoder *block_encoder_new(int level, const u16 *split, struct err *e)
{
	struct block_encoder *enc = calloc(1, sizeof(*enc));

	if (!enc)
		err_set(e, ERR_FAIL, "out of memory for blocks");
	if (!enc || layout_room(&enc->layout, BLOCK_RECORD_MAX, e) < 0) {
		block_encoder_free(enc);
		return NULL;
	}
	enc->split = split;
	enc->zstd = ZSTD_createCCtx();
	if (!enc->zstd ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(enc->zstd, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(enc->zstd, ZSTD_c_checksumFlag, 1))) {
		err_set(e, ERR_FAIL, "cannot set up zstd");
		block_encoder_free(enc);
		return NULL;
	}
	return enc;
}

void block_encoder_free(struct block_encoder *enc)
{
	if (!enc)
		return;
	ZSTD_freeCCtx(enc->zstd);
	layout_free(&enc->layout);
	buf_free(&enc->content);
	free(enc);
}

/* The class of (type, size, key), made if it is new; -1 when there are too many. */
static int class_find(struct layout *l, u16 type, u16 size, u16 key)
{
	u32 slot = (type * 31u + size / 8u + key * 7919u) % CLASS_HASH;
	struct class *c;

	for (; l->hash[slot]; slot = (slot + 1) % CLASS_HASH) {
		c = &l->classes[l->hash[slot] - 1];
		if (c->type == type && c->size == size && c->key == key)
			return l->hash[slot] - 1;
	}
	if (l->n_classes == CLASS_MAX)
		return -1;
	l->classes[l->n_classes] = (struct class){ .type = type, .size = size, .key = key };
	l->hash[slot] = ++l->n_classes;
	return l->n_classes - 1;
}

/* The value of the u16 by which records of this type are split. */
static u16 split_key(const struct block_encoder *enc, const u8 *record, u16 type, u16 size)
{
	u16 at = enc->split && type < SCHEMA_EVENT_MAX ? enc->split[type] : 0;

	return at && at + 2 <= size ? record[at] | record[at + 1] << 8 : 0;
}

/* Walks the records: classes, differences of time, first and last time. */
static int scan_records(struct block_encoder *enc, struct block_info *info, const u8 *records,
			size_t len, struct err *e)
{
	struct layout *l = &enc->layout;
	u64 ts, last = 0;
	size_t at;
	int c;

	memset(l->hash, 0, CLASS_HASH * sizeof(*l->hash));
	l->n_classes = l->n = 0;
	info->ts_min = len ? UINT64_MAX : 0;
	info->ts_max = 0;
	for (at = 0; at < len; l->n++) {
		const u8 *r = records + at;
		u64 head = at + sizeof(struct ev_header) <= len ? planes_load(r + 8) : 0;
		u16 type = head >> 32, size = head >> 48;

		if (size < sizeof(struct ev_header) || size % 8 || size > len - at)
			return err_set(e, ERR_FAIL, "a record of %u bytes does not fit its block",
				       size);
		c = class_find(l, type, size, split_key(enc, r, type, size));
		if (c < 0)
			return err_set(e, ERR_FAIL, "too many kinds of records in one block");
		l->classes[c].records++;
		l->class_of[l->n] = c;
		ts = planes_load(r);
		if (ts > TS_MAX)
			return err_set(e, ERR_FAIL, "a record is later than 2^60 ns after boot");
		l->deltas[l->n] = ts - last;
		last = ts;
		info->ts_min = ts < info->ts_min ? ts : info->ts_min;
		info->ts_max = ts > info->ts_max ? ts : info->ts_max;
		at += size;
	}
	info->records = l->n;
	return 0;
}

static int planes_make(struct block_encoder *enc, const u8 *records, size_t len, struct err *e)
{
	struct layout *l = &enc->layout;
	size_t size = 4 + 8 * (size_t)l->n_classes + 2 * (size_t)l->n + len;
	u32 i, at;
	u8 *out;
	int ret;

	buf_clear(&enc->content);
	ret = buf_reserve(&enc->content, size, e);
	if (ret < 0)
		return ret;
	enc->content.len = size;
	out = (u8 *)enc->content.data;
	le_put(out, l->n_classes, 4);
	out += 4;
	for (i = 0; i < l->n_classes; i++, out += 8) {
		le_put(out, l->classes[i].type, 2);
		le_put(out + 2, l->classes[i].size, 2);
		le_put(out + 4, l->classes[i].records, 4);
	}
	for (i = 0; i < l->n; i++) {
		out[i] = l->class_of[i];
		out[l->n + i] = l->class_of[i] >> 8;
	}
	out += 2 * (size_t)l->n;
	/* the differences are rows of 8 bytes that follow each other */
	for (i = 0; i < l->n; i++) {
		l->order[i] = 8 * i;
		planes_store((u8 *)&l->deltas[i], l->deltas[i]);
	}
	planes_split(out, (const u8 *)l->deltas, l->order, l->n, 0);
	out += HEADER_TS * (size_t)l->n;
	layout_order(l);
	for (i = 0; i < l->n_classes; i++) {
		struct class *c = &l->classes[i];

		for (at = HEADER_TS; at < c->size; at += 8, out += 8 * (size_t)c->records)
			planes_split(out, records, l->order + c->first, c->records, at);
	}
	return 0;
}

int block_encode(struct block_encoder *enc, struct block_info *info, const void *records,
		 size_t len, struct buf *out, struct err *e)
{
	const void *content = records;
	size_t n = len, start = out->len;
	int ret;

	if (len > BLOCK_RAW_MAX)
		return err_set(e, ERR_FAIL, "a block of %zu bytes is too large", len);
	info->raw = len;
	if (info->kind == BLOCK_DATA) {
		ret = scan_records(enc, info, records, len, e);
		if (ret == 0)
			ret = planes_make(enc, records, len, e);
		if (ret < 0)
			return ret;
		content = enc->content.data;
		n = enc->content.len;
	}
	ret = buf_reserve(out, FRAME_SIZE + ZSTD_compressBound(n), e);
	if (ret < 0)
		return ret;
	info->content = n;
	n = ZSTD_compress2(enc->zstd, out->data + start + FRAME_SIZE, out->cap - start - FRAME_SIZE,
			   content, n);
	if (ZSTD_isError(n))
		return err_set(e, ERR_FAIL, "zstd cannot compress a block: %s",
			       ZSTD_getErrorName(n));
	info->packed = n;
	block_header_put(info, (u8 *)out->data + start);
	out->len = start + FRAME_SIZE + n;
	return 0;
}

/* ---- decoding ---- */

struct block_decoder *block_decoder_new(struct err *e)
{
	struct block_decoder *dec = calloc(1, sizeof(*dec));

	if (dec)
		dec->zstd = ZSTD_createDCtx();
	if (!dec || !dec->zstd ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(dec->zstd, ZSTD_d_windowLogMax, WINDOW_LOG))) {
		err_set(e, ERR_FAIL, "out of memory for blocks");
		block_decoder_free(dec);
		return NULL;
	}
	return dec;
}

void block_decoder_free(struct block_decoder *dec)
{
	if (!dec)
		return;
	ZSTD_freeDCtx(dec->zstd);
	layout_free(&dec->layout);
	buf_free(&dec->content);
	free(dec);
}

static int decompress(struct block_decoder *dec, const struct block_info *info, const void *packed,
		      struct buf *out, struct err *e)
{
	size_t n;
	int ret;

	if (ZSTD_getFrameContentSize(packed, info->packed) != info->content ||
	    ZSTD_findFrameCompressedSize(packed, info->packed) != info->packed)
		return err_set(e, ERR_DAMAGED, "a block's data are not what its header says");
	buf_clear(out);
	ret = buf_reserve(out, info->content + 1, e);
	if (ret < 0)
		return ret;
	n = ZSTD_decompressDCtx(dec->zstd, out->data, info->content, packed, info->packed);
	if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
		return err_set(e, ERR_FAIL, "out of memory for a block");
	if (ZSTD_isError(n) || n != info->content)
		return err_set(e, ERR_DAMAGED, "a block's data are damaged: %s",
			       ZSTD_isError(n) ? ZSTD_getErrorName(n) : "short");
	out->len = n;
	return 0;
}

static int contradiction(struct err *e)
{
	return err_set(e, ERR_DAMAGED, "a block's content contradicts itself");
}

/* Reads class table and class numbers; everything is checked against header and length. */
static int layout_read(struct layout *l, const struct block_info *info, const struct buf *content,
		       const u8 **ret_planes, struct err *e)
{
	const u8 *in = (const u8 *)content->data, *table = in + 4;
	u64 records = 0, raw = 0;
	u32 i;

	l->n = info->records;
	l->n_classes = content->len >= 4 ? le_get(in, 4) : CLASS_MAX + 1;
	if (l->n_classes > CLASS_MAX ||
	    content->len != 4 + 8 * (u64)l->n_classes + 2 * (u64)l->n + info->raw)
		return contradiction(e);
	if (layout_room(l, l->n, e) < 0) /* most blocks are far below the largest */
		return -1;
	for (i = 0; i < l->n_classes; i++, table += 8) {
		struct class *c = &l->classes[i];

		*c = (struct class){ .type = le_get(table, 2),
				     .size = le_get(table + 2, 2),
				     .records = le_get(table + 4, 4) };
		if (c->size < sizeof(struct ev_header) || c->size % 8 || c->size > EV_SIZE_MAX)
			return contradiction(e);
		records += c->records;
		raw += (u64)c->records * c->size;
	}
	if (records != l->n || raw != info->raw)
		return contradiction(e);
	for (i = 0; i < l->n; i++) {
		l->class_of[i] = table[i] | table[l->n + i] << 8;
		if (l->class_of[i] >= l->n_classes || !l->classes[l->class_of[i]].records--)
			return contradiction(e);
	}
	for (i = 0; i < l->n; i++)
		l->classes[l->class_of[i]].records++;
	*ret_planes = table + 2 * (size_t)l->n;
	return 0;
}

/* Puts the times back and checks each record's own type and size, and first and last time. */
static int restore_headers(struct layout *l, const struct block_info *info, u8 *records,
			   struct err *e)
{
	u64 ts = 0, min = l->n ? UINT64_MAX : 0, max = 0;
	u8 *r = records;
	u32 i;

	for (i = 0; i < l->n; i++) {
		const struct class *c = &l->classes[l->class_of[i]];

		ts += planes_load((u8 *)&l->deltas[i]);
		planes_store(r, ts);
		if (le_get(r + 12, 2) != c->type || le_get(r + 14, 2) != c->size)
			return contradiction(e);
		min = ts < min ? ts : min;
		max = ts > max ? ts : max;
		r += c->size;
	}
	return min == info->ts_min && max == info->ts_max ? 0 : contradiction(e);
}

static int rows_make(struct layout *l, const struct block_info *info, const u8 *in, u8 *records,
		     struct err *e)
{
	u32 i, at;

	for (i = 0; i < l->n; i++)
		l->order[i] = 8 * i;
	planes_join(in, (u8 *)l->deltas, l->order, l->n, 0);
	in += HEADER_TS * (size_t)l->n;
	layout_order(l);
	for (i = 0; i < l->n_classes; i++) {
		struct class *c = &l->classes[i];

		for (at = HEADER_TS; at < c->size; at += 8, in += 8 * (size_t)c->records)
			planes_join(in, records, l->order + c->first, c->records, at);
	}
	return restore_headers(l, info, records, e);
}

int block_decode(struct block_decoder *dec, const struct block_info *info, const void *packed,
		 struct buf *out, struct err *e)
{
	const u8 *planes = NULL;
	int ret;

	if (info->kind != BLOCK_DATA)
		return decompress(dec, info, packed, out, e);
	ret = decompress(dec, info, packed, &dec->content, e);
	if (ret == 0)
		ret = layout_read(&dec->layout, info, &dec->content, &planes, e);
	if (ret < 0)
		return ret;
	buf_clear(out);
	ret = buf_reserve(out, info->raw + 8, e);
	if (ret < 0)
		return ret;
	out->len = info->raw;
	return rows_make(&dec->layout, info, planes, (u8 *)out->data, e);
}
