/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growable byte buffer. Zero-initialised it is empty; buf_free empties it again. A failure to
 * append stays: all later calls return its code and do nothing, so of several in a row only the
 * last needs to be checked. e has the sentence of the first.
 */
#pragma once

#include "err.h"

#include <stddef.h>

struct buf {
	char *data;
	size_t len; /* bytes in use */
	size_t cap; /* bytes allocated */
	int failed; /* the code of the first append that failed; 0: none */
};

/* Makes room for more bytes beyond len. The limit guards against absurd requests: 1 GiB. */
int buf_reserve(struct buf *b, size_t more, struct err *e);

/* Appends n bytes; a NUL follows them, beyond len. */
int buf_add(struct buf *b, const void *data, size_t n, struct err *e);

/* Appends formatted text; a NUL follows it, beyond len. */
int buf_printf(struct buf *b, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A failure to make what is appended, a code below 0, stays like one to append. Returns failed. */
int buf_fail(struct buf *b, int code);

/* Empties the buffer, and forgets a failure, but keeps its memory. */
void buf_clear(struct buf *b);

void buf_free(struct buf *b);
