/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements by which other engines read a directory of export --parquet. */
#pragma once

#include "format/buf.h"

/*
 * Appends the statements for the engine name (of dialects.def): a table or view for each table,
 * then the views that it can have.
 */
int dialect_print(struct buf *out, const char *name, const char *dir, struct err *e);
