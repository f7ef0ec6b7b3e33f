/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans of rings on their way to blocks, and queues of them. */
#pragma once

#include "counts.h"

#include <stdbool.h>

/* A span of one ring on its way to a block. */
struct chunk {
	struct chunk *next;
	u32 stream;
	struct buf data; /* records */
	size_t settled;	 /* bytes that the filter has seen */
	bool full;
	u64 pos_begin, pos_end; /* of its ring */
	u64 started;		/* when its first byte came */
	u64 cut;		/* when counts were taken */
	u64 barrier;		/* number of a flush; 0: it holds records */
	struct cpu_counts counts;
};

struct queue {
	struct chunk *first, *last;
};

/* NULL: out of memory. */
struct chunk *chunk_new(size_t cap);
void chunk_free(struct chunk *c);

void chunk_push(struct queue *q, struct chunk *c);
/* The first; NULL if there is none. */
struct chunk *chunk_pop(struct queue *q);
