/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of a binary: every symbol table that can be found for it, read with libelf. */
#pragma once

#include "elfdebug.h"

/* How the kernel executes the instruction under a probe: what a hit costs depends on it. */
enum probe_class { CLASS_UNKNOWN, CLASS_EMULATED, CLASS_STEPPED };

struct elfsym {
	const char *name;    /* as linked, without a version */
	const char *version; /* "" if it has none */
	const char *file;    /* source file of a local symbol; "" if not known */
	u64 address;
	u64 size;
	u64 offset; /* in the file, where the probe goes */
	enum elf_source source;
	enum probe_class class;
	bool default_version; /* name@@version: what programs are linked with today */
	bool indirect;	      /* chosen among others when the program starts: no place to probe */
	bool fragment;	      /* the cold part of a function: jumped to, never called */
	bool skipped_endbr;   /* the probe is after endbr64, where it is twelve times cheaper */
};

/* What the tables say of the file as a whole. */
struct elfsyms {
	u64 functions;
	enum elf_source source; /* the best table */
	bool throws;		/* its code throws C++ exceptions */
};

/*
 * Visits each symbol of f that is a function, aliases included, once for each table that has
 * it. The texts live as long as the visit. Debug files are looked for below root, as files says
 * (elfdebug.h). A visitor's negative result ends the walk and is returned.
 */
int elfsym_each(const struct elffile *f, struct safe_files *files, int root, struct elfsyms *ret,
		int (*visit)(void *arg, const struct elfsym *sym, struct err *e), void *arg,
		struct err *e);

/* How the kernel executes the instruction at an offset of the file. */
enum probe_class elfsym_class(const struct elffile *f, u64 offset);

/* Returns of such a function do not come, or not to where it was called: they must not be probed.
 */
bool elfsym_never_returns(const char *name);

/* Edit distance of two names, at most limit. For the nearest names. */
int elfsym_distance(const char *a, const char *b, int limit);
