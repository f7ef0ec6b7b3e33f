/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel and its modules are, and their symbols. */
#pragma once

#include "code_module.h"

#include <stdio.h>

struct kernel_code {
	struct kernel_range {
		u64 start, end;
		int module; /* number; 0: not used yet */
		char name[64];
	} * list; /* the kernel, its modules; by address */
	u32 n;
	struct kernel_range generated; /* BPF programs and trampolines; start 0: none seen */
	FILE *symbols; /* /proc/kallsyms, opened with the rights to see addresses; NULL: none */
};

/* Needs CAP_SYSLOG, on most hosts. Without it, addresses have no module. */
void kernel_code_open(struct kernel_code *k);

/* The module number and the address in it. */
void kernel_code_find(struct kernel_code *k, struct code_modules *m, u64 pc, int *ret_module,
		      u64 *ret_address);

/* Address in memory of an address in a module; 0: not known. */
u64 kernel_code_at(const struct kernel_code *k, int module, u64 address);

void kernel_code_close(struct kernel_code *k);
