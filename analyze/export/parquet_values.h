/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of one column as the body of a Parquet data page, version 1 (parquet_page.c). */
#pragma once

#include "format/buf.h"
#include "format/event.h"

/*
 * Which of n values are not NULL (BULK_NULL), as definition levels: runs of equal ones, or bits.
 * nulls: how many are NULL.
 */
int page_levels(struct buf *out, const s64 *values, u32 n, u32 nulls, struct err *e);

/* n integers, none of them NULL, as DELTA_BINARY_PACKED. */
int page_deltas(struct buf *out, const s64 *values, u32 n, struct err *e);
