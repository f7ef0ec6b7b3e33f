/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights: which ones recording needs, and giving back those that it needs no more. */
#pragma once

#include "record/options/options.h"

/* ERR_ENV names what is missing, before the kernel says only "not permitted". */
int privileges_check(const struct options *o, struct err *e);

/* What is missing for a complete recording, as a sentence; empty: nothing. */
void privileges_missing(char *text, size_t size);

/*
 * Once everything is attached: gives up, for good, all capabilities but those that reading
 * /proc of other users takes, and what the options still need. Before threads are started,
 * since each thread has its own.
 */
int privileges_drop(const struct options *o, struct err *e);

/*
 * Raises the limit of open files as far as allowed. ERR_ENV if it stays below `files`, or if the
 * limit of the stack is too small for our threads.
 */
int privileges_limits(u32 files, struct err *e);
