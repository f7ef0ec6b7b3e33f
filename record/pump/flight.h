/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flight mode: the newest blocks, compressed, in bounded memory. A snapshot writes them as
 * a recording of its own. Blocks come from the compressor thread, snapshots are made by
 * another one; neither waits while the other works on a file.
 */
#pragma once

#include "counts.h"
#include "format/recording.h"

struct flight;

/* last: ns to keep, 0: no limit; bytes: of compressed blocks. n_cpus streams. */
struct flight *flight_new(u64 last, u64 bytes, int n_cpus, struct err *e);
void flight_free(struct flight *f);

/*
 * Keeps a block; info and records as for writer_append; counts: the CPU's at its end, NULL
 * for the recorder's stream. Older blocks are dropped as need be.
 */
int flight_append(struct flight *f, struct block_info *info, const struct cpu_counts *counts,
		  const void *records, size_t len, struct err *e);

/* The state of the host was recorded from ts on: the recorder's blocks since then are kept. */
void flight_state_since(struct flight *f, u64 ts);

/* The earliest ts of the first block kept; 0: none. */
u64 flight_begin(struct flight *f);

/* The earliest ts kept, also of the state that was recorded before; 0: none. */
u64 flight_earliest(struct flight *f);

/* Bytes taken in so far, and bytes kept now. */
u64 flight_bytes(struct flight *f);
u64 flight_kept(struct flight *f);

/*
 * Writes what is kept to fd as a whole recording. facts: records for the recorder's stream.
 * Counters as they were before the first block come first: what they say is the base.
 */
int flight_write(struct flight *f, int fd, const u8 uuid[16], const struct buf *facts,
		 u64 *ret_bytes, struct err *e);
