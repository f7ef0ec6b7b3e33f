// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers that are messages with their length before them: PostgreSQL, MySQL, HTTP/2. Which request
 * one answers: asked.c.
 */
#include "parse.h"

#define MESSAGE_MAX (1u << 30)
#define FIELDS	    96	      /* of an ErrorResponse: severity and code come first */
#define GREATEST    0xffffffu /* MySQL: a packet of this size continues in the next */
#define HEADERS	    1
#define PUSH	    5
#define TYPES	    0x20

/* ---- PostgreSQL ---- */

static s64 postgres_length(struct stream *s, const u8 *b)
{
	u32 len = be32(b + 1);

	(void)s;
	return !memchr("123ACcDdEfGHIKNnRSsTtVvWZ", b[0], 25) || len < 4 || len > MESSAGE_MAX
		       ? -1
		       : (s64)len - 4;
}

static size_t postgres_wanted(const u8 *b)
{
	return b[0] == 'E' ? FIELDS : 0;
}

/* SQLSTATE: field C. */
static void postgres_error(struct errors_found *f, struct error_run run, const u8 *b, size_t n)
{
	size_t at = 0;

	while (at < n && b[at] && b[at] != 'C')
		at = seek(b, at, n, 0) + 1;
	at = at < n && b[at] == 'C' ? at + 1 : n;
	errors_add(f, run, b + at, n - at);
}

/*
 * Each Execute ends in one of four messages, or in an error, after which others up to Sync have
 * none. A Query, which may end in several, and a Sync end in ReadyForQuery.
 */
static void postgres_message(struct stream *s, struct errors_found *f, const u8 *b, size_t n)
{
	struct error_run run = {
		.first = s->answers.index, .count = 1, .status = 1, .protocol = PROTOCOL_POSTGRES
	};
	struct asked *q = &s->asked;
	bool known = q->n;

	if (b[0] == 'E') {
		run.name = known ? q->list[q->first].name : 0;
		postgres_error(f, run, b + 5, n);
	}
	if (b[0] == 'Z') {
		while (q->n && !q->list[q->first].id)
			asked_take(q);
		asked_take(q);
		s->answers.index++;
	} else if (memchr("CsIE", b[0], 4) && known && !q->list[q->first].id) {
		asked_take(q);
		s->answers.index++;
	}
}

/* ---- MySQL ---- */

static s64 mysql_length(struct stream *s, const u8 *b)
{
	(void)s;
	return b[0] | b[1] << 8 | b[2] << 16;
}

static size_t mysql_wanted(const u8 *b)
{
	(void)b;
	return 9;
}

/* An answer begins with packet 1; long results reach it again, after packet 0. */
static void mysql_message(struct stream *s, struct errors_found *f, const u8 *b, size_t n)
{
	struct answers *a = &s->answers;
	struct error_run run = { .count = 1, .protocol = PROTOCOL_MYSQL };

	if (b[3] == 1 && a->number != 0) {
		a->name = asked_take(&s->asked);
		a->index++;
	}
	run.first = a->index ? a->index - 1 : 0;
	run.name = a->name;
	if (!a->part && n >= 3 && b[4] == 0xff) {
		run.status = b[5] | b[6] << 8;
		errors_add(f, run, b + 8, n >= 9 && b[7] == '#' ? 5 : 0);
	}
	a->part = mysql_length(s, b) == GREATEST;
	a->number = b[3];
}

/* ---- HTTP/2 ---- */

static s64 http2_length(struct stream *s, const u8 *b)
{
	u32 id = be32(b + 5);
	bool answers = b[3] <= HEADERS;

	if (b[3] >= TYPES || id >> 31 || (answers && (!(id & 1) || (s->last && id > s->last))))
		return -1;
	return b[0] << 16 | b[1] << 8 | b[2];
}

static size_t http2_wanted(const u8 *b)
{
	u32 len = (u32)b[0] << 16 | b[1] << 8 | b[2];

	return b[3] == HEADERS && len + 9 <= ANSWER_LINE ? len : 0;
}

static void http2_message(struct stream *s, struct errors_found *f, const u8 *b, size_t n)
{
	bool all = n == (size_t)http2_length(s, b);

	if (b[3] == HEADERS)
		http2_answered(s, f, b[4], be32(b + 5), all ? b + 9 : NULL, n);
	if (b[3] == PUSH && s->answers.hpack)
		hpack_forget(s->answers.hpack);
}

/* ---- */

static const struct framing {
	u8 header;
	s64 (*length)(struct stream *s, const u8 *b); /* after the header; below 0: it is none */
	size_t (*wanted)(const u8 *b);		      /* of these, at most */
	void (*message)(struct stream *s, struct errors_found *f, const u8 *b, size_t n);
} framings[] = {
	[PROTOCOL_HTTP2] = { 9, http2_length, http2_wanted, http2_message },
	[PROTOCOL_POSTGRES] = { 5, postgres_length, postgres_wanted, postgres_message },
	[PROTOCOL_MYSQL] = { 4, mysql_length, mysql_wanted, mysql_message },
};

bool frames_known(u8 protocol)
{
	return protocol < sizeof(framings) / sizeof(framings[0]) && framings[protocol].header;
}

/* Keeps bytes until there are so many; returns how many it took. */
static size_t fill(struct answers *a, const u8 *b, size_t n, size_t wanted)
{
	size_t missing = wanted > a->n_line ? wanted - a->n_line : 0;

	n = n < missing ? n : missing;
	if (n)
		memcpy(a->line + a->n_line, b, n);
	a->n_line += n;
	return n;
}

size_t frames_take(struct stream *s, struct errors_found *f, const u8 *b, size_t n)
{
	const struct framing *p = &framings[s->protocol];
	struct answers *a = &s->answers;
	size_t used = fill(a, b, n, p->header), wanted;
	s64 len;

	if (a->n_line < p->header)
		return used;
	len = p->length(s, a->line);
	f->lost = len < 0;
	if (f->lost)
		return used;
	wanted = p->wanted(a->line);
	wanted = (u64)len < wanted ? (size_t)len : wanted;
	used += fill(a, b + used, n - used, p->header + wanted);
	if (a->n_line < p->header + wanted)
		return used;
	p->message(s, f, a->line, wanted);
	a->skip = (u32)len - (u32)wanted;
	a->n_line = 0;
	return used;
}
