/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks of files as calls tell of them, and as the kernel lists them (track_lock_list.c). */
#pragma once

#include "descriptors.h"

/* Of an owner: a lock of the open file. */
#define OPEN_FILE(fd) ((u64)((u32)(fd) + 1) << 32)

/* Bytes that are locked; to is not one of them. */
struct locked {
	u64 owner; /* process, with OPEN_FILE for locks of open files and flock */
	s64 from, to;
	u64 since; /* begin of the recording: before; 0: not known */
	u64 till;  /* unlocked; 0: not yet */
	u32 tid;
	bool write;
};

/* A call that wants a lock, of which no holder is known. */
struct wanting {
	struct locked at;
	u64 ino;
	u32 dev;
	s32 fd;
	u64 entry, dur;
	bool failed, waits; /* waits: until the recording ends */
};

static inline bool locked_overlap(const struct locked *a, const struct locked *b)
{
	return a->from < b->to && b->from < a->to;
}

static inline bool locked_conflict(const struct locked *a, const struct locked *b)
{
	return (u32)a->owner != (u32)b->owner && (a->write || b->write) && locked_overlap(a, b);
}

/* A row of file_lock_holder. */
void file_lock_put(struct replay *r, const struct wanting *w, const struct locked *holder);

/* A call of which no holder is known: the list at the end may have it. */
int lock_list_want(struct replay *r, const struct wanting *w, struct err *e);

/* A call in which the thread still waits when the recording ends. */
int lock_list_waits(struct replay *r, const struct record *rec, const struct process *p,
		    const struct call_view *v, struct err *e);

/* A lock of the list, as calls have it. false: it is of flock(2), and its descriptor is not known.
 */
bool lock_list_locked(struct replay *r, const struct process *p, const struct ev_file_lock *ev,
		      struct locked *ret);

/* One of a process that is not recorded, in a list before the last. */
int lock_list_first(struct replay *r, const struct ev_file_lock *ev, u64 ts, struct err *e);

/* A recorded process got these bytes: no other had them then. */
void lock_list_got(struct replay *r, u32 dev, u64 ino, const struct locked *at, u64 ts);

/* A line of the list at the end. since: when its holder got the bytes, 0: not known. */
int lock_list_last(struct replay *r, const struct ev_file_lock *ev, u64 since, struct err *e);
