// SPDX-License-Identifier: GPL-2.0-or-later
/* The one way in which functions say what went wrong. */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

int err_errno(struct err *e, enum err_code code, const char *fmt, ...)
{
	const char *why = strerror(errno);
	va_list ap;
	size_t n;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", why);
	return code;
}

int err_status(const struct err *e)
{
	return -e->code;
}
