/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays a recording: one pass over its records, in order of time, through the
 * trackers, whose spans and sums become the rows of a database.
 */
#pragma once

#include "analyze/store/db.h"
#include "format/recording.h"

struct load_options {
	u64 step; /* ns of one window of series; 0: the default, 1 s */
	u32 cpus; /* that may be used; 0: the default */
};

/* Fills all tables but metric and finding. db has been opened with create. o: or NULL. */
int load_recording(sqlite3 *db, struct reader *r, const struct load_options *o, struct err *e);
