/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that code is in: opened once, kept open for their call frame information and, at the
 * end, their symbols. All content is untrusted.
 */
#pragma once

#include "cfi_table.h"
#include "code_maps.h"
#include "record/files/safe_open.h"
#include "record/functions/elffile.h"

#define CODE_MODULES_MAX 2048

struct code_module {
	enum code_kind kind;
	u32 dev, pid; /* pid: of generated code */
	u64 ino;
	bool deleted, unread;
	bool gone;   /* unread: the process or its mapping had ended, another one may help */
	u8 tries;    /* by others, if gone */
	bool silent; /* did not respond when names were read */
	u32 used;    /* the latest time in which a frame was in it */
	char *path;
	int parked;	    /* the file (fd_message.h); -1: none */
	struct elffile elf; /* parts of it; elf.elf is NULL if it could not be read */
	struct cfi_table eh_frame, debug_frame; /* n is 0 without */
};

struct code_modules {
	struct code_module *list; /* from 0; number 0 is no module; CODE_NONE: free */
	u32 n;
	u32 time;      /* counts up; what was not used lately can be closed */
	u64 cfi_bytes; /* call frame information in memory */
	struct safe_files files;
	/*
	 * A process other than pid that has mapped the same file, its number in ret, and where it
	 * has; from a place on, which moves. NULL: there are no more. May itself be NULL.
	 */
	const struct code_map *(*other)(void *arg, const struct code_map *map, u32 pid, u32 *place,
					u32 *ret);
	void *arg;
};

/* False: out of memory. */
bool code_modules_start(struct code_modules *m);

/*
 * The module of a mapping of a process: an earlier one of the same file, or a new one, which is
 * opened. 0: there are too many, or the mapping is none of a module.
 */
int code_module_find(struct code_modules *m, struct code_map *map, u32 pid);

/* One that is no mapping: the kernel, a module of it. */
int code_module_add(struct code_modules *m, enum code_kind kind, const char *path);

/*
 * Address as in the symbol table, of an address in memory; of a file that could not be read its
 * offset there. False: no segment has it.
 */
bool code_module_address(const struct code_module *c, const struct code_map *map, u64 pc, u64 *ret);

/*
 * Of an address as in the symbol table, from the start of its function, by the call frame
 * information; 0: not known.
 */
u32 code_module_offset(const struct code_module *c, u64 address);

/* Reads the call frame information of a module, within what all of them may take. */
void code_module_cfi(struct code_modules *m, struct code_module *c);

/* Closes files that were last used before this time; returns how many. */
u32 code_modules_forget(struct code_modules *m, u32 time);

void code_modules_free(struct code_modules *m);
