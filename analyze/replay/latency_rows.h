/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "analyze/stats/hist.h"
#include "track.h"

/* Writes a histogram's buckets as rows of table latency. */
int latency_rows(struct replay *r, const char *kind, u64 subject, u64 item, const struct hist *h,
		 struct err *e);
