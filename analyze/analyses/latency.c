// SPDX-License-Identifier: GPL-2.0-or-later
/* Quantiles of the durations in table latency. */
#include "latency.h"

#include "analyze/stats/stats.h"

#include <math.h>
#include <stdlib.h>

int latency_of(sqlite3_stmt *s, const double *at, double *ret, int n, double max, struct err *e)
{
	struct bucket *buckets = NULL, *grown;
	size_t used = 0, cap = 0;
	int i, r;

	while ((r = db_step(s, e)) > 0) {
		if (used == cap) {
			cap = cap ? 2 * cap : 64;
			grown = realloc(buckets, cap * sizeof(*grown));
			if (!grown) {
				r = err_set(e, ERR_FAIL, "out of memory for a histogram");
				break;
			}
			buckets = grown;
		}
		buckets[used++] =
			(struct bucket){ sqlite3_column_double(s, 0), sqlite3_column_double(s, 1),
					 sqlite3_column_int64(s, 2) };
	}
	for (i = 0; i < n; i++)
		ret[i] = fmin(stats_quantile(buckets, used, at[i]), used ? max : NAN);
	sqlite3_finalize(s);
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
