/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans with a key: start and end have the same key, in one process, on any threads. */
#pragma once

#include "track_calls.h"

/* A start, or the end of the open span of that key. args[0] is the key; BULK_NULL: it could not be
 * read. */
int keyed_on(struct replay *r, const struct record *rec, const struct span_start *s, bool ends,
	     struct err *e);
