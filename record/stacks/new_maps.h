/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mappings of code that processes make while they are recorded, so that an address is not named
 * after the file that was there before. The kernel writes them into a ring for each CPU.
 */
#pragma once

#include "code_maps.h"

struct perf_event_mmap_page;

struct new_maps_ring {
	struct perf_event_mmap_page *control; /* the data follow, a page later */
	size_t page, size;		      /* bytes: of a page, of the data */
	int fd;
};

struct new_maps {
	struct new_maps_ring *list;
	int n;
	u32 unwatched; /* CPUs without a ring, of those that are online */
	u64 lost;      /* times that some may be lost */
};

/*
 * Before rights are given up. Without rights or memory there are no rings: then a change is seen
 * where an address has no mapping.
 */
void new_maps_open(struct new_maps *m);

/*
 * At ts, CLOCK_MONOTONIC; the fields that map has: start, end, offset, ino, dev, path. pid 0: until
 * then some may be lost, of any process.
 */
typedef void new_map_fn(void *arg, u64 ts, u32 pid, const struct code_map *map);

/* Calls took for each since the last call. */
void new_maps_read(struct new_maps *m, new_map_fn *took, void *arg);

void new_maps_close(struct new_maps *m);
