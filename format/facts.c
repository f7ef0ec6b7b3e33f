// SPDX-License-Identifier: GPL-2.0-or-later
#include "facts.h"

#include <string.h>

static const struct fact_desc facts[] = {
#define FACT(key, redact, merge, cut, shown, doc) \
	{ #key, FACT_##redact, MERGE_##merge, CUT_##cut, shown, doc },
#include "facts.def"
#undef FACT
};

const struct fact_desc *fact_find(const char *text, size_t n)
{
	static const struct fact_desc other = { .key = "", .shown = true };
	const char *equals = memchr(text, '=', n);
	size_t key = equals ? (size_t)(equals - text) : n, i;

	if (key > 9 && memcmp(text, "syscalls.", 9) == 0) /* a table each */
		key = 8;
	for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (strlen(facts[i].key) == key && memcmp(facts[i].key, text, key) == 0)
			return &facts[i];
	return &other;
}
