/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many requests came at once, by the sizes of what turns receive? Where requests are pipelined
 * or multiplexed on a connection (HTTP/2, gRPC) and alike, these sizes are multiples of that of
 * one.
 */
#ifndef OBS_REQUEST_SIZE_H
#define OBS_REQUEST_SIZE_H

#include "format/event.h"

#include <stdbool.h>

#define REQUEST_SIZES \
	64 /* distinct sizes that are told apart; later ones are tested as they come */

struct request_count {
	u64 unit;     /* bytes of one request; 0: sizes do not tell, and the rest is 0 */
	u64 turns;    /* all that were noted */
	u64 fit;      /* turns whose size is a multiple */
	u64 several;  /* turns of more than one request */
	u64 requests; /* in all turns: what fits in, at least 1 */
	u64 least;    /* if each turn whose size is no multiple is one request */
};

/* Zero-initialised it is empty. */
struct request_size {
	struct {
		u64 bytes, turns;
	} sizes[REQUEST_SIZES];
	u32 n;			    /* distinct sizes */
	bool full;		    /* the unit is settled */
	struct request_count later; /* turns of sizes that had no more room */
};

void request_size_note(struct request_size *s, u64 bytes);

/*
 * A unit is told if at least three sizes are multiples of it, and more of the turns than chance
 * explains: the share that fits, less the 1 / unit by which any size does, is at least 0.6.
 */
struct request_count request_size_count(struct request_size *s);

#endif
