/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A span between two functions: FILE:START[%return]..[FILE:]END[%return][@KEY[,KEY]]. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>

#define SPAN_TEXT_MAX 512
#define SPAN_KEY_MAX  6 /* arguments in registers: x86-64 has no more */

struct span_wish {
	bool keyed;
	struct span_end {
		char text[SPAN_TEXT_MAX]; /* FILE:NAME; of the end FILE may be missing */
		bool back;		  /* its return */
		u8 key;			  /* argument, from 1; 0: the value returned */
	} at[2];
};

/* True if the text names two functions: ".." after FILE: that is no directory and no "...". */
bool span_wish_is(const char *text);

int span_wish_read(struct span_wish *ret, const char *text, struct err *e);

/* Reads "@1", "@1,2" or "@return,1" and what ends the text; max: of a number. */
int span_key_read(u8 ret[2], const char *text, int max, struct err *e);
