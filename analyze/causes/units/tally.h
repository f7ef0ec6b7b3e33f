/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums by a number. */
#pragma once

#include "analyze/base/idmap.h"

/* Zero-initialised a tally is empty. What there is no memory for is only in total. */
struct tally {
	struct tally_row {
		s64 key;
		double sum;
		double n; /* times added */
	} * of;
	struct idmap places; /* key -> place + 1, until tally_sort */
	size_t n;
	double total;
};

void tally_add(struct tally *t, s64 key, double sum);

/* Largest first; nothing may be added afterwards. */
void tally_sort(struct tally *t);

void tally_free(struct tally *t);
