/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of all CPUs, between the rings and the blocks. */
#pragma once

#include "format/buf.h"
#include "format/event.h"

/* Records of one CPU, oldest first. */
struct batch {
	struct buf *records;
	size_t seen; /* bytes that the filter need not see again */
};

/*
 * Changes records before they are packed: their number by group stays. It is given those of all
 * CPUs together, and leaves what is later than until: rings may have older ones of other CPUs.
 * What it leaves it is given again.
 */
typedef int (*pump_filter)(void *arg, struct batch *batches, int n, u64 until, struct err *e);
