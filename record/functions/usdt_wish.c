// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of -U after its file. */
#include "usdt_wish.h"

#include "span_wish.h"
#include "usdt_args.h"

#include <string.h>

#define STATEMENT_BYTES 200 /* unless it says how many */

static const char name_bytes[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.-";
static const char glob_bytes[] = "*?[]!";

static int malformed(const char *text, struct err *e)
{
	return err_set(
		e, ERR_FAIL,
		"--usdt needs FILE:[PROVIDER:]PROBE or FILE:[PROVIDER:]START..END, each probe with up to %d arguments such as (1,2), (1:str) or (1:sql), not '%.60s'",
		SITE_ARGS_MAX, text);
}

/* A name or glob up to "..", or a byte that is not part of it. Returns its length; 0: none. */
static size_t name_length(const char *text)
{
	size_t n = 0;

	while (text[n] && (strchr(name_bytes, text[n]) || strchr(glob_bytes, text[n])) &&
	       strncmp(text + n, "..", 2) != 0)
		n++;
	return n < USDT_NAME_MAX ? n : 0;
}

static const char *take_name(const char *text, char ret[USDT_NAME_MAX])
{
	size_t n = name_length(text);

	memcpy(ret, text, n);
	ret[n] = '\0';
	return n ? text + n : NULL;
}

/* "12" or "3:str"; NULL: neither, or one too many. */
static const char *take_arg(const char *at, struct usdt_end *ret)
{
	unsigned int number = 0;
	int n = 0;

	while (*at >= '0' && *at <= '9' && n++ < 2)
		number = 10 * number + *at++ - '0';
	if (number == 0 || number > USDT_ARGS_MAX)
		return NULL;
	if (strncmp(at, ":str", 4) == 0 || strncmp(at, ":sql", 4) == 0) {
		if (ret->text)
			return NULL;
		ret->text = number;
		ret->text_is = at[2] == 't' ? TEXT_AS_IS : TEXT_STATEMENT;
		return at + 4;
	}
	if (ret->n == SITE_ARGS_MAX)
		return NULL;
	ret->args[ret->n++] = number;
	return at;
}

/* "(1,2:str)", if it is there; NULL: it is wrong. */
static const char *take_args(const char *at, struct usdt_end *ret)
{
	if (*at != '(')
		return at;
	ret->listed = true;
	do {
		at = take_arg(at + 1, ret);
	} while (at && *at == ',');
	return at && *at == ')' ? at + 1 : NULL;
}

static const char *take_end(const char *at, struct usdt_end *ret)
{
	at = take_name(at, ret->name);
	return at ? take_args(at, ret) : NULL;
}

/* "@1" or "@1,2" after a span. */
static int take_key(struct usdt_wish *w, const char *at, const char *text, struct err *e)
{
	u8 keys[2];

	if (span_key_read(keys, at, USDT_ARGS_MAX, e) < 0)
		return ERR_FAIL;
	w->at[0].key = keys[0];
	w->at[1].key = keys[1];
	if (!keys[0] || !keys[1] || w->at[0].n == SITE_ARGS_MAX)
		return err_set(
			e, ERR_FAIL,
			"--usdt: a span with a key has up to %d other arguments, and no returns: %.60s",
			SITE_ARGS_MAX - 1, text);
	return 0;
}

int usdt_wish_read(struct usdt_wish *ret, const char *text, struct err *e)
{
	const char *at = text;
	size_t n = name_length(text);

	*ret = (struct usdt_wish){ 0 };
	if (n && text[n] == ':')
		at = take_name(text, ret->provider) + 1;
	at = take_end(at, &ret->at[0]);
	if (at && strncmp(at, "..", 2) == 0) {
		ret->span = true;
		at = take_end(at + 2, &ret->at[1]);
	}
	if (at && *at == '@' && ret->span) {
		if (take_key(ret, at, text, e) < 0)
			return ERR_FAIL;
	} else if (!at || *at) {
		return malformed(text, e);
	}
	if (!ret->span)
		return 0;
	if (strpbrk(ret->at[0].name, glob_bytes) || strpbrk(ret->at[1].name, glob_bytes))
		return err_set(e, ERR_FAIL, "--usdt: a span has no globs: %.60s", text);
	if (strcmp(ret->at[0].name, ret->at[1].name) == 0)
		return err_set(e, ERR_FAIL, "--usdt: a span needs two probes: %.60s", text);
	if (ret->at[1].text || ret->at[1].n > 1)
		return err_set(
			e, ERR_FAIL,
			"--usdt: the end of a span has at most one argument, an integer: %.60s",
			text);
	return 0;
}

/* A mark and a number of up to five digits after it, if they are there. */
static const char *take_number(const char *at, char mark, unsigned int *ret)
{
	int n = 1;

	if (*at != mark || at[1] < '0' || at[1] > '9')
		return at;
	for (*ret = 0; at[n] >= '0' && at[n] <= '9' && n < 6; n++)
		*ret = 10 * *ret + at[n] - '0';
	return at + n;
}

int args_wish_read(u32 *ret_args, struct text_wish *ret, const char *text, struct err *e)
{
	unsigned int args = 0, max = STATEMENT_BYTES, offset = 0;
	const char *at = text;

	*ret = (struct text_wish){ 0 };
	if (*at >= '0' && *at <= '0' + SITE_ARGS_MAX)
		args = *at++ - '0';
	if (at > text && *at == ',' && at[1])
		at++;
	if ((at == text || at[-1] == ',') && *at == 's' && at[1] > '0' &&
	    at[1] <= '0' + SPAN_KEY_MAX) {
		ret->arg = at[1] - '0';
		at = take_number(at + 2, '+', &offset);
		at = take_number(at, ':', &max);
	}
	if (at == text || *at || !max || max >= USDT_TEXT_MAX)
		return err_set(
			e, ERR_FAIL,
			"--args needs a number from 0 to %d, a statement as s2, s2:BYTES or s2+OFFSET (of argument 1 to %d, up to %d bytes), or both as 1,s2; not '%.40s'",
			SITE_ARGS_MAX, SPAN_KEY_MAX, USDT_TEXT_MAX - 1, text);
	ret->max = max;
	ret->offset = offset;
	*ret_args = args;
	return 0;
}
