/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbol tables of one ELF file, by sections or, where there are none, by segments. */
#pragma once

#include "elffile.h"

#define VERSIONS_MAX 1024 /* more versions of one library have no names here */

struct elftable {
	Elf_Data *symbols;
	Elf_Data *strings;
	Elf_Data *numbers; /* of versions, one for each symbol; NULL: none */
	u32 n;
	const char *versions[VERSIONS_MAX]; /* names, by number; NULL: none */
};

/* The table of exported names; false if the file has none. */
bool elftable_dynamic(struct elftable *ret, const struct elffile *f);

/* The table of all names; false if the file has none. */
bool elftable_full(struct elftable *ret, const struct elffile *f);

/* A text in the table's strings; NULL if it is not wholly inside. */
const char *elftable_text(const struct elftable *t, u64 at);

/* Version of a symbol, "" if it has none. */
const char *elftable_version(const struct elftable *t, u32 symbol, bool *ret_default);
