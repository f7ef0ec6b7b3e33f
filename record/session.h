/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording says of its host, its clocks and itself. */
#pragma once

#include "record/host/host.h"
#include "record/options/options.h"
#include "record/probes/probes.h"
#include "record/pump/pump.h"

/* At the start: host, command line, what is recorded, what could be, probed functions. */
int session_begin(struct pump *p, struct probes *probes, const struct targets *t, struct quotas *q,
		  int argc, char **argv, struct err *e);

/* Every second: clocks, own cost, what programs missed, throttling of cgroups. */
int session_tick(struct pump *p, struct probes *probes, const struct targets *t, struct quotas *q,
		 struct err *e);

/* At the end: what each program did, and why it ended; NULL: a snapshot has a reason of its own. */
int session_end(struct pump *p, struct probes *probes, const struct targets *t, struct quotas *q,
		const char *why, struct err *e);

struct ev_clock;
/* The clocks at one time: the others are read between two readings of MONOTONIC; the tightest pair
 * of several is kept. */
void session_clocks(struct ev_clock *ev);
