/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Positions in files: what the tracker keeps of files, of their users and of open files. */
#pragma once

#include "inode_uses.h"

#include "analyze/replay/track.h"

#define POSITION_LIMIT                                                            \
	(INT64_MAX / 4) /* positions and sizes are below; others are not recorded \
			 */

/* Accesses of one direction through one open file. */
struct flow {
	u64 n;		    /* that moved bytes */
	u64 first, end, ts; /* of the last one: its position, the end of its bytes, its time */
	s64 step;	    /* from the one before it */
	u64 cuts;	    /* of the file, until then */
	bool seen, jumped;  /* jumped: one did not start where the one before it ended */
};

/* What an fd entry keeps; a copy of the fd starts again. */
struct flows {
	u32 inode;
	struct flow reads, writes;
};

struct pattern {
	u64 n, bytes, sequential, strided, random;
};

/* A file: dev, ino and generation (in place of the pid). */
struct inode_seen {
	struct inode_use of;
	u32 id, path, writer; /* path: file_path.id; writer: process that wrote it first */
	u64 size, peak;	      /* last and largest size */
	bool sized;	      /* size is known */
	struct sample {
		u64 ts;
		u32 tid;
	} first, last; /* records with this size, since it was another */
	struct cut {
		u64 n, ts, from, to; /* n: of all */
		u32 pid;	     /* 0: not known */
	} cut;			     /* the last time that it became smaller */
};

/* What a process did with a file. */
struct access {
	struct inode_use of; /* pid and the id of the file, in place of dev */
	struct pattern reads, writes;
	u64 at_end, past_end, appends, append_bytes, overwrites, overwrite_bytes, holes, unknown;
	struct gap *gap; /* the open one */
};

/* A row of file_gap. */
struct gap {
	const char *how;
	u64 ts, since, end, pos, base, size, top, unread, reads;
	u32 pid, tid, inode, changer;
	s32 fd;
	struct gap *next;
};

struct offsets {
	struct idmap inodes, accesses;
	struct idmap by_ino; /* device and inode -> struct inode_seen that was used last */
	struct idmap last;   /* process and path -> struct last_read */
	struct gap *gaps, **tail;
	u32 n_inodes, n_gaps;
};

/* An access to a file, checked. */
struct io {
	u64 ts, pos, size;
	u32 tid, pid, bytes;
	s32 fd;
	u8 flags; /* FILE_IO_* */
};

/*
 * Before flow and file take it over: notes content that a reader passes, or zeros that a writer
 * makes, because the file was truncated or replaced below the position of the open file.
 */
void gaps_check(struct offsets *o, const struct inode_seen *file, struct access *a,
		const struct flow *f, const struct io *io);
/* Remembers how far the process has read what had this path, for files that replace it. */
int gaps_read(struct offsets *o, const struct inode_seen *file, const struct io *io, struct err *e);
void gaps_free(struct offsets *o);
