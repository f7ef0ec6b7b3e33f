/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of the requests of each name, and their rows. */
#pragma once

#include "analyze/base/idmap.h"
#include "analyze/replay/track.h"
#include "analyze/stats/hist.h"
#include "format/protocols.h"
#include "request.h"

/* Requests of a service with one name. */
struct name_stat {
	u32 service, name;
	u64 requests, exchanges, kernel, lossy, errors, sum, max, queued, served, cpu, wait, split;
	u64 recv_bytes, send_bytes, first, last;
	struct hist latency;
};

/* Requests of the name began. */
void name_stat_add(struct name_stat *s, u32 n, u64 ts);

/* The time of n of them, in an exchange with an answer. */
void name_stat_time(struct name_stat *s, const struct request *q, u64 arrival, u32 n);

/* The rows of all, by service and name. */
int name_stats_put(struct replay *r, const struct idmap *stats, struct err *e);

void name_stats_free(struct idmap *stats);
