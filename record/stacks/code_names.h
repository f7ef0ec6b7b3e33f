/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of addresses that occur in stacks. Names are in order of address. */
#pragma once

#include "format/code_name.h"
#include "kernel_code.h"
#include "perf_map.h"

#include <stdio.h>

/*
 * By the symbol tables of a file, and of what belongs to it; source lines where these have them.
 * The debug file is looked for below root (-1: none), then on this host.
 */
void code_names_elf(struct code_name *names, u32 n, const struct elffile *f, int root);

/*
 * The same of a parked file (fd_message.h), for a process that ends soon: the file may stop it, and
 * stays open, because its close may wait for a server, too.
 */
void code_names_parked(struct code_name *names, u32 n, int parked, const char *path, int root);

/* By /proc/kallsyms, from its start; NULL: none. */
void code_names_kernel(struct code_name *names, u32 n, FILE *symbols);

void code_names_perf(struct code_name *names, u32 n, const struct perf_map *m);
