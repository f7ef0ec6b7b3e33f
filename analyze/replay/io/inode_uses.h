/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts by process and inode, bounded. */
#pragma once

#include "analyze/base/idmap.h"
#include "format/err.h"
#include "format/event.h"

/* What a process does with an inode: the first member of what is counted for the two. */
struct inode_use {
	u32 pid, dev;
	u64 ino;
};

/* A number for the two; different pairs may have the same. */
u64 inode_hash(u32 pid, u32 dev, u64 ino);

/*
 * The entry of the pair, made of size zero bytes if need be. Beyond PAIR_LIMIT pairs all share
 * the entry of zeros. NULL: see e.
 */
void *inode_use_of(struct idmap *m, u32 pid, u32 dev, u64 ino, size_t size, struct err *e);
/* All entries by process, device and inode; *ret_n of them. The caller frees the array. */
struct inode_use **inode_uses_sorted(const struct idmap *m, size_t *ret_n, struct err *e);
void inode_uses_free(struct idmap *m);
