/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times in which a server sent no answer although a request waited. Nothing is sorted and no
 * request is kept: answers fall into buckets of time, of which first and last answer and the first
 * arrival are known. A silence longer than a bucket lies between two buckets with answers. Two
 * passes over the requests, in any order; memory depends on buckets, not on requests.
 */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

#define SILENCE_LEAST 1000000 /* ns: shorter ones are dropped */

struct silence {
	s64 start, end;
	u32 server; /* slot */
	bool edge;  /* no answer came before it */

	s64 answered; /* the last answer before; 0: none */
	s64 newest;   /* the latest arrival among those answered before; -1: none */
	s64 piece;    /* silences_sent: where the part that is looked at begins */
	s64 best, best_end;
};

struct silences {
	struct silence *v; /* by server, then by time */
	size_t n;
	s64 width;     /* ns of a bucket */
	u32 n_buckets; /* of each server */
	struct bucket *buckets;
	u32 n_servers;
	u32 *first; /* of v, by server; n_servers + 1 of them */
};

int silences_begin(struct silences *s, u32 n_servers, s64 duration, struct err *e);

/* First pass: a request that arrived, and the end of its answer, ns. */
void silences_answer(struct silences *s, u32 server, s64 arrival, s64 end);

/* Between the passes. */
int silences_between(struct silences *s, struct err *e);

/*
 * Second pass. A request that was overtaken before (one that arrived later was answered before the
 * silence) does not make it: it waits for itself.
 */
void silences_arrival(struct silences *s, u32 server, s64 arrival, s64 end);

/* Then: times, rising for each server, in which bytes of answers left: they end a silence. */
void silences_sent(struct silences *s, u32 server, s64 from, s64 to);

/* Drops what was shorter than SILENCE_LEAST, and all but the `most` longest. */
void silences_end(struct silences *s, size_t most);

/* The first silence of the server that ends after ts; s->first[server + 1] is after its last. */
size_t silences_after(const struct silences *s, u32 server, s64 ts);

void silences_free(struct silences *s);
