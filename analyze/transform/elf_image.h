/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions in an ELF file, of any processor, without libelf: this program is built where
 * that is not. Sizes that the file claims are compared with its own; memory is bounded.
 */
#pragma once

#include "format/code_name.h"

#include <stdbool.h>

#define BUILD_ID_SIZE 20 /* bytes that a recording has; a shorter one ends in zeros */

struct elf_image {
	int fd; /* the caller's */
	u64 size;
	bool wide, big;	    /* 64 bits; big-endian */
	u64 sections;	    /* offset of their headers */
	u32 n, header_size; /* number of them, and bytes of each */
	u32 texts;	    /* the section with their names */
	u8 build_id[BUILD_ID_SIZE];
};

/* False: no ELF file that can be read, or one without build-id. */
bool elf_image_open(struct elf_image *ret, int fd);

/* It has a table of all symbols, not of exported ones alone. */
bool elf_image_is_full(const struct elf_image *f);

/*
 * Offers functions of its symbol tables, and source lines of its section .debug_line. source: as in
 * event symbol. Tables that are damaged or too large are left out.
 */
void elf_image_names(const struct elf_image *f, struct code_names *names, u32 source);
