/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thrift's compact protocol, the writing half, as the metadata of Parquet needs it. A failure is
 * kept: what follows it does nothing.
 */
#pragma once

#include "format/buf.h"
#include "format/event.h"

#define THRIFT_DEPTH 8

enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_TEXT = 8, THRIFT_STRUCT = 12 };

struct thrift {
	struct buf *out;
	struct err *e;
	int failed; /* 0, or the first error */
	int depth;
	int last[THRIFT_DEPTH]; /* number of the field before, of each open struct */
};

/* A field of a struct; field 0: an element of a list. */
void thrift_number(struct thrift *t, int field, enum thrift_type type, s64 value);
void thrift_text(struct thrift *t, int field, const void *data, size_t n);

/* A struct, until thrift_end. The outermost one needs thrift_end only. */
void thrift_struct(struct thrift *t, int field);
void thrift_end(struct thrift *t);

/* n elements follow. */
void thrift_list(struct thrift *t, int field, enum thrift_type type, size_t n);
