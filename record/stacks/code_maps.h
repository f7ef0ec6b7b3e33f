/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of a process, from /proc/PID/maps. */
#pragma once

#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

#define CODE_MAPS_MAX 4096 /* mappings of one process; more are not known */

/* Kinds of module: the field kind of event module. */
enum code_kind { CODE_NONE, CODE_KERNEL, CODE_KMOD, CODE_ELF, CODE_VDSO, CODE_JIT, CODE_FILE };

struct code_map {
	u64 start, end; /* in memory */
	u64 offset;	/* of start in the file */
	u64 ino;
	u32 dev; /* major << 20 | minor */
	enum code_kind kind;
	bool deleted;
	int module;	  /* number of a module; -1: not looked for yet */
	const char *path; /* in the text; "" without */
};

struct code_maps {
	struct code_map *list; /* by address */
	u32 n;
	char *text; /* the paths */
};

/*
 * Takes over text, the NUL-terminated content of /proc/PID/maps, from malloc. Lines that are not
 * understood are left out. False: out of memory, and text is freed.
 */
bool code_maps_parse(struct code_maps *ret, char *text);

/* The mapping of an address; NULL: there is none. */
struct code_map *code_maps_find(const struct code_maps *m, u64 address);

/* Is there code of another file, or of another part of it, where this mapping is? */
bool code_maps_replaced(const struct code_maps *m, const struct code_map *by);

void code_maps_free(struct code_maps *m);
