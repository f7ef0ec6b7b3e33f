// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings out of bytes. No event is named here. */
#include "recordgen.h"

#include "format/frame.h"
#include "format/recording.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define HEAD	    8 /* bytes before a record: the stream */
#define STREAMS	    8 /* the last is the recorder's */
#define RECORDS_MAX 4096
#define TAIL_MAX    256

static u64 state;

static u64 next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* ---- records in bytes ---- */

static const struct event_desc *any_event(u64 n)
{
	static const struct event_desc *list[SCHEMA_EVENT_MAX];
	static size_t count;
	static bool full;
	int i;

	for (i = 0; !full && i < SCHEMA_EVENT_MAX; i++)
		if (schema_own()->by_id[i])
			list[count++] = schema_own()->by_id[i];
	full = true;
	return list[n % count];
}

/* The event and the size of the record in the bytes; 0: too few are left. */
static size_t look(const u8 *at, size_t left, const struct event_desc **ret)
{
	u16 type = left >= HEAD + 16 ? le_get(at + HEAD + 12, 2) : 0;
	size_t size = left >= HEAD + 16 ? le_get(at + HEAD + 14, 2) & ~7u : 0;

	if (left < HEAD + 16)
		return 0;
	*ret = type < SCHEMA_EVENT_MAX ? schema_own()->by_id[type] : NULL;
	if (!*ret)
		*ret = any_event(type);
	if (size < (*ret)->size || !(*ret)->tail[0])
		size = (*ret)->size;
	if (size > (*ret)->size + (size_t)TAIL_MAX)
		size = (*ret)->size + TAIL_MAX;
	return size + HEAD <= left ? size : 0;
}

struct list {
	size_t at[RECORDS_MAX + 1];
	const struct event_desc *of[RECORDS_MAX];
	size_t n;
};

static void list_records(struct list *l, const u8 *data, size_t size)
{
	size_t at = 0, n;

	for (l->n = 0; l->n < RECORDS_MAX; at += HEAD + n) {
		n = look(data + at, size - at, &l->of[l->n]);
		l->at[l->n] = at;
		if (!n)
			break;
		l->n++;
	}
	l->at[l->n] = at;
}

void recordgen_write(int fd, const u8 *data, size_t size)
{
	static const u8 uuid[16] = "fuzz";
	static struct list l;
	struct buf streams[STREAMS] = { 0 };
	struct block_info info[STREAMS] = { 0 };
	struct writer *w = NULL;
	u8 record[EV_SIZE_MAX];
	struct err e = { 0 };
	size_t i, n;
	int k;

	list_records(&l, data, size);
	for (i = 0; i < l.n; i++) {
		k = data[l.at[i]] % STREAMS;
		n = l.at[i + 1] - l.at[i] - HEAD;
		memcpy(record, data + l.at[i] + HEAD, n);
		le_put(record, le_get(record, 8) % (TS_MAX + 1), 8);
		le_put(record + 12, l.of[i]->id, 2);
		le_put(record + 14, n, 2);
		buf_add(&streams[k], (char *)record, n, &e);
		info[k].groups |= 1u << l.of[i]->group;
	}
	if (writer_open(&w, fd, uuid, &e) < 0)
		fuzz_fail(e.text);
	for (k = STREAMS - 1; k >= 0; k--) {
		info[k].stream = k == STREAMS - 1 ? STREAM_RECORDER : (u32)k;
		info[k].pos_end = streams[k].len;
		if (streams[k].len &&
		    writer_append(w, &info[k], streams[k].data, streams[k].len, &e) < 0)
			fuzz_fail(e.text);
		buf_free(&streams[k]);
	}
	if (writer_finish(w, &e) < 0)
		fuzz_fail(e.text);
	writer_free(w);
}

/* ---- mutations ---- */

/* A value of the same kind in any record: that is how records come to belong together. */
static u64 borrow(const struct list *l, const u8 *data, enum field_kind kind, u64 fallback)
{
	const struct event_desc *ev;
	size_t i = l->n ? next() % l->n : 0, tries, k;

	for (tries = 0; tries < 64 && tries < l->n; tries++, i = (i + 1) % l->n) {
		ev = l->of[i];
		for (k = 0; k < ev->n_fields; k++)
			if (ev->fields[k].kind == kind && ev->fields[k].size <= 8)
				return le_get(data + l->at[i] + HEAD + ev->fields[k].offset,
					      ev->fields[k].size);
		if (kind == KIND_PID && next() % 4 == 0)
			return le_get(data + l->at[i] + HEAD + 8, 4);
	}
	return fallback;
}

static u64 value(const struct list *l, const u8 *data, enum field_kind kind, u64 now)
{
	static const u64 edges[] = { 0,	     1,	    2,		3,	    0x7f,    0xff,
				     0xffff, 1000,  1u << 31,	0xffffffff, 1000000, 1000000000,
				     65536,  -1ull, 1ull << 63, 1ull << 62 };

	switch (next() % 8) {
	case 0:
		return edges[next() % (sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return now + next() % 2000 - 1000;
	case 2:
		return next() % 512;
	case 3:
		return next() >> next() % 64;
	default:
		return borrow(l, data, kind, now);
	}
}

static void change_field(const struct list *l, u8 *data, size_t i)
{
	const struct event_desc *ev = l->of[i];
	const struct field_desc *f = ev->n_fields ? &ev->fields[next() % ev->n_fields] : NULL;
	u8 *record = data + l->at[i] + HEAD;
	u64 ts = le_get(record, 8);
	size_t k = next() % l->n;

	switch (next() % 8) {
	case 0:
		le_put(record, le_get(data + l->at[k] + HEAD, 8) + next() % 64 - 32, 8);
		return;
	case 1:
		le_put(record + 8, value(l, data, KIND_PID, ts), 4);
		return;
	case 2:
		data[l->at[i]] = data[l->at[k]];
		return;
	}
	if (!f)
		return;
	if (f->size > 8) /* names and addresses */
		record[f->offset + next() % f->size] = next();
	else
		le_put(record + f->offset, value(l, data, f->kind, ts), f->size);
}

/* A record of any event after record i, its fields by their kinds. */
static size_t insert(const struct list *l, u8 *data, size_t size, size_t max, size_t i)
{
	const struct event_desc *ev = any_event(next());
	size_t at = l->n ? l->at[i] : 0, n = HEAD + ev->size;
	u8 made[EV_SIZE_MAX + HEAD] = { 0 };
	u64 ts = l->n ? le_get(data + l->at[i] + HEAD, 8) : 1000;
	u32 k;

	if (size + n > max)
		return size;
	made[0] = ev->group == 0 ? STREAMS - 1 : next() % (STREAMS - 1);
	le_put(made + HEAD, ts + next() % 1000, 8);
	le_put(made + HEAD + 8, value(l, data, KIND_PID, ts), 4);
	le_put(made + HEAD + 12, ev->id, 2);
	le_put(made + HEAD + 14, ev->size, 2);
	for (k = 0; k < ev->n_fields; k++)
		if (ev->fields[k].size <= 8)
			le_put(made + HEAD + ev->fields[k].offset,
			       value(l, data, ev->fields[k].kind, ts), ev->fields[k].size);
	memmove(data + at + n, data + at, size - at);
	memcpy(data + at, made, n);
	return size + n;
}

/* Copies, drops or moves record i. */
static size_t move(const struct list *l, u8 *data, size_t size, size_t max, size_t i)
{
	size_t n = l->at[i + 1] - l->at[i], to = l->at[next() % (l->n + 1)];
	u8 copy[EV_SIZE_MAX + HEAD];
	u64 how = next() % 3;

	memcpy(copy, data + l->at[i], n);
	if (how == 0 && size + n > max)
		return size;
	if (how != 0) {
		memmove(data + l->at[i], data + l->at[i] + n, size - l->at[i] - n);
		size -= n;
		to = to > l->at[i] ? to - n : to;
	}
	if (how == 1)
		return size;
	memmove(data + to + n, data + to, size - to);
	memcpy(data + to, copy, n);
	return size + n;
}

size_t recordgen_mutate(u8 *data, size_t size, size_t max, unsigned int seed)
{
	static struct list l;
	u64 rounds;

	state = seed * 0x9e3779b97f4a7c15ull + 88172645463325252ull;
	for (rounds = 1 + next() % 6; rounds > 0; rounds--) {
		list_records(&l, data, size);
		if (!l.n || next() % 8 == 0)
			size = insert(&l, data, size, max, l.n ? next() % l.n : 0);
		else if (next() % 4 == 0)
			size = move(&l, data, size, max, next() % l.n);
		else if (next() % 32 == 0)
			size = LLVMFuzzerMutate(data, size, max);
		else
			change_field(&l, data, next() % l.n);
	}
	return size;
}
