/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks a recording has, found through its index or, when that is missing
 * or unsound, by walking the block headers. Part of the reader.
 */
#pragma once

#include "recording.h"

struct catalog {
	struct block_info *blocks; /* data blocks, in file order */
	u64 *offsets;		   /* of their zstd frames */
	size_t n;
};

/*
 * Reads file frame, schema and catalog of the file open as fd, which can seek, and fills
 * state. Errors as for reader_open.
 */
int catalog_read(struct catalog *c, struct schema **ret_schema, struct recording_state *state,
		 int fd, struct err *e);

/* The packed bytes of a block. ERR_DAMAGED if the file lacks them. */
int catalog_packed(const struct catalog *c, int fd, size_t number, struct buf *packed,
		   struct err *e);

void catalog_free(struct catalog *c);
