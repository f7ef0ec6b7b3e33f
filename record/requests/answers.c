// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errors among several answers in one send. Those of redis and memcached are lines, values of a
 * length said before, and elements of arrays; of others, see answer_frames.c.
 */
#include "parse.h"

#include <stdlib.h>

#define VALUE_MAX (512u << 20)
#define PARTS_MAX (1u << 20)
#define HEADER	  24 /* memcached, binary */

/* A number in the line from at on; below 0: none, or too large. */
static s64 number(const struct answers *a, size_t at)
{
	bool negative = at < a->n_line && a->line[at] == '-';
	size_t from = at += negative;
	s64 v = 0;

	for (; at < a->n_line && a->line[at] >= '0' && a->line[at] <= '9' && v <= VALUE_MAX; at++)
		v = v * 10 + a->line[at] - '0';
	return at == from || v > VALUE_MAX ? -2 : negative ? -1 : v;
}

static void end_answer(struct stream *s, struct errors_found *f, bool error, size_t code)
{
	struct answers *a = &s->answers;
	const struct error_run run = { .first = a->index,
				       .count = 1,
				       .name = asked_answered(&s->asked),
				       .status = 1,
				       .protocol = s->protocol };

	if (error && code <= a->n_line)
		errors_add(f, run, a->line + code, a->n_line - code);
	a->index++;
}

/* A line of redis: an answer, an element of one, or the start of either. */
static void redis_line(struct stream *s, struct errors_found *f)
{
	struct answers *a = &s->answers;
	u8 c = a->n_line ? a->line[0] : 0;
	bool top = !a->parts;
	s64 n = 0;

	f->lost = !c || !strchr("+-:$*_#,(=!~>%", c);
	if (strchr("$=!*~>%", c) && c)
		n = number(a, 1);
	f->lost |= n == -2;
	if (f->lost)
		return;
	a->parts -= !top;
	if (c == '$' || c == '=' || c == '!')
		a->skip = n < 0 ? 0 : (u32)n + 2;
	else if (n > 0)
		a->parts += c == '%' ? 2 * (u32)n : (u32)n;
	f->lost = n > PARTS_MAX && !a->skip;
	f->lost |= a->parts > PARTS_MAX;
	if (top && c != '>')
		end_answer(s, f, c == '-', 1);
}

static bool line_is(const struct answers *a, const char *word)
{
	size_t n = strlen(word);

	return a->n_line >= n && memcmp(a->line, word, n) == 0 &&
	       (a->n_line == n || a->line[n] == ' ');
}

/* Where the word of this index starts. */
static size_t word_at(const struct answers *a, int index)
{
	size_t at = 0;

	for (; index; index--)
		at = seek(a->line, at, a->n_line, ' ') + 1;
	return at;
}

/* A line of memcached's text protocol: an answer, a value, or a part of a list. */
static void memcached_line(struct stream *s, struct errors_found *f)
{
	struct answers *a = &s->answers;
	bool value = line_is(a, "VALUE"), meta = line_is(a, "VA");
	s64 n = value || meta ? number(a, word_at(a, value ? 3 : 1)) : 0;

	f->lost = n < 0 || !a->n_line;
	if (f->lost)
		return;
	a->skip = value || meta ? (u32)n + 2 : 0;
	if (!value && !line_is(a, "STAT") && !line_is(a, "ITEM"))
		end_answer(s, f,
			   line_is(a, "ERROR") || line_is(a, "CLIENT_ERROR") ||
				   line_is(a, "SERVER_ERROR"),
			   0);
}

static void memcached_header(struct answers *a, struct errors_found *f)
{
	struct error_run run = { .first = a->index,
				 .count = 1,
				 .status = a->line[6] << 8 | a->line[7],
				 .protocol = PROTOCOL_MEMCACHED };

	f->lost = be32(a->line + 8) > VALUE_MAX;
	a->skip = be32(a->line + 8);
	if (run.status > 1 && !f->lost) { /* 1: no such key */
		run.name = request_names_id(f->names, PROTOCOL_MEMCACHED,
					    memcached_opcode(a->line[1]));
		errors_add(f, run, NULL, 0);
	}
	a->index++;
}

/* Adds bytes to the line, as far as it is kept. */
static void keep(struct answers *a, const u8 *b, size_t n)
{
	size_t room = sizeof(a->line) - a->n_line;

	n = n < room ? n : room;
	memcpy(a->line + a->n_line, b, n);
	a->n_line += n;
}

/* What begins at b, up to the end of its line or header. Returns how many bytes that is. */
static size_t take_line(struct stream *s, struct errors_found *f, const u8 *b, size_t n)
{
	struct answers *a = &s->answers;
	bool binary = s->protocol == PROTOCOL_MEMCACHED && (a->n_line ? a->line[0] : b[0]) == 0x81;
	size_t end = binary ? (size_t)(HEADER - a->n_line) : seek(b, 0, n, '\n');
	bool whole = binary ? end <= n : end < n;

	keep(a, b, end < n ? end : n);
	if (!whole)
		return n;
	if (!binary && a->n_line && a->line[a->n_line - 1] == '\r')
		a->n_line--;
	if (binary)
		memcached_header(a, f);
	else if (s->protocol == PROTOCOL_MEMCACHED)
		memcached_line(s, f);
	else
		redis_line(s, f);
	a->n_line = 0;
	return binary ? end : end + 1;
}

/* Of a line that is cut, the first word is there. */
static void take_cut(struct stream *s, struct errors_found *f)
{
	const struct answers *a = &s->answers;

	if (s->protocol == PROTOCOL_REDIS && !a->parts && a->n_line > 1 && a->line[0] == '-')
		end_answer(s, f, true, 1);
	else if (s->protocol == PROTOCOL_MEMCACHED && memchr("ECS", a->line[0], 3))
		memcached_line(s, f);
}

bool answers_known(u8 protocol)
{
	return protocol == PROTOCOL_REDIS || protocol == PROTOCOL_MEMCACHED ||
	       frames_known(protocol);
}

/*
 * Bytes were not read: an answer starts with a send at the earliest, of which request is not known.
 */
static void restart(struct stream *s, const struct ev_raw *raw)
{
	struct answers *a = &s->answers;

	a->in_step = raw->h.type == RAW_ANSWER;
	a->skip = a->parts = a->name = 0;
	a->n_line = 0;
	a->number = 1; /* of none that was seen; 0 would be the one before 1 */
	a->part = false;
	if (a->hpack)
		hpack_forget(a->hpack);
	if (s->protocol != PROTOCOL_HTTP2 && raw->pos > START)
		asked_forget(&s->asked);
}

void answers_read(struct stream *s, struct errors_found *f, const struct ev_raw *raw)
{
	bool lines = !frames_known(s->protocol);
	struct answers *a = &s->answers;
	u32 at = 0, n = raw->n < raw->len ? raw->n : raw->len, rest = raw->len - n;

	if (!a->in_step || a->next != raw->pos) {
		restart(s, raw);
		f->lost = !a->in_step;
	}
	if (raw->h.type == RAW_ANSWER)
		a->index = 0;
	while (at < n && !f->lost) {
		if (a->skip) {
			u32 k = a->skip < n - at ? a->skip : n - at;

			a->skip -= k;
			at += k;
		} else if (lines) {
			at += take_line(s, f, raw->bytes + at, n - at);
		} else {
			at += frames_take(s, f, raw->bytes + at, n - at);
		}
	}
	if (rest && !f->lost && a->n_line && lines)
		take_cut(s, f);
	f->lost |= rest > a->skip;
	a->skip -= rest < a->skip ? rest : a->skip;
	a->in_step = !f->lost;
	a->next = raw->pos + raw->len;
}
