/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections to other servers that a server closes next to one of a client. */
#pragma once

#include "upstream_ends.h"

struct upstream_closes {
	const struct fd_rows *upstreams;
	struct upstream_ends ends; /* of processes that close so few that chance brings none near */
	s64 near;
	struct upstream_use *uses; /* by the index in upstreams */
	bool *taken;		   /* by the index in upstreams: next to one that is found */
};

/* Fills *x, zeroed; near, duration: ns. */
int upstream_closes_read(struct upstream_closes *x, sqlite3 *db, const struct fd_rows *upstreams,
			 s64 near, s64 duration, struct err *e);
/*
 * The one that was used last within a request of from..to, by its thread, and that its process
 * closed next to the client's, at closed; no other client's is next to it. NULL: none.
 */
const struct fd_row *upstream_closes_take(struct upstream_closes *x, s64 pid, s64 tid, s64 from,
					  s64 to, s64 closed);
void upstream_closes_free(struct upstream_closes *x);
