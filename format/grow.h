/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that only grow. */
#pragma once

#include "err.h"

#include <stddef.h>

/*
 * Asked before something takes so many bytes, or more, at once: an error refuses. NULL: not asked.
 * Which memory a recording may take is for programs to say: analyze/base/budget.h.
 */
#define GROW_ASKS (16u << 20)
extern int (*grow_asked)(size_t bytes, struct err *e);

static inline int grow_ask(size_t bytes, struct err *e)
{
	return bytes >= GROW_ASKS && grow_asked ? grow_asked(bytes, e) : 0;
}

/* As GROW where n is a power of two or 0. */
int array_double(void *array, size_t n, size_t size, const char *elements, struct err *e);

static inline int array_grow(void *array, size_t n, size_t size, const char *elements,
			     struct err *e)
{
	return n & (n - 1) ? 0 : array_double(array, n, size, elements, e);
}

/*
 * Makes room for one more element after the n of an array, which is NULL at first. It keeps no
 * capacity: memory doubles whenever n is a power of two. elements: what they are, for the message.
 */
#define GROW(array, n, elements, e) array_grow(&(array), (n), sizeof(*(array)), (elements), (e))
