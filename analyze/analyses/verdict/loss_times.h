/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When system calls were lost. */
#pragma once

#include "format/err.h"
#include "format/event.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

struct loss_times {
	struct loss_time {
		s64 ts, end; /* end: the latest so far */
	} * v;
	size_t n;
};

/* Fills *x, zeroed. */
int loss_times_read(struct loss_times *x, sqlite3 *db, struct err *e);
/* Whether some may be of from..to. */
bool loss_times_touch(const struct loss_times *x, s64 from, s64 to);
void loss_times_free(struct loss_times *x);
