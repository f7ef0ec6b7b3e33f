/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef OBS_LATENCY_ROWS_H
#define OBS_LATENCY_ROWS_H

#include "analyze/stats/hist.h"
#include "track.h"

/* Writes a histogram's buckets as rows of table latency. */
int latency_rows(struct replay *r, const char *kind, u64 subject, u64 item, const struct hist *h,
		 struct err *e);

#endif
