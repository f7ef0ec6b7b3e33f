/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Levels of a series of windows of time, which are the units: neighbours wait for each other. An
 * interval counts windows by what they are worth, n / tau with tau from the correlation of
 * neighbours at lag 1.
 */
#pragma once

#include "verdict.h"

#define LEVELS_SHORTEST 3 /* windows */

struct levels {
	double x[WINDOWS];
	int window[WINDOWS];   /* of x: rising, not all have a value */
	double level[WINDOWS]; /* mean of its part */
	bool slow[WINDOWS];    /* high */
	bool neither[WINDOWS]; /* of a level between: on no side */
	int n;
	bool grows; /* high windows are a trend: each side has its own spread and correlation */
};

/* Parts of one level; those above the lowest long one by the step are high. */
void levels_find(struct levels *v, double step);

/*
 * The next way to split several levels: the lowest high ones, as of a slow start, are on no side.
 * Those that stay high are further above all others than these differ. false: there is none.
 */
bool levels_raise(struct levels *v);

/* High windows in time ranges at an edge of the traffic only: they are on no side. */
void levels_skip_edges(struct levels *v, const struct judged *j);

/* The first time range of high windows from window `from` on; false: there is none. */
bool levels_range(const struct levels *v, int from, int *ret_first, int *ret_last);

struct levels_side {
	double n, mean;
	double squares; /* of the differences from the mean, summed */
};

struct levels_side levels_side(const struct levels *v, bool slow);

/* How many windows one independent window stands for. */
double levels_tau(const struct levels *v, const struct levels_side *slow,
		  const struct levels_side *base);

#define LEVELS_ERROR 0.05 /* what an interval misses */
#define LEVELS_CHOSEN \
	0.0001 /* of a time range that was chosen for its level, of all possible ones */

/*
 * The interval of the difference of high windows from the others, which misses it with probability
 * `error`; false: fewer than `least`
 * high ones, or LEVELS_SHORTEST others, or none that is independent.
 */
bool levels_differ(const struct levels *v, double least, double error, double *ret_low,
		   double *ret_high);

/*
 * verdict_quota.c: after a change was found: takes windows off the slow side that were slow before
 * a CPU quota, which explains the rest, began to throttle.
 */
int verdict_quota_since(struct analysis_ctx *c, const struct judged *j, struct levels *v,
			const struct limits *l, bool *ret_later, struct err *e);

/*
 * verdict_load.c: fewer requests per second in the slow windows, and no more of them open at a
 * time; of those of a change that was found, also no more late ones per second.
 */
bool verdict_fewer_open(const struct judged *j, const struct levels *v);
int verdict_is_load(struct analysis_ctx *c, const struct judged *j, const struct levels *v,
		    const struct limits *l, bool *ret_load, struct err *e);

/*
 * verdict_grows.c: one or more requests wait to be read from ts on, or from before, until the last
 * one is, which waited for longer than all pauses that count: they do not explain it.
 */
bool verdict_outlasts(const struct judged *j, double ts);
/*
 * verdict_grows.c: the last high windows last until the end of the traffic, and one or more
 * requests wait to be read at all instants since then, the last one for longer than all pauses that
 * count: a queue that grows. Those windows only are high then. Returns the first window that was
 * high; or -1: not so.
 */
int verdict_grows(const struct judged *j, struct levels *v);

/* verdict_change.c: whether these sides are a change: fills j, else leaves it. by: of enum scaled.
 */
bool verdict_judge_sides(struct judged *j, struct levels *v, int by, const struct limits *l);
/* verdict_since.c: what explains a change begins at ts: slow windows before are on no side. */
bool verdict_start_at(struct judged *j, double ts, const struct limits *l);
