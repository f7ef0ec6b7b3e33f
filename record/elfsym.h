/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of a binary that can be probed, by name: symbol tables read with libelf. */
#ifndef OBS_ELFSYM_H
#define OBS_ELFSYM_H

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

#define ELFSYM_MAX 16 /* different functions of one name */

struct elfsym {
	u64 address;	    /* of the symbol */
	u64 offset;	    /* in the file, where the probe goes */
	bool skipped_endbr; /* the probe goes behind endbr64, where it is twelve times cheaper */
};

/*
 * Finds the functions called name in the file at path: all different ones, since
 * static functions may share a name. Returns how many (1 to ELFSYM_MAX). ERR_FAIL
 * names the nearest names if there is none, and says why if it cannot be probed: no
 * ELF file, an indirect function, a Go binary (its stacks move, which return probes
 * do not survive).
 */
int elfsym_find(struct elfsym ret[ELFSYM_MAX], const char *path, const char *name, struct err *e);

/* Edit distance of two names, at most limit. For the nearest names. */
int elfsym_distance(const char *a, const char *b, int limit);

#endif
