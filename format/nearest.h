/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a misspelt word was meant to be. */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_MAX 64 /* bytes of a word; longer ones are near nothing */

struct nearest {
	const char *word;
	size_t len;		 /* of the word */
	size_t edits;		 /* to what was found */
	char found[NEAREST_MAX]; /* empty: nothing is near */
};

struct nearest nearest_to(const char *word, size_t len);

/* A candidate; upper and lower case are the same. The word itself is none. */
void nearest_offer(struct nearest *n, const char *candidate, size_t len);

/* Each word of a list such as "svg|png". */
void nearest_offer_list(struct nearest *n, const char *list);

/* Appends "; did you mean PREFIXfound?" to the sentence of an error, if something is near. */
void nearest_say(const struct nearest *n, const char *prefix, struct err *e);
