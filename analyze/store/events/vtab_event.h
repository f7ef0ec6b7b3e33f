/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a recording as SQLite tables, not copied: temp.event, and temp.event_<name> for
 * each event of the recording's schema. What a query asks of ts, cpu, event and tid decides
 * which blocks are read.
 */
#pragma once

#include "analyze/store/db.h"
#include "format/recording.h"

/* Stays the caller's, and must live as long as the connection. */
struct event_source {
	const struct reader *reader; /* set by the caller: it is not moved */
	u64 begin;		     /* the ts that is 0 */
	u64 scans;		     /* times that a table was gone through */
	u64 blocks;		     /* blocks decoded by them */
	u64 records;		     /* records looked at */
	u64 damaged;		     /* blocks that could not be decoded */
};

/* The ts that is 0 in all tables: when recording began, or the first event without that fact. */
int event_begin(u64 *begin, const struct reader *of, struct err *e);

int vtab_event_register(sqlite3 *db, struct event_source *source, struct err *e);
