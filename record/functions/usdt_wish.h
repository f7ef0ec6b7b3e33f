/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What -U asks for: [PROVIDER:]PROBE[(ARGS)] or [PROVIDER:]PROBE[(ARGS)]..PROBE[(ARG)][@KEY]. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>

#define USDT_NAME_MAX 128

struct usdt_wish {
	char provider[USDT_NAME_MAX]; /* or a glob; "": any */
	bool span;
	struct usdt_end {
		char name[USDT_NAME_MAX];  /* a glob for marks */
		bool listed;		   /* else the first of --args are meant */
		u8 args[SITE_ARGS_MAX], n; /* numbers of arguments, from 1 */
		u8 text, text_is;	   /* the one that is a text; 0: none; enum usdt_text */
		u8 key;			   /* the one that joins start and end; 0: none */
	} at[2];			   /* mark or start; end */
};

/* The statement of --args. */
struct text_wish {
	u8 arg;	    /* the argument that points to it; 0: none */
	u8 max;	    /* bytes of it */
	u32 offset; /* the pointer is so far in what the argument points to; 0: it is the pointer */
};

/* Reads N, sM[+OFFSET][:BYTES] or both with a comma. */
int args_wish_read(u32 *ret_args, struct text_wish *ret, const char *text, struct err *e);

/* Reads the text after the file; ERR_FAIL if it is no such thing. */
int usdt_wish_read(struct usdt_wish *ret, const char *text, struct err *e);
