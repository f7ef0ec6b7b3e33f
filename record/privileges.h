/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights: which ones recording needs, and giving back those that it needs no more. */
#ifndef OBS_PRIVILEGES_H
#define OBS_PRIVILEGES_H

#include "options.h"

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

/* Raises the limit of open files as far as allowed; ERR_ENV if it stays below need. */
int privileges_open_files(u32 need, struct err *e);

#endif
