/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slow requests that no change made: a queue from before the recording, and queues by chance. */
#pragma once

#include "format/err.h"

#include <stdbool.h>

struct analysis_ctx;
struct judged;

struct verdict_chance {
	double backlog; /* requests that waited to be read when the recording started */
	double drained; /* ns: none waited any more; 0: not so, or it is no matter */
	/* ns: from then on one or more wait to be read until the last is, which waited so long */
	double full, last_wait;
	double used; /* %, of the time: the serving threads on a CPU; 0: no queue by chance */
};

/*
 * verdict_backlog.c: a queue that existed when the recording started and that drained at the usual
 * load: what is slow until then is due to the start of obsrec, or to something before. Fills
 * backlog and drained; and full and last_wait: a queue until the end.
 */
int verdict_backlog(struct analysis_ctx *c, struct judged *j, struct err *e);
int verdict_backlog_say(struct analysis_ctx *c, const struct judged *j, struct err *e);

/*
 * verdict_chance.c: whether requests wait in j->range for those before them, with no more load in
 * it than by chance. True: fills used.
 */
int verdict_chance(struct analysis_ctx *c, struct judged *j, bool *ret_chance, struct err *e);
/* If there is no other problem: how much of a CPU it uses. */
void verdict_chance_take(struct judged *j);
