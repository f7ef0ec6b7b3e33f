// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After a header, which changed three times, comes one entry a function: its address and the place
 * of its description, which has the place of its name. The end of the last one is an entry more.
 */
#include "go_table.h"

#include <string.h>

#define HEADER	  8 /* bytes: magic, two of zero, smallest instruction, size of a pointer */
#define NAME_MOST 4096

enum magic {
	GO_1_2 = 0xfffffffb,
	GO_1_16 = 0xfffffffa,
	GO_1_18 = 0xfffffff0,
	GO_1_20 = 0xfffffff1
};

struct go_table {
	const u8 *at;
	size_t n;
	bool big;
	u32 word;  /* bytes of a pointer */
	u32 entry; /* bytes of an address of an entry, and of a place in it */
	u64 text;  /* address that addresses of entries count from */
	u64 names, functions, count;
};

/* 0 beyond the end. */
static u64 number(const struct go_table *t, u64 at, u32 bytes)
{
	u64 ret = 0;
	u32 i;

	if (at > t->n || bytes > t->n - at)
		return 0;
	for (i = 0; i < bytes; i++)
		ret = ret << 8 | t->at[at + (t->big ? i : bytes - 1 - i)];
	return ret;
}

static u64 field(const struct go_table *t, u32 i)
{
	return number(t, HEADER + (u64)i * t->word, t->word);
}

static bool read_header(struct go_table *t)
{
	u32 magic = (u32)number(t, 0, 4);

	if (t->n < HEADER || t->at[4] || t->at[5] || (t->at[7] != 4 && t->at[7] != 8))
		return false;
	t->word = t->entry = t->at[7];
	t->count = field(t, 0);
	switch (magic) {
	case GO_1_2:
		t->functions = HEADER + t->word;
		return true;
	case GO_1_16:
		t->names = field(t, 2);
		t->functions = field(t, 6);
		return true;
	case GO_1_18:
	case GO_1_20:
		t->entry = 4;
		t->text = field(t, 2);
		t->names = field(t, 3);
		t->functions = field(t, 7);
		return t->text > 0;
	default:
		return false;
	}
}

/* NULL: not in the table. */
static const char *name_of(const struct go_table *t, u64 place)
{
	/* descriptions: an address, then the place of the name; of the oldest, from the start */
	u64 from = t->names ? t->functions : 0, at;
	size_t left;

	if (place > t->n || from > t->n - place)
		return NULL;
	at = number(t, from + place + t->entry, 4);
	if (!at || t->names > t->n || at >= t->n - t->names)
		return NULL;
	at += t->names;
	left = t->n - at < NAME_MOST ? t->n - at : NAME_MOST;
	return t->at[at] && memchr(t->at + at, '\0', left) ? (const char *)t->at + at : NULL;
}

void go_table_find(struct code_names *names, const u8 *table, size_t n, bool big)
{
	struct go_table t = { .at = table, .n = n, .big = big };
	u64 i, at, start, end;
	const char *name;

	if (!read_header(&t) || t.functions > n || t.count > (n - t.functions) / (2 * t.entry))
		return;
	for (i = 0; i < t.count && names->left; i++) {
		at = t.functions + i * 2 * t.entry;
		start = t.text + number(&t, at, t.entry);
		end = t.text + number(&t, at + 2 * t.entry, t.entry);
		name = end > start ? name_of(&t, number(&t, at + t.entry, t.entry)) : NULL;
		if (name)
			code_names_offer(names, name, start, end - start, NAME_GO);
	}
}
