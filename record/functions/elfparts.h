/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What unwinding needs of a binary, copied by a process that its file system may stop. */
#pragma once

#include "format/event.h"

/*
 * A safe_parts_fn: headers, notes and call frame information at their places in a file in memory,
 * with holes between them. Without sections of more than max bytes, and what makes all parts larger
 * than that and 48 MiB. ENOEXEC: no sound ELF file.
 */
int elfparts_copy(int fd, u64 max);
