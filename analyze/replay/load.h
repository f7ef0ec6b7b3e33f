/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays a recording: one pass over its records, in order of time, through the
 * trackers, whose spans and sums become the rows of a database.
 */
#ifndef OBS_LOAD_H
#define OBS_LOAD_H

#include "analyze/store/db.h"
#include "format/recording.h"

struct load_options {
	u64 step; /* ns of one window of series; 0: the default, 1 s */
};

/* Fills all tables but metric and finding. db has been opened with create. options: or NULL. */
int load_recording(sqlite3 *db, struct reader *r, struct err *e);
int load_recording_with(sqlite3 *db, struct reader *r, const struct load_options *o, struct err *e);

/*
 * For commands that take a recording or a database: opens the database that
 * path is, or loads the recording that path is into a private one.
 */
int load_any(sqlite3 **ret, const char *path, struct err *e);
int load_any_with(sqlite3 **ret, const char *path, const struct load_options *o, struct err *e);

#endif
