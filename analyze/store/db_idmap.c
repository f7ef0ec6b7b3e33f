// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/store/db_idmap.h"

#include "analyze/base/idmap.h"
#include "analyze/base/limits.h"

int db_idmap(void *arg, sqlite3_stmt *q, struct err *e)
{
	void *value =
		sqlite3_column_count(q) > 1 ? (void *)(intptr_t)sqlite3_column_int64(q, 1) : arg;

	return idmap_put(arg, (u64)sqlite3_column_int64(q, 0), value, TASK_LIMIT, e);
}
