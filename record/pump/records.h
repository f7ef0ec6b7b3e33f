/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that obsrec makes itself, with a tail of text, on their way into the pump. */
#pragma once

#include "pump.h"

#include <stdarg.h>

/* CLOCK_MONOTONIC, ns: the ts of records. */
u64 records_now(void);

/*
 * Appends record (fixed bytes long, its header's type and tid set by the caller) with the text
 * (NULL: none) as tail. A ts of 0 becomes now. The text is cut to fit.
 */
int records_put(struct pump *p, void *record, size_t fixed, const char *text, struct err *e);

/* An info record: key=value. */
int records_info(struct pump *p, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
