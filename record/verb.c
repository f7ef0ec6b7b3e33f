// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of verbs. */
#include "verb.h"

#include <stddef.h>

const struct verb verbs[] = {
#define VERB(name, words, doc) { #name, words, doc, verb_##name },
#include "verbs.def"
#undef VERB
	{ NULL, NULL, NULL, NULL },
};

const char verbs_usage[] =
#define VERB(name, words, doc) "       obsrec " #name " " words "\n"
#include "verbs.def"
#undef VERB
	;
