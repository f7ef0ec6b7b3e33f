/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the analysis verdict share: one server, its numbers, and what they mean. */
#ifndef OBS_ANALYSIS_VERDICT_H
#define OBS_ANALYSIS_VERDICT_H

#include "analysis.h"
#include "analyze/stats/hist.h"

/* What counts: facts limit_pause_ns, limit_latency_ns and limit_factor of the recording replace
 * them. */
#define LIMIT_PAUSE   100e6 /* ns: pauses as long as this */
#define LIMIT_LATENCY 1e6   /* ns: requests slower by this */
#define LIMIT_FACTOR  1.5   /* and by this factor; a pause, than p99 outside pauses */
/* Shorter pauses count together. */
#define SHORT_PAUSE 10e6 /* ns, each */
#define SHORT_TIMES 20	 /* times p99 outside pauses, each */
#define SHORT_SHARE 0.01 /* of the time, all of them */
/* Not judged. */
#define REQUESTS_LEAST 100
#define LOST_MOST      0.05  /* share of the system calls */
#define EDGE_LEAST     1e9   /* ns: a pause before the first answer, while the recorder starts */
#define START_NS       0.5e9 /* ns: slower only before: the recorder starts */
/* A process without requests: its busiest thread waits for a CPU or a disk. */
#define STANDSTILL 1e9

#define JUDGED_PAUSES 1000
#define WINDOWS	      256
#define WINDOW_LEAST  50000000 /* ns */

struct limits {
	double pause, latency, factor;
};

enum verdict_status { STATUS_PROBLEM, STATUS_UNKNOWN, STATUS_NONE };

struct judged_pause {
	s64 id, start, end, waiting, max_wait;
	double slept; /* share in poll or on a socket: waiting for input */
	bool counts;
};

/* Latency of the requests that ended in one window of time, pauses excluded. */
struct verdict_window {
	double n, logs, sum;
};

struct judged {
	struct subject about;
	enum verdict_status status;
	const char *kind;
	double requests, rate, p50, p99, p99_outside, max, idle, queued, served;
	double start, end; /* NAN: none */
	struct judged_pause *pauses;
	int n_pauses, counted;
	double paused, pause_max, waited;
	double slow, baseline, ratio, ratio_low, ratio_high, n; /* slow NAN: no change */
	struct hist all, outside;
	struct verdict_window windows[WINDOWS];
	int n_windows;
	double width; /* ns of a window */
	s64 finding;
};

/* verdict_read.c: everything up to the numbers. */
int verdict_read(struct analysis_ctx *c, struct judged *j, struct err *e);
/* The q-quantile of a histogram, ns; NAN: empty. */
double verdict_quantile(const struct hist *h, double q);

/* verdict_change.c: whether latency changed its level; fills slow, baseline, ratio, start, end. */
int verdict_change(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e);

/* verdict_say.c: the findings: what it is, and why. */
int verdict_say(struct analysis_ctx *c, struct judged *j, struct err *e);

#endif
