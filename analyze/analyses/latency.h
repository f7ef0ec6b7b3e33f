/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quantiles of the durations in table latency. */
#pragma once

#include "analyze/store/db.h"

/*
 * ret[i] becomes the at[i]-quantile, in ns, of the durations of (kind, subject, item); NAN
 * where there are none. No quantile is above max, the longest duration that is known exactly.
 */
int latency_quantiles(sqlite3 *db, const char *kind, s64 subject, s64 item, const double *at,
		      double *ret, int n, double max, struct err *e);

/* The same for a query of low, high and n, in the order of low, which is finalized. */
int latency_of(sqlite3_stmt *s, const double *at, double *ret, int n, double max, struct err *e);

/*
 * Adds the SQL function quantile(at, max, kind, subject, item) to a connection: NULL where there
 * are no durations.
 */
int latency_register(sqlite3 *db, struct err *e);
