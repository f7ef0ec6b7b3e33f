/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One record as a line, straight from the descriptors of its recording. */
#pragma once

#include "format/buf.h"
#include "format/recording.h"

/*
 * "1000 100 syscall dur=500 ret=64 ... nr=read": ts, thread, event, fields. Numbers are
 * as recorded; kinds decide the base, system calls and groups appear by name. Names and
 * tails stand in double quotes, with escapes. No newline.
 */
int record_text(struct buf *out, const struct record *rec, const struct schema *s, struct err *e);

/*
 * The same as a JSON object: numbers raw, names and tails as strings; ring is the CPU on which it
 * was recorded, null for records that obsrec made.
 */
int record_json(struct buf *out, const struct record *rec, struct err *e);
