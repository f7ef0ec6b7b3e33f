/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends of connections to other servers, found by thread, or process, and time. */
#pragma once

#include "fd_rows.h"

struct upstream_end {
	s64 of, ts; /* thread or process */
	const struct fd_row *at;
};

struct upstream_ends {
	struct upstream_end *v;
	size_t n;
};

int upstream_ends_add(struct upstream_ends *x, s64 of, s64 ts, const struct fd_row *at,
		      struct err *e);
void upstream_ends_sort(struct upstream_ends *x);
/* Sorted: the number of those before the first that is later, or of a later thread or process. */
size_t upstream_ends_until(const struct upstream_ends *x, s64 of, s64 to);
/* Sorted: the last one from..to; NULL: none. */
const struct upstream_end *upstream_ends_last(const struct upstream_ends *x, s64 of, s64 from,
					      s64 to);
void upstream_ends_free(struct upstream_ends *x);
