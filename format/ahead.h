/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that decodes the blocks that are needed next, while the others are read. What it makes
 * of a block, an error too, is what the reader would have made of it. Part of the reader.
 */
#pragma once

#include "catalog.h"

struct ahead;

/* How many CPUs this process may use: at most so many, or 0: at most CPUS_DEFAULT. */
#define CPUS_DEFAULT 4
u32 cpus_to_use(u32 most);

/*
 * Starts it for n blocks of the catalog, by number in the order in which they will be needed;
 * numbers becomes its own. NULL where it does not pay (few blocks) or cannot be started:
 * no error, since the reader can decode itself.
 */
struct ahead *ahead_start(int fd, const struct catalog *c, size_t *numbers, size_t n);

/*
 * The decoded block, in exchange for the buffer that records was: 0, or what block_decode returned.
 * 1: not done yet, and it will not be: the caller decodes it.
 */
int ahead_take(struct ahead *a, size_t number, struct buf *records, struct err *e);

/* Waits for the thread. */
void ahead_stop(struct ahead *a);
