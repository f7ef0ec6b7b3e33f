// SPDX-License-Identifier: GPL-2.0-or-later
/* Quantiles of the durations in table latency. */
#include "latency.h"

#include "analyze/stats/stats.h"
#include "format/grow.h"

#include <math.h>
#include <stdlib.h>

int latency_of(sqlite3_stmt *s, const double *at, double *ret, int n, double max, struct err *e)
{
	struct bucket *buckets = NULL;
	size_t used = 0;
	int i, r;

	while ((r = db_step(s, e)) > 0) {
		r = GROW(buckets, used, "a histogram", e);
		if (r < 0)
			break;
		buckets[used++] =
			(struct bucket){ sqlite3_column_double(s, 0), sqlite3_column_double(s, 1),
					 sqlite3_column_int64(s, 2) };
	}
	for (i = 0; i < n; i++)
		ret[i] = fmin(stats_quantile(buckets, used, at[i]), used ? max : NAN);
	db_done(s);
	free(buckets);
	return r < 0 ? r : 0;
}

int latency_quantiles(sqlite3 *db, const char *kind, s64 subject, s64 item, const double *at,
		      double *ret, int n, double max, struct err *e)
{
	sqlite3_stmt *s;
	int r = db_query(&s, db, e,
			 "SELECT low, high, n FROM latency WHERE kind=? AND subject=? AND item=? "
			 "ORDER BY low",
			 "sii", kind, subject, item);

	return r < 0 ? r : latency_of(s, at, ret, n, max, e);
}

static void sql_quantile(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	double at = sqlite3_value_double(argv[0]), v = NAN;
	bool limited = sqlite3_value_type(argv[1]) != SQLITE_NULL;
	const char *kind = (const char *)sqlite3_value_text(argv[2]);
	struct err e = { 0 };

	(void)argc;
	if (latency_quantiles(sqlite3_context_db_handle(c), kind, sqlite3_value_int64(argv[3]),
			      sqlite3_value_int64(argv[4]), &at, &v, 1,
			      limited ? sqlite3_value_double(argv[1]) : INFINITY, &e) < 0)
		sqlite3_result_error(c, e.text, -1);
	else if (!isnan(v))
		sqlite3_result_double(c, v);
}

int latency_register(sqlite3 *db, struct err *e)
{
	if (sqlite3_create_function(db, "quantile", 5, SQLITE_UTF8, NULL, sql_quantile, NULL,
				    NULL) != SQLITE_OK)
		return err_set(e, ERR_FAIL, "cannot add a function: %s", sqlite3_errmsg(db));
	return 0;
}
