// SPDX-License-Identifier: GPL-2.0-or-later
#include "loss_times.h"

#include "analyze/store/db.h"
#include "format/grow.h"

#include <stdlib.h>

static int add(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct loss_times *x = arg;
	s64 end = sqlite3_column_int64(q, 1);

	if (GROW(x->v, x->n, "times of loss", e) < 0)
		return ERR_FAIL;
	if (x->n && x->v[x->n - 1].end > end)
		end = x->v[x->n - 1].end;
	x->v[x->n++] = (struct loss_time){ sqlite3_column_int64(q, 0), end };
	return 0;
}

int loss_times_read(struct loss_times *x, sqlite3 *db, struct err *e)
{
	static const char sql[] = "SELECT ts, ts + dur FROM loss WHERE n > 0 AND grp IN ('core',"
				  " 'syscalls') OR reason='gap' ORDER BY ts";

	return db_each(db, e, add, x, sql, "");
}

bool loss_times_touch(const struct loss_times *x, s64 from, s64 to)
{
	size_t low = 0, high = x->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (x->v[mid].ts <= to)
			low = mid + 1;
		else
			high = mid;
	}
	return low && x->v[low - 1].end >= from;
}

void loss_times_free(struct loss_times *x)
{
	free(x->v);
	*x = (struct loss_times){ 0 };
}
