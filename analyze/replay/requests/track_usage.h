/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trackers of what processes use: files, the page cache, io_uring, and of the processes' ends. */
#ifndef OBS_TRACK_USAGE_H
#define OBS_TRACK_USAGE_H

#include "analyze/replay/track.h"

/* What a process does with an inode: the first member of what is counted for the two. */
struct inode_use {
	u32 pid, dev;
	u64 ino;
};

/*
 * The entry of the pair, made of size zero bytes if need be. Beyond PAIR_LIMIT pairs all share
 * the entry of zeros. NULL: see e.
 */
void *inode_use_of(struct idmap *m, u32 pid, u32 dev, u64 ino, size_t size, struct err *e);
/* All entries by process, device and inode; *ret_n of them. The caller frees the array. */
struct inode_use **inode_uses_sorted(const struct idmap *m, size_t *ret_n, struct err *e);
void inode_uses_free(struct idmap *m);

/* track_files.c: files opened, changed, read and written */
int files_start(struct replay *r, struct err *e);
int files_on_open(struct replay *r, const struct record *rec, struct err *e);
int files_on_change(struct replay *r, const struct record *rec, struct err *e);
int files_on_syscall(struct replay *r, const struct record *rec, struct err *e);
/* A request that is no system call of its own read or wrote a file. */
int files_on_request(struct replay *r, u32 pid, u32 dev, u64 ino, bool write, s64 ret, u64 dur,
		     struct err *e);
int files_finish(struct replay *r, struct err *e);
void files_free(struct replay *r);

/* track_process.c: programs begun and processes ended */
int process_on_spawn(struct replay *r, const struct record *rec, struct err *e);
int process_on_ended(struct replay *r, const struct record *rec, struct err *e);

/* track_pagecache.c: pages looked up, added and taken out */
int pagecache_on_add(struct replay *r, const struct record *rec, struct err *e);
int pagecache_on_remove(struct replay *r, const struct record *rec, struct err *e);
int pagecache_on_get(struct replay *r, const struct record *rec, struct err *e);
int pagecache_finish(struct replay *r, struct err *e);
void pagecache_free(struct replay *r);

/* track_uring.c: requests through io_uring */
int uring_on_submit(struct replay *r, const struct record *rec, struct err *e);
int uring_on_complete(struct replay *r, const struct record *rec, struct err *e);
int uring_finish(struct replay *r, struct err *e);
void uring_free(struct replay *r);

#endif
