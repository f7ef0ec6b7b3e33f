// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Statements without values. What is kept are words, operators and names; a name in double quotes
 * only where no dialect has a string.
 */
#include "statement.h"

#include <string.h>
#include <strings.h>

/* What is written never reaches what is still to be read: a token is written at most as long. */
struct strip {
	u8 *t;
	size_t n, in, out;
	int depth;  /* of brackets */
	bool space; /* before the next token */
	bool cut;
};

static bool is_digit(u8 c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(u8 c)
{
	return (c | 32u) - 'a' < 26u || c == '_' || c >= 0x80;
}

static bool is_word(u8 c)
{
	return is_letter(c) || is_digit(c) || c == '$';
}

static u8 at(const struct strip *s, size_t i)
{
	return i < s->n ? s->t[i] : 0;
}

static u8 last(const struct strip *s)
{
	return s->out ? s->t[s->out - 1] : '(';
}

/* True if what is written ends with this; a word in any case. */
static bool ends(const struct strip *s, const char *text)
{
	size_t n = strlen(text);

	return s->out >= n && strncasecmp((const char *)s->t + s->out - n, text, n) == 0 &&
	       (s->out == n || !is_word(text[0]) || !is_word(s->t[s->out - n - 1]));
}

/* The n bytes from from on; up to there all is read. */
static void put(struct strip *s, size_t from, size_t n)
{
	if (s->space && !strchr("(,.=<>!", last(s)) && !strchr("),.;=<>!", s->t[from]))
		s->t[s->out++] = ' ';
	s->space = false;
	memmove(s->t + s->out, s->t + from, n);
	s->out += n;
}

/* Signs are the value's where no other value is before them. */
static void drop_signs(struct strip *s)
{
	size_t n = s->out, k;

	while (n && (s->t[n - 1] == '-' || s->t[n - 1] == '+')) {
		for (k = n - 1; k && s->t[k - 1] == ' '; k--)
			;
		if (k && !strchr("(,=<>+-*/%", s->t[k - 1]))
			return;
		s->space = k < n - 1;
		s->out = n = k;
	}
}

/* A value ends before to. */
static void put_value(struct strip *s, size_t to)
{
	drop_signs(s);
	if (ends(s, "?,")) {
		s->out--;
	} else {
		s->t[to - 1] = '?';
		put(s, to - 1, 1);
	}
	s->space = false;
	s->in = to;
}

/* Several rows of values are as one. */
static void put_bracket(struct strip *s)
{
	bool opens = s->t[s->in] == '(';

	s->depth += opens ? 1 : -1;
	put(s, s->in++, 1);
	if (!opens && ends(s, "(?),(?)"))
		s->out -= 4;
}

/* True if quotes or comments may begin or end in these bytes. */
static bool unsure(const struct strip *s, size_t from, size_t to)
{
	for (; from < to; from++)
		if (s->t[from] && strchr("'\"`#-/", s->t[from]))
			return true;
	return false;
}

/* Past the quote that ends the string at i; *ret_plain: between them is a name. */
static size_t string_end(struct strip *s, size_t i, bool *ret_plain)
{
	u8 quote = s->t[i++], c;
	size_t slashes = 0, from = i;
	bool wide = false;

	*ret_plain = is_letter(at(s, i));
	for (; i < s->n; i++) {
		c = s->t[i];
		if (c == quote && slashes && (slashes % 2 || wide) && quote != '`') {
			s->cut = true; /* MySQL: it goes on; in GBK a slash may be half a letter */
			return s->n;
		}
		if (c == quote && at(s, i + 1) != quote)
			return i + 1;
		if (c == quote)
			i++;
		slashes = c == '\\' ? slashes + 1 : 0;
		wide |= c >= 0x80;
		*ret_plain &= is_word(c) && i - from < 64;
	}
	*ret_plain = false;
	return s->n;
}

/* Of a text in double quotes that is followed by next: it is a name in all dialects. */
static bool names_here(const struct strip *s, u8 next)
{
	if (ends(s, "DISTINCT FROM")) /* SQLite: or a string */
		return false;
	return next == '.' || (last(s) == '.' && s->out) || ends(s, "JOIN") || ends(s, "INTO") ||
	       ends(s, "UPDATE") || ends(s, "TABLE") || (ends(s, "FROM") && s->depth <= 0);
}

static void put_quoted(struct strip *s)
{
	u8 quote = s->t[s->in];
	bool name;
	size_t end = string_end(s, s->in, &name);

	if (name && (quote == '`' || (quote == '"' && names_here(s, at(s, end))))) {
		put(s, s->in, end - s->in);
		s->in = end;
	} else {
		put_value(s, end);
	}
}

/* $1, $tag$ text $tag$, or a byte. */
static void put_dollar(struct strip *s)
{
	size_t i = s->in + 1, tag, end;
	const u8 *p = NULL;

	while (is_word(at(s, i)) && at(s, i) != '$')
		i++;
	tag = i + 1 - s->in;
	if (is_digit(at(s, s->in + 1))) {
		put_value(s, i);
	} else if (at(s, i) == '$') {
		for (end = i + 1; end + tag <= s->n; end++)
			if (memcmp(s->t + end, s->t + s->in, tag) == 0) {
				p = s->t + end;
				break;
			}
		end = p ? end : s->n;
		s->cut |= unsure(s, i, end);
		put_value(s, p ? end + tag : s->n);
	} else {
		put(s, s->in++, 1);
	}
}

/* SQLite: a name, in which quotes are letters; PostgreSQL: an index or list. */
static void put_square(struct strip *s)
{
	size_t end = s->in;

	while (end < s->n && s->t[end] != ']')
		end++;
	s->cut |= unsure(s, s->in, end);
	if (!s->cut)
		put(s, s->in++, 1);
}

/* Or a placeholder: ?, ?1. */
static void put_number(struct strip *s)
{
	size_t i = s->in + 1;
	bool number = s->t[s->in] != '?';

	while (is_digit(at(s, i)) ||
	       (number && (is_word(at(s, i)) || at(s, i) == '.' ||
			   (at(s, i) && strchr("+-", at(s, i)) && (at(s, i - 1) | 32) == 'e' &&
			    is_digit(at(s, i + 1))))))
		i++;
	put_value(s, i);
}

/* A word; one that stands for a value in a list is one. */
static void put_word(struct strip *s)
{
	static const char *const values[] = { "NULL", "TRUE", "FALSE", "DEFAULT" };
	size_t end = s->in, n, i;

	while (is_word(at(s, end)))
		end++;
	n = end - s->in;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (n == strlen(values[i]) && s->out && strchr("(,", last(s)) &&
		    strncasecmp((const char *)s->t + s->in, values[i], n) == 0) {
			put_value(s, end);
			return;
		}
	if (n > 1 || at(s, end) != '\'') /* else it says how the string is written: E'x' */
		put(s, s->in, n);
	s->in = end;
}

/* True if there is one, which is skipped. */
static bool skip_comment(struct strip *s)
{
	size_t i = s->in + 2;
	bool line = at(s, s->in) == '-' && at(s, s->in + 1) == '-';

	if (!line && (at(s, s->in) != '/' || at(s, s->in + 1) != '*'))
		return false;
	s->cut |= line && at(s, i) > ' '; /* MySQL: a number follows */
	if (line) {
		while (i < s->n && s->t[i] != '\n' && s->t[i] != '\r')
			i++;
		s->cut |= at(s, i) == '\r' && at(s, i + 1) != '\n'; /* PostgreSQL: it ends */
	} else {
		/* MySQL, MariaDB: no comment */
		s->cut |= at(s, i) == '!' || (at(s, i) == 'M' && at(s, i + 1) == '!');
		for (; i < s->n && !(s->t[i] == '*' && at(s, i + 1) == '/'); i++)
			s->cut |= s->t[i] == '/' && at(s, i + 1) == '*';
		i = i < s->n ? i + 2 : s->n;
	}
	s->in = i;
	s->space = true;
	return true;
}

static void put_token(struct strip *s)
{
	u8 c = s->t[s->in];

	if (c <= ' ' || c == 0x7f) {
		s->space = true;
		s->in++;
	} else if (c == '\'' || c == '"' || c == '`') {
		put_quoted(s);
	} else if (is_digit(c) || c == '?' ||
		   (c == '.' && is_digit(at(s, s->in + 1)) && !is_word(last(s)))) {
		put_number(s);
	} else if (is_letter(c)) {
		put_word(s);
	} else if (c == '$') {
		put_dollar(s);
	} else if (c == '(' || c == ')') {
		put_bracket(s);
	} else if (c == '[') {
		put_square(s);
	} else if (c == '#') {
		s->cut = true;
	} else if (!skip_comment(s)) {
		put(s, s->in++, 1);
	}
}

size_t statement_strip(u8 *text, size_t n, bool *cut)
{
	struct strip s = { .t = text, .n = n };

	while (s.in < n && !s.cut)
		put_token(&s);
	while (s.out && strchr("; ", text[s.out - 1]))
		s.out--;
	*cut = s.cut;
	return s.out;
}

bool statement_in(const struct ev_header *h)
{
	return h->type == EV_call_text ||
	       (h->type == EV_usdt && ((const struct ev_usdt *)h)->unread & USDT_TEXT_STATEMENT);
}

int statement_put(const struct ev_header *raw, struct buf *out, struct err *e)
{
	size_t start = out->len, fixed, n;
	bool call = raw->type == EV_call_text, cut;
	struct ev_header *h;
	char *text;
	u8 *flags;

	if (buf_add(out, raw, raw->size, e) < 0)
		return ERR_FAIL;
	h = (struct ev_header *)(out->data + start);
	text = call ? ((struct ev_call_text *)h)->text : ((struct ev_usdt *)h)->text;
	flags = call ? &((struct ev_call_text *)h)->unread : &((struct ev_usdt *)h)->unread;
	fixed = text - (char *)h;
	n = statement_strip((u8 *)text, strnlen(text, h->size - fixed), &cut);
	memset(text + n, 0, h->size - fixed - n);
	*flags |= cut ? USDT_TEXT_CUT : 0;
	h->size = (u16)((fixed + n + 7) & ~(size_t)7);
	out->len = start + h->size;
	return 0;
}
