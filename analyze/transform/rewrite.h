/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording written again block by block: what redact, migrate and merge share. Blocks keep
 * their place, their losses and their positions; a block that is damaged ends the work,
 * because a gap would not be visible later.
 */
#pragma once

#include "analyze/base/progress.h"
#include "filter.h"
#include "format/convert.h"
#include "format/recording.h"

/*
 * Called for each record in file order, with one appended to out that is laid out by the new
 * schema and may be changed, lengthened or taken off again; start is its offset.
 */
typedef int (*rewrite_record)(void *arg, const struct event_desc *ev, struct buf *out, size_t start,
			      struct err *e);
/* Called for each block before it is written: stream, positions and losses may be changed. */
typedef int (*rewrite_block)(void *arg, struct block_info *info, struct err *e);

struct rewrite {
	struct reader *reader;
	struct writer *writer;
	struct conversion conversion; /* from the reader's schema to the writer's */
	rewrite_record on_record;     /* NULL: records stay as they are */
	rewrite_block on_block;	      /* NULL: headers stay as they are */
	bool cpus_only;		      /* leave out the recorder's own stream */
	void *arg;
	struct progress *progress;
	u64 done, all; /* records; the caller sets all */
};

/* All data blocks in file order. */
int rewrite_blocks(struct rewrite *w, struct err *e);

/* Appends a block of the recorder with one fact: "key=value". */
int rewrite_info(struct writer *w, const struct schema *s, u64 ts, struct err *e, const char *fmt,
		 ...) __attribute__((format(printf, 5, 6)));
