/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of one analysis as a table of text or Markdown. */
#pragma once

#include "pivot.h"

#include "format/buf.h"
#include "format/err.h"

int table_markdown(struct buf *out, const struct pivot *p, struct err *e);

/*
 * Columns that do not fit into `width` are dropped; *ret_dropped: how many. Neighbouring rows "long
 * name: part" stand indented below their name, which is printed once.
 */
int table_text(struct buf *out, const struct pivot *p, int width, int *ret_dropped, struct err *e);

/* Bytes of "name" in row r's "name: part", if a neighbour has the same; 0: the row is whole.
 */
int table_shared_name(const struct pivot *p, int r);
bool table_same_name(const struct pivot *p, int a, int b);
