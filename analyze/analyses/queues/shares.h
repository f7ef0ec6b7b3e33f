/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which share of the answers of each window of time is of one kind. */
#pragma once

#include "analyze/analyses/verdict/verdict.h"

struct shares {
	double width; /* ns of a window */
	int n;
	double all[WINDOWS], part[WINDOWS];
};

int shares_window(const struct shares *s, double at);
/* An answer; part: 1 if it is of that kind. */
void shares_add(struct shares *s, double at, double part);

/* The time range of a higher level, by step, with most of that kind; false: there is none. */
bool shares_range(const struct shares *s, double step, double ret[2]);

/* Adds windows next to these that have some as well. */
void shares_widen(const struct shares *s, int *first, int *last);
