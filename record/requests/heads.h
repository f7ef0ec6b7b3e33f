/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of requests: takes the raw bytes out of the records on their way to the file and puts heads
 * and answers into their place, one for one, so that what was emitted is what is found.
 */
#pragma once

#include "batch.h"
#include "connections.h"
#include "request_names.h"

#define HEADS_BYTES_MAX 256 /* --heads */
#define HEADS_STREAMS	4096

struct heads;

struct heads_config {
	u32 bytes;			 /* of each receive that are kept; 0: none */
	volatile u32 *hints;		 /* by number modulo HINTS: hint_word; NULL: not asked */
	volatile u32 *pipelined;	 /* the same: hint_word of PIPELINED; NULL: not asked */
	volatile u32 *any_pipelined;	 /* 1 if there is one */
	struct connections *connections; /* is given all records; NULL: none */
	u32 streams;			 /* connections whose state is kept; 0: HEADS_STREAMS */
};

int heads_new(struct heads **ret, const struct heads_config *c, struct err *e);
void heads_free(struct heads *h);

/*
 * A pump_filter: replaces raw records in order of time, and appends names that are new. From one
 * thread only.
 */
int heads_filter(void *heads, struct batch *batches, int n, u64 until, struct err *e);

/* Appends the records of the names from this id on; returns the next id, or an error. */
int heads_add_names(struct heads *h, u32 from, u64 ts, struct buf *records, struct err *e);
