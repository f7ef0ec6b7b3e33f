/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fds of a process are: a table of pages, since the kernel gives the lowest free number,
 * but dup2(2) any up to fs.nr_open. All maps of a recording share one limit of memory.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stddef.h>

struct fdmap {
	struct fd_pages {
		void ***pages; /* NULL: no fd in it was ever set */
		u32 n;	       /* of pages */
	} low, *high;	       /* high: of FDMAP_LOW fds each; NULL: none was ever set */
};

#define FDMAP_PAGE 64 /* fds; most processes have one page */
#define FDMAP_LOW  (1 << 18)

/* Zero-initialised a map is empty. The value of fd, or NULL. */
static inline void *fdmap_get(const struct fdmap *m, s64 fd)
{
	const struct fd_pages *p = &m->low;
	u32 i = fd % FDMAP_LOW / FDMAP_PAGE;

	if (fd < 0 || fd > INT32_MAX || (fd >= FDMAP_LOW && !m->high))
		return NULL;
	if (fd >= FDMAP_LOW)
		p = &m->high[fd / FDMAP_LOW];
	return i < p->n && p->pages[i] ? p->pages[i][fd % FDMAP_PAGE] : NULL;
}

/* Sets the value of fd (0 or above); NULL: takes it out. *memory: bytes of all maps so far. */
int fdmap_put(struct fdmap *m, s32 fd, void *value, u64 *memory, struct err *e);

/* The first value of *fd or above, which becomes its number; NULL: none. */
void *fdmap_next(const struct fdmap *m, s64 *fd);

/* Frees the map, not the values. */
void fdmap_free(struct fdmap *m, u64 *memory);
