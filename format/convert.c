// SPDX-License-Identifier: GPL-2.0-or-later
/* Records from one schema into another. */
#include "convert.h"

#include "frame.h"

#include <stdlib.h>
#include <string.h>

/* The descriptor of an event that has this number and this name; NULL if there is none. */
static const struct event_desc *schema_same(const struct schema *s, const struct event_desc *ev)
{
	const struct event_desc *same = s->by_id[ev->id];

	return same && strcmp(same->name, ev->name) == 0 ? same : NULL;
}

/* The richer of two descriptions of one event. */
static struct event_desc *richer(struct event_desc *a, struct event_desc *b)
{
	if (!a || !b)
		return a ? a : b;
	return b->n_fields > a->n_fields || (!a->tail[0] && b->tail[0]) ? b : a;
}

/* Takes what s has and all has not; all only points into others. */
static int take(struct schema *all, const struct schema *s, struct err *e)
{
	int i;

	for (i = 0; i < GROUP_MAX; i++)
		if (!all->groups[i].name[0])
			all->groups[i] = s->groups[i];
		else if (s->groups[i].name[0] &&
			 strcmp(all->groups[i].name, s->groups[i].name) != 0)
			return err_set(e, ERR_VERSION,
				       "group %d is %s in one recording and %s in another", i,
				       all->groups[i].name, s->groups[i].name);
	for (i = 0; i < SCHEMA_EVENT_MAX; i++) {
		if (all->by_id[i] && s->by_id[i] && !schema_same(all, s->by_id[i]))
			return err_set(e, ERR_VERSION,
				       "event %d is %s in one recording and %s in another", i,
				       all->by_id[i]->name, s->by_id[i]->name);
		all->by_id[i] = richer(all->by_id[i], s->by_id[i]);
	}
	return 0;
}

int schema_union(struct schema **ret, const struct schema *const *list, size_t n, struct err *e)
{
	struct schema *all = calloc(1, sizeof(*all));
	struct buf text = { 0 };
	size_t i;
	int r;

	if (!all || !schema_own())
		r = err_set(e, ERR_FAIL, "out of memory for the schema");
	else
		r = take(all, schema_own(), e);
	for (i = 0; i < n && r == 0; i++)
		r = take(all, list[i], e);
	if (r == 0)
		r = schema_write(all, &text, e);
	if (r == 0)
		r = schema_parse(ret, text.data, text.len, e);
	buf_free(&text);
	free(all);
	return r;
}

static void put_field(const struct field_desc *f, u8 *record, u64 value)
{
	if (f->size <= 8)
		le_put(record + f->offset, value, f->size);
}

void record_set(const struct event_desc *ev, u8 *record, const char *field, u64 value)
{
	const struct field_desc *f = event_field(ev, field);

	if (f)
		put_field(f, record, value);
}

int record_new(const struct event_desc *ev, u64 ts, u32 tid, const char *tail, size_t tail_len,
	       struct buf *out, struct err *e)
{
	size_t start = out->len, size;
	u8 *record;

	if (!ev->tail[0])
		tail_len = 0;
	if (tail_len > (size_t)EV_SIZE_MAX - ev->size)
		tail_len = EV_SIZE_MAX - ev->size;
	size = (ev->size + tail_len + 7) & ~(size_t)7;
	if (buf_reserve(out, size, e) < 0)
		return ERR_FAIL;
	record = (u8 *)out->data + start;
	memset(record, 0, size);
	le_put(record, ts, 8);
	le_put(record + 8, tid, 4);
	le_put(record + 12, ev->id, 2);
	le_put(record + 14, size, 2);
	if (tail_len)
		memcpy(record + ev->size, tail, tail_len);
	out->len += size;
	return (int)start;
}

/* A number as the host has it in a struct. */
static u64 native(const void *at, u16 size)
{
	u64 v64;
	u32 v32;
	u16 v16;

	if (size == 1)
		return *(const u8 *)at;
	if (size == 2) {
		memcpy(&v16, at, 2);
		return v16;
	}
	if (size == 4) {
		memcpy(&v32, at, 4);
		return v32;
	}
	memcpy(&v64, at, 8);
	return v64;
}

int convert_struct(const struct event_desc *to, const void *event, const char *tail,
		   size_t tail_len, struct buf *out, struct err *e)
{
	const struct ev_header *h = event;
	const struct event_desc *own = schema_own()->by_id[to->id];
	const struct field_desc *f, *src;
	u8 *made;
	int i, at = record_new(to, h->ts, h->tid, tail, tail_len, out, e);

	if (at < 0)
		return at;
	made = (u8 *)out->data + at;
	for (i = 0; own && i < to->n_fields; i++) {
		f = &to->fields[i];
		src = event_field(own, f->name);
		if (src && src->size == 16 && f->size == 16)
			memcpy(made + f->offset, (const u8 *)event + src->offset, 16);
		else if (src && src->size <= 8)
			put_field(f, made, native((const u8 *)event + src->offset, src->size));
	}
	return 0;
}

/*
 * Appends a record (size bytes, laid out as from says) laid out as to says. A tail
 * is kept, cut where the record would become longer than EV_SIZE_MAX.
 */
static int convert_record(const struct event_desc *from, const struct event_desc *to,
			  const u8 *record, u16 size, struct buf *out, struct err *e)
{
	const struct field_desc *f, *src;
	const char *tail;
	size_t tail_len;
	u8 *made;
	int i, at;

	tail = event_tail(from, record, size, &tail_len);
	at = record_new(to, le_get(record, 8), le_get(record + 8, 4), tail, tail_len, out, e);
	if (at < 0)
		return at;
	made = (u8 *)out->data + at;
	for (i = 0; i < to->n_fields; i++) {
		f = &to->fields[i];
		src = event_field(from, f->name);
		if (src && src->size == 16 && f->size == 16)
			memcpy(made + f->offset, record + src->offset, 16);
		else if (src && src->size <= 8)
			put_field(f, made, field_value(src, record));
	}
	return 0;
}

static bool same_layout(const struct event_desc *a, const struct event_desc *b)
{
	int i;

	if (a->size != b->size || a->n_fields != b->n_fields || strcmp(a->tail, b->tail) != 0)
		return false;
	for (i = 0; i < a->n_fields; i++)
		if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
		    a->fields[i].type != b->fields[i].type)
			return false;
	return true;
}

void conversion_make(struct conversion *c, const struct schema *from, const struct schema *to)
{
	int i;

	c->from = from;
	c->to = to;
	for (i = 0; i < SCHEMA_EVENT_MAX; i++)
		c->same[i] =
			from->by_id[i] && to->by_id[i] && same_layout(from->by_id[i], to->by_id[i]);
}

int conversion_put(const struct conversion *c, const u8 *record, struct buf *out, struct err *e)
{
	u16 type = le_get(record + 12, 2), size = le_get(record + 14, 2);
	size_t start = out->len;
	int ret;

	if (c->same[type])
		ret = buf_add(out, record, size, e);
	else
		ret = convert_record(c->from->by_id[type], c->to->by_id[type], record, size, out,
				     e);
	return ret < 0 ? ret : (int)start;
}
