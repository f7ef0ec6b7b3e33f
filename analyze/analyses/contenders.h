/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that had the CPU while threads of a server waited for it: as much as before, or more? */
#pragma once

#include "analysis.h"
#include "format/buf.h"

/* Run-queue latency of a server's threads in a time range, ns. */
struct contended {
	double total;
	double usual; /* of it, as much as the same programs took in as much time before */
};

/* The program with most of the run-queue latency in all ranges. */
struct contender {
	struct buf name; /* empty: none, or it lived too shortly to have one */
	double in, out; /* what it took of the server's threads: % of the ranges, and of the rest */
};

/*
 * Fills ret of n time ranges, which rise and do not overlap. What a program took from the threads
 * per unit of time before a range, other ranges excluded, is usual for it; less than a sixteenth of
 * the recording, or no wait at all before the range: that after it. Programs without a name lived
 * too shortly to have one: they are one. With a CPU quota that stopped the server in the ranges
 * nothing is usual. first (or NULL): zero-initialised.
 */
int contenders_read(struct contended *ret, struct contender *first, struct analysis_ctx *c,
		    s64 server, const double (*range)[2], int n, struct err *e);
void contender_free(struct contender *c);
