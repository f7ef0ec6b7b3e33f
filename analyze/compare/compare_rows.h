/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of table change while they are judged: one metric of one subject on both sides. */
#pragma once

#include "compare.h"

#define ROWS_MOST 400

struct side_of_row {
	double value, n, eff, exposure;
	double dispersion; /* of counted events */
	int units;
	struct estimate log;
	double wander, burst;
	double logs[COMPARE_SIDE_MOST];
};

struct row {
	const struct compared_subject *subject;
	enum compare_metric metric;
	double bound; /* slow episodes and pauses; NAN */
	int slow;     /* which of compare_slow_bounds */
	struct side_of_row of[2];
	struct contrast c;
	double p, mann_whitney;
	enum verdict verdict;
	bool gates;   /* counts for --fail-on */
	bool wanders; /* its level, by more than the windows scatter */
	char note[120];
};

struct rows {
	const struct sides *s;
	double threshold;
	bool single; /* one recording a side */
	struct row of[ROWS_MOST];
	size_t n;
};

/* Every metric that both sides have; what is rare, if it happened. */
void rows_collect(struct rows *r);

/* Independent events, and the time in them: zeros are values. Their rates are compared. */
bool rows_rare(enum compare_metric metric);
