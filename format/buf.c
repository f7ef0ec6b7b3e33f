// SPDX-License-Identifier: GPL-2.0-or-later
/* A growable byte buffer. */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_MAX ((size_t)1 << 30)

int buf_reserve(struct buf *b, size_t more, struct err *e)
{
	size_t cap = b->cap ? b->cap : 256;
	char *data;

	if (b->failed)
		return b->failed;
	if (more > BUF_MAX || b->len + more > BUF_MAX)
		return err_set(e, ERR_FAIL, "refusing to hold %zu bytes in one buffer",
			       b->len + more);
	if (b->len + more <= b->cap)
		return 0;
	while (cap < b->len + more)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data)
		return err_set(e, ERR_FAIL, "out of memory for a buffer of %zu bytes", cap);
	b->data = data;
	b->cap = cap;
	return 0;
}

int buf_add(struct buf *b, const void *data, size_t n, struct err *e)
{
	if (b->failed || b->cap - b->len <= n)
		b->failed = buf_reserve(b, n + 1, e);
	if (b->failed)
		return b->failed;
	if (n)
		memcpy(b->data + b->len, data, n);
	b->len += n;
	b->data[b->len] = '\0';
	return 0;
}

int buf_printf(struct buf *b, struct err *e, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0)
		b->failed = buf_reserve(b, n + 1, e);
	else if (!b->failed)
		b->failed = err_set(e, ERR_FAIL, "cannot format text");
	if (!b->failed) {
		vsnprintf(b->data + b->len, n + 1, fmt, again);
		b->len += n;
	}
	va_end(again);
	return b->failed;
}

int buf_fail(struct buf *b, int code)
{
	if (!b->failed && code < 0)
		b->failed = code;
	return b->failed;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = 0;
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}
