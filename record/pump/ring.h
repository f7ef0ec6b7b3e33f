/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking records out of one CPU's ring. bpf/ring.bpf.h says how both kinds are filled. Positions
 * count bytes and only grow. They are what proves that nothing was lost between the kernel
 * and the file.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

#define RING_DATA  4096	       /* own kind: bytes before the records */
#define RING_SLACK EV_SIZE_MAX /* and after them, for the one that crosses the end */
#define RING_HEAD  8 /* stock kind: bytes before each record: length, with two flags on top */

struct ring {
	bool own;   /* the kind */
	int map_fd; /* stock kind; else -1 */
	u64 size;   /* bytes of data; a power of two */
	u64 *tail;  /* bytes taken; ours */
	const u64 *head;
	u8 *data;	/* stock kind: mapped twice in a row, so that no record breaks */
	u64 high_water; /* most bytes found in it */
};

/* A ring of the stock kind. Takes map_fd over. */
int ring_open_stock(struct ring *r, int map_fd, u64 size, struct err *e);

/* A ring of the own kind in memory that stays the caller's: ring_stretch(size) bytes. */
void ring_open_own(struct ring *r, void *stretch, u64 size);
size_t ring_stretch(u64 size);

void ring_close(struct ring *r);

/* Bytes that programs have reserved and we have not taken. */
u64 ring_fill(const struct ring *r);

/*
 * Moves whole committed records, in order, to to: at most max bytes of them, and not always
 * all that there are. Returns their bytes; 0: the first is not committed yet, or larger than max.
 */
size_t ring_take(struct ring *r, u8 *to, size_t max);

/*
 * Leaves of the taken bytes only the records, contiguous, in place. Returns the
 * bytes left.
 */
size_t ring_strip(const struct ring *r, u8 *taken, size_t len);
