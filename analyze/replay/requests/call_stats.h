/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of the calls of each probed function, and their rows. */
#pragma once

#include "analyze/base/idmap.h"
#include "analyze/replay/track.h"
#include "analyze/stats/hist.h"

/* What is wrong with a span that has a key, or with a text. */
enum span_defect {
	SPAN_REUSED,
	SPAN_NO_START,
	SPAN_NO_END,
	SPAN_FORGOTTEN,
	SPAN_NO_KEY,
	SPAN_NO_TEXT,
	SPAN_DEFECTS
};

struct call_stat {
	u32 site;
	bool entries_only; /* its returns are not recorded */
	u64 open, unmatched, abandoned, nested, oldest, reused, forgotten, keyless;
	u64 unreadable, cut;	  /* texts */
	u8 located[SPAN_DEFECTS]; /* rows of span_defect */
	u64 moved, moved_total;	  /* of n: spans that ended on another thread; their wall time */
	u64 n, excluded, recursive, total, exclusive, entries;
	bool split;
	bool no_service; /* calls are counted in histograms: they have no times of their own */
	u64 counted, timed, timed_total, timed_cpu, timed_longest;
	struct hist on_cpu; /* of counted calls */
	struct hist latency;
	u64 inner[N_STATES]; /* time of probed functions called from it */
	struct hist states[N_STATES];
};

/* The sums of a site, made if need be; NULL: see e. */
struct call_stat *call_stat_of(struct idmap *stats, u32 site, struct err *e);

/* The rows of all, by site. */
int call_stats_put(struct replay *r, const struct idmap *stats, struct err *e);

void call_stats_free(struct idmap *stats);
