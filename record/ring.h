/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a BPF ring buffer: its pages are mapped here, the kernel writes records
 * with an 8-byte head each, and positions only grow. Positions are what proves that
 * nothing was lost between the kernel and the file.
 */
#ifndef OBS_RING_H
#define OBS_RING_H

#include "format/err.h"
#include "format/event.h"

#include <stddef.h>

#define RING_HEAD 8 /* bytes before each record: length, with two flags on top */

struct ring {
	int map_fd;
	u64 size; /* bytes of data; a power of two */
	u64 *consumer;
	const u64 *producer;
	const u8 *data; /* mapped twice in a row: a record never breaks */
	u64 high_water; /* most bytes found in it */
};

int ring_open(struct ring *r, int map_fd, u64 size, struct err *e);
void ring_close(struct ring *r);

/* Bytes that the kernel has reserved and we have not taken. */
u64 ring_fill(const struct ring *r);

/*
 * How many bytes from data on, up to limit, are whole committed records. heads are of
 * the form that the kernel writes. Pure: for tests, too.
 */
size_t ring_committed(const u8 *data, size_t limit);

/*
 * The span that can be taken now: its address, and its position in *ret_pos. At most max
 * bytes. 0 if there is none.
 */
size_t ring_span(struct ring *r, size_t max, const u8 **ret_data, u64 *ret_pos);

/* The span has been copied: gives its n bytes back to the kernel. */
void ring_release(struct ring *r, size_t n);

/*
 * Takes the heads off a copied span, in place: whole records stand one behind the
 * other afterwards. Returns the bytes left. Discarded records are dropped.
 */
size_t ring_strip(u8 *span, size_t len);

#endif
