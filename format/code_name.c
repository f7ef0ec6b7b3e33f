// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables are walked once: for each symbol, the addresses in it are looked up, which are few. */
#include "code_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSIZED_MAX 65536 /* bytes of a function of unknown size */

void code_name_take(struct code_name *c, const char *name, u64 start, u64 size, u32 source)
{
	char *copy = strdup(name);

	if (!copy)
		return;
	free(c->name);
	c->name = copy;
	c->start = start;
	c->size = size;
	c->source = source;
}

/* One without a size is used only where no other is. Of aliases, the one with the least underscores
 * before its name. */
static bool is_better(const struct code_name *c, const char *name, u64 start, u64 size)
{
	if (!c->name || !c->size != !size)
		return !c->name || size;
	if (start != c->start)
		return start > c->start;
	return strspn(name, "_") < strspn(c->name, "_");
}

u32 code_names_first(const struct code_names *names, u64 address)
{
	u32 low = 0, high = names->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (names->list[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void code_names_offer(struct code_names *names, const char *name, u64 start, u64 size, u32 source)
{
	u64 covered = size ? size : UNSIZED_MAX;
	u32 k;

	for (k = code_names_first(names, start);
	     k < names->n && names->list[k].address - start < covered && names->left;
	     k++, names->left--)
		if (is_better(&names->list[k], name, start, size))
			code_name_take(&names->list[k], name, start, size, source);
}

void code_name_symbol(struct ev_symbol *ret, char text[CODE_NAME_TEXT], const struct code_name *c)
{
	size_t n;

	*ret = (struct ev_symbol){
		.h = { .type = EV_symbol },
		.frame = c->frame,
		.offset = (u32)(c->address - c->start),
		.source = c->source,
	};
	if (demangle(c->name, text))
		demangle_bare(text);
	else
		snprintf(text, DEMANGLED_MAX, "%s", c->name);
	n = strlen(text);
	/* a cut path is no path */
	if (!c->file || !c->line || strlen(c->file) + 2 > CODE_NAME_TEXT - n)
		return;
	ret->line = c->line;
	snprintf(text + n, CODE_NAME_TEXT - n, "\t%s", c->file);
}

void code_name_free(struct code_name *c)
{
	free(c->name);
	free(c->file);
}
