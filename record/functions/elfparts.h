/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a binary, copied by a process that its file system may stop. */
#pragma once

#include "format/err.h"
#include "format/event.h"

/*
 * A safe_parts_fn: headers, notes and call frame information at their places in a file in memory,
 * with holes between them. Without sections of more than max bytes, and what makes all parts larger
 * than that and 48 MiB. ENOEXEC: no sound ELF file.
 */
int elfparts_copy(int fd, u64 max, struct err *e);

#define ELFPARTS_SYMBOLS_MAX (1u << 30)

/* The same with symbols and code, or with all segments of a file that has no section of symbols. */
int elfparts_symbols(int fd, u64 max, struct err *e);
