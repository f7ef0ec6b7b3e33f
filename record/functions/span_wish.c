// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of a span between two functions. */
#include "span_wish.h"

#include <stdio.h>
#include <string.h>

static const char back_text[] = "%return", key_text[] = "return";

/* The ".." between the two; NULL: there is none. */
static const char *dots_of(const char *text)
{
	const char *at = strchr(text, ':');

	for (at = at ? strstr(at, "..") : NULL; at; at = strstr(at, "..")) {
		if (at[-1] != '/' && at[-1] != ':' && at[2] != '.' && at[2])
			return at;
		at += strspn(at, ".");
	}
	return NULL;
}

bool span_wish_is(const char *text)
{
	return dots_of(text) != NULL;
}

/* One key; 0: the value returned. NULL: it is none. */
static const char *take_key(const char *at, u8 *ret, int max)
{
	int number = 0, n = 0;

	*ret = 0;
	if (strncmp(at, key_text, sizeof(key_text) - 1) == 0)
		return at + sizeof(key_text) - 1;
	while (*at >= '0' && *at <= '9' && n++ < 2)
		number = 10 * number + *at++ - '0';
	*ret = number;
	return number > 0 && number <= max ? at : NULL;
}

int span_key_read(u8 ret[2], const char *text, int max, struct err *e)
{
	const char *at = take_key(text + 1, &ret[0], max);

	if (at)
		ret[1] = ret[0];
	if (at && *at == ',')
		at = take_key(at + 1, &ret[1], max);
	if (at && !*at)
		return 0;
	return err_set(e, ERR_FAIL,
		       "the key of a span is @N or @N,M: a number of an argument from 1 to %d%s, "
		       "not '%.60s'",
		       max, max == SPAN_KEY_MAX ? ", or return" : "", text);
}

/* The key after the last @; NULL: none, or a version of a symbol. */
static const char *key_of(const char *text)
{
	const char *at = strrchr(text, '@');

	if (!at || (at[1] >= '0' && at[1] <= '9'))
		return at;
	return strncmp(at + 1, key_text, sizeof(key_text) - 1) == 0 ? at : NULL;
}

static int take_end(struct span_end *ret, const char *text, size_t n, struct err *e)
{
	const size_t back = sizeof(back_text) - 1;

	ret->back = n >= back && strncmp(text + n - back, back_text, back) == 0;
	n -= ret->back ? back : 0;
	if (!n || n >= sizeof(ret->text))
		return err_set(e, ERR_FAIL, "--uprobe: %s name of a span: %.60s",
			       n ? "too long a" : "no", text);
	memcpy(ret->text, text, n);
	ret->text[n] = '\0';
	return 0;
}

int span_wish_read(struct span_wish *ret, const char *text, struct err *e)
{
	const char *dots = dots_of(text), *second, *key;
	u8 keys[2];
	int i, r;

	*ret = (struct span_wish){ 0 };
	if (!dots)
		return err_set(e, ERR_FAIL, "--uprobe: no span: %.60s", text);
	second = dots + 2;
	key = key_of(second);
	r = take_end(&ret->at[0], text, (size_t)(dots - text), e);
	if (r == 0)
		r = take_end(&ret->at[1], second, key ? (size_t)(key - second) : strlen(second), e);
	if (r < 0 || !key)
		return r;
	ret->keyed = true;
	if (span_key_read(keys, key, SPAN_KEY_MAX, e) < 0)
		return ERR_FAIL;
	for (i = 0; i < 2; i++) {
		ret->at[i].key = keys[i];
		if (ret->at[i].back != !keys[i])
			return err_set(
				e, ERR_FAIL,
				"--uprobe: the key of a span is an argument at an entry, and 'return' at %%return: %.60s",
				text);
	}
	return 0;
}
