/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export --around: a time range around something that the report names. */
#pragma once

#include "analyze/store/db.h"

/*
 * "cause1", "pause1" (their numbers in tables cause and pause), or an instant as --from takes it.
 * *from and *to: ns since the start, with 250 ms before and after.
 */
int around_find(s64 *from, s64 *to, sqlite3 *db, const char *what, struct err *e);
