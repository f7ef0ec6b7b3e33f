/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions for SQL: percentile(x, p), median(x), clock(ts), human(ns), state_id(name),
 * series_id(name). See obs-schema(5).
 */
#pragma once

#include "analyze/store/db.h"

/* Makes them known to a connection. Nothing in a database may depend on them. */
int sql_functions_register(sqlite3 *db, struct err *e);
