/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many requests came at once, by the sizes of what turns receive? Where requests are pipelined
 * or multiplexed on a connection (HTTP/2, gRPC) and alike, these sizes are multiples of that of
 * one. Under load a connection is also read in the pieces in which the network brought it: then not
 * each turn but a few of them together are a multiple.
 */
#ifndef OBS_REQUEST_SIZE_H
#define OBS_REQUEST_SIZE_H

#include "format/event.h"

#define REQUEST_SIZE_BLOCK 4096 /* turns of a service among which a unit is looked for */

struct request_count {
	u64 unit;     /* bytes of one request; 0: sizes do not tell, and the rest is 0 */
	u64 turns;    /* all that were noted */
	u64 fit;      /* turns whose size is a multiple, alone or with those before them */
	u64 several;  /* turns of more than one request */
	u64 requests; /* in all turns */
	u64 least;    /* if each turn that does not fit is one request */
};

/* A connection: its turns since one that ended with a request. Zero-initialised it is new. */
struct request_stream {
	u32 id; /* 0: nothing was noted of it */
	u32 turns;
	u64 bytes, requests; /* received in these turns; counted for them */
};

/* Zero-initialised it is empty. */
struct request_size {
	struct request_turn *block; /* in which a unit is looked for; NULL: none is gathered */
	u32 n, room;
	u32 *kept; /* turns in blocks of all that share it: at most KEPT_TURNS; NULL: alone */
	u32 streams;
	u64 wait;			/* turns until the next block */
	u64 untold_turns, untold_bytes; /* before a unit was found */
	struct request_count count;	/* since then; unit 0: not yet */
};

/* A turn that received so many bytes ended. */
void request_size_note(struct request_size *s, struct request_stream *at, u64 bytes);

/*
 * A unit is told if it has 32 to 1199 bytes (larger ones are not told apart from pieces in which
 * networks and buffers bring large bodies), was seen alone, twice and more than twice at once, or
 * as the divisor of five sizes, if more of the turns fit than chance explains (Cohen's kappa 0.6 or
 * more), and if there are at most twice as many requests as at least.
 */
struct request_count request_size_count(struct request_size *s);
void request_size_free(struct request_size *s);

#endif
