/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Parquet file that is being written: parquet.c collects rows, parquet_page.c encodes them. */
#pragma once

#include "format/buf.h"
#include "parquet.h"

#include <zstd.h>

#define BOUND_MAX 64 /* bytes of text in statistics */

enum encoding { PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5 };

/* How a type of tables.def is written. */
struct kind {
	char type; /* first letter there */
	int physical;
	enum encoding encoding;
};

/* The least or the largest value, as statistics hold it. */
struct extreme {
	u32 n; /* bytes; 0: none */
	bool long_text;
	char bytes[BOUND_MAX];
};

struct column {
	const struct column_desc *desc;
	const struct kind *kind;
	struct buf values; /* 8 bytes of each row; of text its length */
	struct buf text;   /* each one with its length in 4 bytes before it */
	u32 nulls;
	struct extreme least, most;
};

/* A column of a row group that was written. */
struct chunk {
	u64 offset;
	u64 packed, raw; /* bytes, the header of the page included */
	u32 rows, nulls;
	struct extreme least, most;
};

struct parquet {
	int fd, n;
	struct column *columns;
	u32 rows; /* in the row group */
	u64 all_rows, offset;
	struct buf chunks; /* struct chunk, those of a row group follow each other */
	struct buf page, packed, head, out;
	ZSTD_CCtx *zstd;
};

/* The rows of a column as a page: its header in p->head, its compressed bytes in p->packed. */
int parquet_page(struct parquet *p, struct column *c, struct err *e);

/* The footer, into p->page. */
int parquet_footer(struct parquet *p, struct err *e);
