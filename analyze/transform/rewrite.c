// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording written again block by block. */
#include "rewrite.h"

#include "excerpt.h"
#include "format/frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE (BLOCK_RAW_MAX - (1u << 20)) /* records may grow: a block is split before */

/* One block of the old recording on its way to one or more of the new. */
struct part {
	struct block_info info; /* of what is still to be written */
	struct buf out;
	u32 groups;
	u32 left; /* records not yet in out */
};

static int put_part(struct rewrite *w, struct part *p, struct err *e)
{
	struct block_info info = p->info;
	int ret = 0;

	info.groups = p->groups;
	/* the span is shared out by records; the last part ends where the whole did */
	if (p->left)
		info.pos_end = info.pos_begin + (info.pos_end - info.pos_begin) / 2;
	p->info.pos_begin = info.pos_end;
	if (p->out.len && w->on_block)
		ret = w->on_block(w->arg, &info, e);
	if (p->out.len && ret == 0)
		ret = writer_append(w->writer, &info, p->out.data, p->out.len, e);
	buf_clear(&p->out);
	p->groups = 0;
	return ret;
}

static int take_record(struct rewrite *w, struct part *p, const u8 *record, struct err *e)
{
	const struct event_desc *ev = w->conversion.to->by_id[le_get(record + 12, 2)];
	int at = conversion_put(&w->conversion, record, &p->out, e), ret;

	if (at < 0)
		return at;
	ret = w->on_record ? w->on_record(w->arg, ev, &p->out, (size_t)at, e) : 0;
	if (p->out.len > (size_t)at)
		p->groups |= 1u << ev->group;
	p->left--;
	if (ret == 0 && p->out.len > BLOCK_SIZE)
		ret = put_part(w, p, e);
	return ret;
}

static int take_block(struct rewrite *w, size_t number, struct buf *packed, struct buf *records,
		      struct err *e)
{
	const struct block_info *b;
	struct part p = { 0 };
	struct err why = { 0 };
	size_t n, at;
	int ret;

	b = &reader_blocks(w->reader, &n)[number];
	ret = reader_block(w->reader, number, packed, records, &why);
	if (ret == ERR_DAMAGED)
		return err_set(e, ERR_DAMAGED,
			       "block %zu of the recording is damaged: obsanalyze repair makes a "
			       "recording without it",
			       number + 1);
	if (ret < 0)
		return err_set(e, ret, "%s", why.text);
	p.info = *b;
	p.left = b->records;
	for (at = 0; at < records->len && ret == 0; at += le_get((u8 *)records->data + at + 14, 2))
		ret = take_record(w, &p, (u8 *)records->data + at, e);
	if (ret == 0 && (p.out.len || !b->records))
		ret = put_part(w, &p, e);
	buf_free(&p.out);
	w->done += b->records;
	return ret < 0 ? ret : progress_tick(w->progress, w->done, w->all, e);
}

int rewrite_blocks(struct rewrite *w, struct err *e)
{
	struct buf packed = { 0 }, records = { 0 };
	const struct block_info *b;
	size_t i, n;
	int ret = 0;

	b = reader_blocks(w->reader, &n);
	for (i = 0; i < n && ret == 0; i++)
		if (!w->cpus_only || b[i].stream != STREAM_RECORDER)
			ret = take_block(w, i, &packed, &records, e);
	buf_free(&packed);
	buf_free(&records);
	return ret;
}

int rewrite_info(struct writer *w, const struct schema *s, u64 ts, struct err *e, const char *fmt,
		 ...)
{
	const struct event_desc *ev = schema_event(s, "info");
	struct block_info info = { .stream = STREAM_RECORDER, .groups = 1u << GROUP_recorder };
	struct buf out = { 0 };
	char text[4096];
	va_list ap;
	int ret;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!ev || !ev->tail[0])
		return err_set(e, ERR_DAMAGED, "the recording's schema has no facts");
	ret = record_new(ev, ts, 0, text, strlen(text), &out, e);
	if (ret >= 0)
		ret = writer_append(w, &info, out.data, out.len, e);
	buf_free(&out);
	return ret;
}
