/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends of connections to other servers, found by thread, or process, and time. */
#pragma once

#include "analyze/analyses/queues/fd_rows.h"

struct upstream_end {
	s64 of, ts;	 /* thread or process */
	s64 row, remote; /* of its struct fd_row */
};

struct upstream_ends {
	struct upstream_end *v;
	size_t n;
};

int upstream_ends_add(struct upstream_ends *x, s64 of, s64 ts, const struct fd_row *at,
		      struct err *e);
void upstream_ends_sort(struct upstream_ends *x);
/* Sorted: the last one from..to; NULL: none. */
const struct upstream_end *upstream_ends_last(const struct upstream_ends *x, s64 of, s64 from,
					      s64 to);
void upstream_ends_free(struct upstream_ends *x);
