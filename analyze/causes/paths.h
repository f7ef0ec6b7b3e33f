/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call path on which slow units spend more than baseline ones: the stacks of both as one tree
 * from the outermost function, followed down while one callee has half of all that was added. Where
 * none has it, and the calls of one function further down have it together, the path goes on there:
 * callstacks_gap stands between. Its share has an interval from a bootstrap of blocks of time.
 */
#pragma once

#include "analyze/store/stacks/calltree.h"
#include "sides.h"

struct path {
	u32 n;			   /* functions; 0: no path stands out */
	u32 codes[STACK_DEEP];	   /* innermost first */
	double shares[STACK_DEEP]; /* of each; 0: a gap */
	double share, low, high;   /* of the time added */
	double samples;		   /* slow ones on it */
};

/*
 * PATH_ADDED: only what slow units spend more than baseline ones counts, and the path's share of
 * the slow units' samples must be larger than of the baseline's. PATH_SLOW: the slow units' alone.
 * PATH_MOST: the same, and its interval is above half of it.
 */
enum path_of { PATH_ADDED, PATH_SLOW, PATH_MOST };

int paths_find(struct path *ret, const struct sides *s, const struct samples *d,
	       const struct callstacks *stacks, enum path_of of, struct err *e);
