// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes bytes from a recording safe for where they go. */
#include "escape.h"

#include "event.h"

#include <stdbool.h>
#include <string.h>

struct target {
	const char *backslash; /* ASCII characters that get a backslash before them */
	bool json;	       /* controls as \u00XX */
	bool html;	       /* & < > " ' as entities */
	const char *coded;     /* ASCII characters that are written as \xNN */
	bool data;	       /* characters that act stay: no terminal shows them */
};

static const struct target targets[] = {
	[ESCAPE_TEXT] = { "\\", false, false, "", false },
	[ESCAPE_JSON] = { "\\\"", true, false, "", false },
	[ESCAPE_MARKDOWN] = { "\\|`*_<>[]#~", false, false, "", false },
	[ESCAPE_HTML] = { "", false, true, "", false },
	[ESCAPE_CSV] = { "", false, false, "", false },
	[ESCAPE_TSV] = { "\\", false, false, " \"", false },
	[ESCAPE_FOLDED] = { "\\", false, false, ";", false },
	[ESCAPE_LABEL] = { "\\", false, false, "", false },
	[ESCAPE_DATA] = { "", false, false, "", true },
};

static const struct {
	char c;
	const char *entity;
} entities[] = {
	{ '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" },
};

/* Length of the UTF-8 sequence at s (at most n bytes) and its code point; 0: not valid. */
static int decode(const unsigned char *s, size_t n, u32 *ret)
{
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int len = s[0] < 0x80	? 1
		  : s[0] < 0xc2 ? 0
		  : s[0] < 0xe0 ? 2
		  : s[0] < 0xf0 ? 3
		  : s[0] < 0xf5 ? 4
				: 0;
	u32 c = len == 1 ? s[0] : s[0] & (0x7f >> len);
	int i;

	if (!len || (size_t)len > n)
		return 0;
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return len;
}

/* Characters that do something instead of showing something, or that reorder text. */
static bool acts(u32 c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

static int add_code(struct buf *out, const struct target *t, u32 c, bool byte, struct err *e)
{
	if (t->json && c > 0xffff)
		return buf_printf(out, e, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10),
				  0xdc00 + (c & 0x3ff));
	if (t->json)
		return buf_printf(out, e, "\\u%04x", c);
	if (byte || c < 0x100)
		return buf_printf(out, e, "\\x%02x", c);
	return buf_printf(out, e, "\\u{%x}", c);
}

static int add_ascii(struct buf *out, const struct target *t, char c, struct err *e)
{
	size_t i;

	if (t->html)
		for (i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
			if (entities[i].c == c)
				return buf_printf(out, e, "%s", entities[i].entity);
	if (c && strchr(t->coded, c))
		return add_code(out, t, c, true, e);
	if (c && strchr(t->backslash, c))
		buf_add(out, "\\", 1, e);
	return buf_add(out, &c, 1, e);
}

static int add_all(struct buf *out, const struct target *t, const char *bytes, size_t n,
		   struct err *e)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t at;
	int len, ret = out->failed;
	u32 c;

	for (at = 0; at < n && ret == 0; at += len ? len : 1) {
		len = decode(s + at, n - at, &c);
		if (!len)
			ret = add_code(out, t, s[at], true, e);
		else if (acts(c) && !t->data)
			ret = add_code(out, t, c, false, e);
		else if (len == 1)
			ret = add_ascii(out, t, c, e);
		else
			ret = buf_add(out, s + at, len, e);
	}
	return ret;
}

/* A cell with quotes around it and quotes inside doubled; a formula gets an apostrophe (RFC 4180).
 */
static int add_csv(struct buf *out, const char *bytes, size_t n, struct err *e)
{
	struct buf text = { 0 };
	size_t i;
	int ret = add_all(&text, &targets[ESCAPE_CSV], bytes, n, e);

	buf_add(out, "\"", 1, e);
	if (text.len && strchr("=+-@", text.data[0]))
		buf_add(out, "'", 1, e);
	for (i = 0; i < text.len; i++) {
		if (text.data[i] == '"')
			buf_add(out, "\"", 1, e);
		buf_add(out, text.data + i, 1, e);
	}
	buf_add(out, "\"", 1, e);
	buf_free(&text);
	return ret < 0 ? ret : out->failed;
}

/* Safe text first, then the format's own escapes for what that left: backslashes and quotes. */
static int add_label(struct buf *out, const char *bytes, size_t n, struct err *e)
{
	struct buf text = { 0 };
	size_t i;
	int ret = add_all(&text, &targets[ESCAPE_LABEL], bytes, n, e);

	for (i = 0; i < text.len; i++) {
		if (text.data[i] == '"' || text.data[i] == '\\')
			buf_add(out, "\\", 1, e);
		buf_add(out, text.data + i, 1, e);
	}
	buf_free(&text);
	return ret < 0 ? ret : out->failed;
}

int escape_add(struct buf *out, enum escape_for how, const char *bytes, size_t n, struct err *e)
{
	int ret = how == ESCAPE_CSV	? add_csv(out, bytes, n, e)
		  : how == ESCAPE_LABEL ? add_label(out, bytes, n, e)
					: add_all(out, &targets[how], bytes, n, e);

	if (ret < 0)
		out->failed = ret;
	return ret;
}

int escape_word(struct buf *out, const char *word, struct err *e)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_@%+=:,./-";
	const char *quote = strchr(word, '\'') && !strpbrk(word, "\"$`\\!") ? "\"" : "'";

	if (*word && !word[strspn(word, plain)])
		return buf_add(out, word, strlen(word), e);
	buf_add(out, quote, 1, e);
	for (; *word; word++) { /* nothing acts between ' and ', and ' ends it */
		if (*word == '\'' && *quote == '\'')
			buf_add(out, "'\\''", 4, e);
		else
			buf_add(out, word, 1, e);
	}
	return buf_add(out, quote, 1, e);
}

void escape_say(FILE *out, const char *program, const char *text)
{
	struct buf safe = { 0 };

	fprintf(out, "%s: ", program);
	if (escape_add(&safe, ESCAPE_TEXT, text, strlen(text), NULL) == 0)
		fwrite(safe.data, 1, safe.len, out);
	else
		for (; *text; text++)
			fputc(*text >= ' ' && *text < 0x7f ? *text : '?', out);
	fputc('\n', out);
	buf_free(&safe);
}
