/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Codes of errors in answers, by number: table request_code. Zero-initialised there are none. */
#pragma once

#include "analyze/replay/track.h"

#define ERROR_CODES 256
#define ERROR_CODE  16 /* bytes, not terminated if it fills them */

struct error_codes {
	char list[ERROR_CODES][ERROR_CODE]; /* from 1 on */
	u32 n;
};

/* The number of a code; 0: there is no room. */
u32 error_code(struct error_codes *all, const char *code);
int error_codes_write(struct replay *r, const struct error_codes *all, struct err *e);
