/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording says of its host, its clocks and itself. */
#ifndef OBS_SESSION_H
#define OBS_SESSION_H

#include "options.h"
#include "probes.h"
#include "pump.h"

/* At the start: host, kernel, CPUs, command line, what is recorded, disks, probed functions. */
int session_begin(struct pump *p, const struct probes *probes, const struct options *o, int argc,
		  char **argv, struct err *e);

/* Every second: clocks, own cost. */
int session_tick(struct pump *p, struct err *e);

/* At the end: why it ended, what each program did. */
int session_end(struct pump *p, const struct probes *probes, const char *why, struct err *e);

#endif
