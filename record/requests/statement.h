/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements of SQL without their values: what may be written to a recording. */
#pragma once

#include "format/buf.h"
#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * In place; returns the length, at most n. Numbers, quoted strings and placeholders become ?, lists
 * of them one ?, comments and superfluous blanks go.
 *
 * Dialects differ in what ends a string. Where that could show a value, the statement ends: then
 * *cut is set. So it is for \' in a string, # outside of one, a comment -- without a blank, nested
 * comments, those of MySQL that are run, and quotes in square brackets.
 */
size_t statement_strip(u8 *text, size_t n, bool *cut);

/* True if the text of this record has to lose its values before it is written. */
bool statement_in(const struct ev_header *h);

/* Appends the record without them, which is not longer. */
int statement_put(const struct ev_header *h, struct buf *out, struct err *e);
