/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slow units against baseline ones: which they are, and what they spend more time on. */
#pragma once

#include "analyze/causes/units/units.h"

#define LEAST_SHARE 0.2 /* of the added latency: less is no cause */

enum basis {
	BASIS_GIVEN,  /* --degraded against --baseline */
	BASIS_CHANGE, /* windows after a change of level against those before */
	BASIS_TAIL,   /* the slowest against the middle half */
	BASIS_ALL,    /* units are comparable: all their time */
	/* none, from here on */
	BASIS_FEW,     /* too few units in the slow time of the verdict, or outside */
	BASIS_SAME,    /* these take as long as the others */
	BASIS_NOTHING, /* too few units */
};

#define JUDGED_MAX 16

/* What the user names: ns since the start; to 0: not named. */
struct windows {
	struct moment baseline, degraded;
	struct moment judged[JUDGED_MAX]; /* slow time ranges of the verdict */
	int n_judged;
	bool tail;  /* there, more units are late: all others are usual */
	bool all;   /* all units, against nothing, unless degraded says otherwise */
	bool waits; /* of these, time on a CPU and queueing for other requests excluded */
};

struct excess {
	double slow, usual;		     /* mean ns of a unit */
	double value, low, high;	     /* slow - usual, with its 95 % interval */
	double share, share_low, share_high; /* of all the excess */
};

#define STRETCHES_MAX 3
#define WINDOWS_LEAST 10 /* windows of a part */

/* How windows of time, which are all as long, were found to be slow or usual. */
struct found_windows {
	struct moment slow[STRETCHES_MAX], usual[STRETCHES_MAX];
	int n_slow, n_usual;
	bool waits;   /* found by how long the thread is delayed; else by what there is more of */
	size_t n;     /* windows that could be used */
	double worth; /* of them, independent ones */
	/* change of its waits, share of time, that would be seen if half of them had it; or
	 * SHORTEST */
	double half, brief;
	s64 brief_ns;
};

struct comparison {
	enum basis basis;
	struct found_windows found; /* only UNIT_WINDOW, unless the user gave windows */
	double n_slow, n_usual;
	double slow, usual;		  /* mean wall time, ns */
	double slow_queued, usual_queued; /* of it, before the first receive */
	struct moment when; /* of the slow windows, the worst stretch; only BASIS_GIVEN and _CHANGE;
			       of _FEW and _SAME all */
	bool is_slow[UNIT_BLOCKS], is_usual[UNIT_BLOCKS];
	bool waits;    /* shares are of the waits */
	bool replaced; /* BASIS_CHANGE of what units wait for, without one of their latency */
	struct excess of[N_CATEGORIES];
};

/*
 * causes_windows.c: the change in what the windows of u are spent on, if there is one: marks slow
 * and usual ones. Found or not, c->found has it.
 */
bool causes_windows(const struct units *u, struct comparison *c);

/* A wait takes more time of a unit in the slow ones: shares rise also where others take less. */
bool causes_replaced(const struct units *u, const struct comparison *c);

/* Which units are slow, against which, and what they spend more time on. Excludes units that last
 * through all of it. */
void causes_compare(struct units *u, const struct windows *w, struct comparison *ret);
