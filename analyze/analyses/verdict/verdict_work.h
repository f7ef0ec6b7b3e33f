/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load of a server in some windows of time, next to that in the others. */
#pragma once

#include "verdict_levels.h"

struct work_side {
	double time, arrived, answered;
	double run, runq;      /* ns, of the serving threads */
	double queued, waited; /* ns, of what was answered: before the read; in all */
};

struct work {
	double threads; /* of each process the one that ran most */
	double run[WINDOWS], runq[WINDOWS];
	struct work_side in, out;
};

/* Fills run and runq. */
int work_read(struct work *l, struct analysis_ctx *c, const struct judged *j, struct err *e);

/* Fills in and out: windows that are slow, and all others but those of neither side. */
void work_divide(struct work *l, const struct judged *j, const struct levels *v);

/*
 * CPU time, ns, by which what arrives in as long a time differs by chance from that outside: three
 * standard deviations of a Poisson process.
 */
double work_by_chance(const struct work *l);

/*
 * No room: the serving threads are idle for 8 % of it or less, and serve requests for most of it:
 * one that spins is never idle. In the windows at its edges a queue may just begin, or end: they
 * count only if there are no others.
 */
bool work_is_full(const struct work *l, const struct judged *j, const struct levels *v);

/*
 * As many arrive in it as outside, each takes as long and as much CPU time, and other programs take
 * no more of it, but for chance and what is spare, ns. early: of the arrivals, those before the
 * recording.
 */
bool work_is_usual(const struct work *l, double early, double spare);
