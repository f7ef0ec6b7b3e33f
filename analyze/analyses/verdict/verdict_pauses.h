/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pauses of a server are a problem. */
#pragma once

#include "verdict.h"

/* verdict_rare_pauses.c: which are far longer than what their connections wait otherwise. */
int verdict_rare_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e);

/* verdict_arrivals.c: which pauses an arrival ended. */
int verdict_arrivals(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		     struct err *e);
/* verdict_pauses.c: which pauses count; counted, paused, waited, start and end of j. */
int verdict_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);
/*
 * The same with the short ones that are no SHORT_TIMES of p99 outside, in which several requests
 * waited and its thread did not run most of the time, if p99 with them is higher than without by
 * the limits: 1; 0: none counts.
 */
int verdict_held_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e);

/* verdict_by_name.c: marks those in which no request waited longer than its name does. 1: some. */
int verdict_by_name(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		    struct err *e);

/* verdict_busy.c: marks the pauses that count which are such waits as usual; sets j->busy if there
 * are some. */
int verdict_busy_pauses(struct analysis_ctx *c, struct judged *j, const struct limits *l,
			struct err *e);

/*
 * verdict_outside.c: fills p99_outside, of requests that no counted pause touches, and others. With
 * least, a share: also of those of which pauses are less. Long requests touch pauses by chance.
 */
int verdict_outside(struct analysis_ctx *c, struct judged *j, double least, struct err *e);
