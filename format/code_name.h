/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code addresses, and the functions and source lines that are found for them. */
#pragma once

#include "demangle.h"
#include "event.h"

#include <stdbool.h>

/* Where a name was found: values of the field source of events site and symbol. */
enum elf_source {
	ELF_NONE,
	ELF_DYNSYM,   /* exported names, in the file itself */
	ELF_SYMTAB,   /* all names, in the file itself */
	ELF_BUILD_ID, /* a debug file found by build-id */
	ELF_LINK,     /* a debug file that .gnu_debuglink names */
	ELF_MINI,     /* .gnu_debugdata: packed names of functions inside the file */
	ELF_STAPSDT,  /* .note.stapsdt: static probes; of event site only */
	N_ELF_SOURCES,
};
/* The same of event symbol. */
enum name_source { NAME_KALLSYMS = 6, NAME_PERF_MAP, NAME_GO };

/* An address and what was found for it. */
struct code_name {
	u64 address; /* as in the symbol table; of the kernel: in memory */
	u32 frame;   /* the caller's */
	u32 source;
	u64 start; /* of the function */
	u64 size;  /* 0: not known */
	char *name;
	char *file; /* source file; NULL: not known */
	u32 line;
};

/* Those that are looked for, in order of address. */
struct code_names {
	struct code_name *list;
	u32 n;
	u64 left; /* comparisons that are still made: tables are untrusted */
};

#define CODE_NAMES_WORK (1ull << 26)

/* Takes a copy of the name. */
void code_name_take(struct code_name *c, const char *name, u64 start, u64 size, u32 source);

/* A function of a symbol table; size 0: not known. It is taken for the addresses in it that have no
 * better one. */
void code_names_offer(struct code_names *names, const char *name, u64 start, u64 size, u32 source);

/* The first one at or after the address; n: there is none. */
u32 code_names_first(const struct code_names *names, u64 address);

#define CODE_NAME_TEXT (DEMANGLED_MAX + 1024)

/* The event of one that has a name, and its tail. */
void code_name_symbol(struct ev_symbol *ret, char text[CODE_NAME_TEXT], const struct code_name *c);

void code_name_free(struct code_name *c);
