/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbol table of a stripped file, where it was put. */
#pragma once

#include "elffile.h"
#include "format/code_name.h"
#include "record/files/safe_open.h"

/* "symbol table", "debug file by build-id", ... */
const char *elf_source_name(enum elf_source source);

/*
 * Opens what belongs to f: /usr/lib/debug/.build-id/xx/yyyy.debug, below the given root or on
 * this host; the file that .gnu_debuglink names, if its build-id agrees, or its checksum, for which
 * at most 1 GiB is read; .gnu_debugdata. Returns which of them, ELF_NONE if there is none.
 * The worker of files copies its symbols, and no more. Without files, it is read here, and whole:
 * for a process that can be given up.
 */
enum elf_source elfdebug_open(struct elffile *ret, const struct elffile *f,
			      struct safe_files *files, int root);

/* True if this obsrec can unpack .gnu_debugdata. */
bool elfdebug_unpacks(void);
