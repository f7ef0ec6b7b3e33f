/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that had the CPU while threads of a server waited for it: there all along, or new? */
#pragma once

#include "analyze/analyses/analysis.h"

/* Run-queue latency of a server's threads in a time range, ns. */
struct contended {
	double total;
	double usual; /* of it, for programs that had the CPU before as well */
};

/*
 * Fills ret of n time ranges, which rise and do not overlap. A program is usual for a range if the
 * server waited for it in half of the parts of the recording before the range in which it waited at
 * all, other ranges excluded; without such a part, in half of those after it. Programs without a
 * name lived too shortly to have one: they are one. With a CPU quota that stopped the server in the
 * ranges nothing is usual; nor is a thread of real-time priority that kept the CPU for a whole
 * pause (ns, the shortest that counts): the scheduler shares no CPU with it.
 */
int contenders_read(struct contended *ret, struct analysis_ctx *c, s64 server,
		    const double (*range)[2], int n, double pause, struct err *e);

/* The program with most of the run-queue latency in a time range; "": none with a name. */
int contenders_first(struct buf *out, struct analysis_ctx *c, s64 server, const double range[2],
		     struct err *e);
