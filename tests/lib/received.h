/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes as if a server received or sent them, and the names that obsrec makes of them. */
#pragma once

#include "record/requests/heads.h"
#include "tests/lib/unit.h"

#define NAMES 16

/* What was found of one connection. */
struct seen {
	struct heads *heads;
	u32 pos, written, conn;
	struct {
		char text[NAME_BYTES];
		u32 id, count, failed;
	} names[NAMES];
	u32 n, flags, all, last; /* last: name of the last receive */
	u64 rest;		 /* of the last receive */
	u16 status;
	char code[16];
	u32 errors; /* of all answers */
};

static inline void see(struct seen *s, const struct ev_header *h)
{
	const struct ev_request_name *name = (const void *)h;
	const struct ev_head_more *more = (const void *)h;
	const struct ev_answer *answer = (const void *)h;
	const struct ev_answer_more *errors = (const void *)h;
	const struct ev_head *head = (const void *)h;
	u32 id = 0, count = 0, i;

	if (h->type == EV_request_name && s->n < NAMES) {
		for (i = 0; i < s->n && s->names[i].id != name->id; i++)
			;
		s->n += i == s->n;
		s->names[i].id = name->id;
		snprintf(s->names[i].text, NAME_BYTES, "%.*s", (int)(h->size - sizeof(*name)),
			 name->name);
	} else if (h->type == EV_head) {
		id = s->last = head->name;
		count = head->requests;
		s->rest = head->rest;
		s->flags |= head->flags;
	} else if (h->type == EV_head_more) {
		id = more->name;
		count = more->requests;
	} else if (h->type == EV_answer) {
		s->status = answer->status;
		s->errors += answer->status != 0;
		snprintf(s->code, sizeof(s->code), "%.*s", (int)(h->size - sizeof(*answer)),
			 answer->code);
	}
	if (h->type == EV_answer_more) {
		s->errors += errors->errors;
		s->status = errors->status;
		snprintf(s->code, sizeof(s->code), "%.*s", (int)(h->size - sizeof(*errors)),
			 errors->code);
		for (i = 0; i < s->n; i++)
			if (s->names[i].id == errors->name)
				s->names[i].failed += errors->errors;
	}
	s->all += count;
	for (i = 0; count && i < s->n && s->names[i].id != id; i++)
		;
	if (count && i == s->n) { /* its name follows */
		s->names[s->n].id = id;
		s->names[s->n++].text[0] = '\0';
	}
	if (count)
		s->names[i].count += count;
}

/* One receive, or an answer; read: of its bytes, those that were copied. */
static inline void give(struct seen *s, u16 type, const void *bytes, u32 len, u32 read)
{
	u32 size = read <= 256 ? 256 : HEAD_PIECE, at;
	struct buf records = { 0 };
	struct batch batch = { &records, 0 };
	struct ev_raw *raw = calloc(1, sizeof(*raw) + size);

	raw->h = (struct ev_header){ 7, 1, type, (u16)(sizeof(*raw) + size) };
	raw->conn = s->conn;
	raw->pos = type == RAW_HEAD ? s->pos : s->written;
	raw->len = len;
	raw->n = read;
	memcpy(raw->bytes, bytes, read);
	*(type == RAW_HEAD ? &s->pos : &s->written) += len;
	assert_int_equal(buf_add(&records, raw, raw->h.size, NULL), 0);
	assert_int_equal(heads_filter(s->heads, &batch, 1, UINT64_MAX, NULL), 0);
	assert_int_equal(batch.seen, records.len);
	for (at = 0; at < records.len; at += ((struct ev_header *)(records.data + at))->size)
		see(s, (const struct ev_header *)(records.data + at));
	assert_int_equal(at, records.len);
	buf_free(&records);
	free(raw);
}

static inline void start(struct seen *s)
{
	struct heads_config none = { .streams = 16 };

	memset(s, 0, sizeof(*s));
	s->conn = 1;
	assert_int_equal(heads_new(&s->heads, &none, NULL), 0);
}

static inline u32 count_of(const struct seen *s, const char *name)
{
	u32 i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->names[i].text, name) == 0)
			return s->names[i].count;
	return 0;
}

/* The name of the last receive; "" if it has none. */
static inline const char *last_of(const struct seen *s)
{
	u32 i;

	for (i = 0; i < s->n; i++)
		if (s->last && s->names[i].id == s->last)
			return s->names[i].text;
	return "";
}

/* Errors in answers to requests of that name. */
static inline u32 failed_of(const struct seen *s, const char *name)
{
	u32 i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->names[i].text, name) == 0)
			return s->names[i].failed;
	return 0;
}

struct expected_name {
	const char *name;
	u32 count;
};

/* The same, whole and cut in two at each byte; cuts after which one may be missed are said. */
static inline void check_names(const char *bytes, size_t n, const struct expected_name *want)
{
	const struct expected_name *w;
	struct seen s;
	size_t cut;

	for (cut = 0; cut < n; cut++) {
		start(&s);
		if (cut)
			give(&s, RAW_HEAD, bytes, cut, cut);
		give(&s, RAW_HEAD, bytes + cut, n - cut, n - cut);
		for (w = want; w->name; w++)
			if (count_of(&s, w->name) != w->count)
				fail_msg("%s: %u, not %u, cut at %zu", w->name,
					 count_of(&s, w->name), w->count, cut);
		heads_free(s.heads);
	}
}

#define NAMES_ARE(bytes, ...) \
	check_names(bytes, sizeof(bytes) - 1, (const struct expected_name[]){ __VA_ARGS__, { 0 } })
