/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of chunks: reading their blobs, and the virtual tables that show them to SQL. */
#pragma once

#include "column_chunk.h"

/* The chunks of one table. Blobs can be of another program: what they say is checked. */
struct chunk_file {
	sqlite3 *db;
	enum table_id table;
	s64 chunks; /* how many there are */
	s64 at;	    /* the one that is loaded; -1: none */
	sqlite3_blob *blob;
	struct chunk_head head;
	u8 *bytes;
	size_t size;
};

int chunk_table_register(sqlite3 *db, struct err *e);

int chunk_file_open(struct chunk_file *f, struct err *e);
void chunk_file_close(struct chunk_file *f);

int chunk_file_load(struct chunk_file *f, s64 chunk, struct err *e);

/* The rowid of a chunk in table column_chunk. */
static inline s64 chunk_key(enum table_id t, s64 chunk)
{
	return (s64)t << 40 | chunk;
}
