/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables that a command asks: of a database, or of a recording, which is loaded once and
 * then found again in the user's cache as long as recording and program stay the same.
 */
#pragma once

#include "analyze/base/progress.h"
#include "ask.h"
#include "format/recording.h"

/*
 * Opens what path is; a says what of a recording to load, and whether to use the cache. Small,
 * filtered and piped recordings are not kept, nor what was asked in a special way. *ret_answered:
 * the answers of all analyses are in it already, and it is read-only; else it is private, without
 * answers.
 */
int cache_open(sqlite3 **ret, bool *ret_answered, const char *path, const struct asked *a,
	       struct err *e);

/*
 * Loads what the filter leaves in, and what was asked, into db, which has been opened with create.
 */
int cache_load(sqlite3 *db, struct reader *r, const struct asked *a, struct progress *p,
	       struct err *e);
