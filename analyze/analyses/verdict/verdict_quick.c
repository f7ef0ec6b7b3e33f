// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that fail take less time than those of the same name that do not, and are fewer: they
 * are no level that the others are slower than. Those that fail take as long, or longer, after a
 * timeout: then they are as slow as the others.
 */
#include "verdict.h"

#include "analyze/base/limits.h"

static int add_name(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct judged *j = arg;

	return idmap_put(&j->quick, (u64)sqlite3_column_int64(q, 0) + 1, j, TASK_LIMIT, e);
}

int verdict_quick_read(struct analysis_ctx *c, struct judged *j, const struct limits *l,
		       struct err *e)
{
	static const char any[] =
		"SELECT EXISTS (SELECT 1 FROM request_error WHERE service IN (SELECT id FROM service WHERE"
		" server=?1))";
	static const char sql[] =
		"WITH x AS MATERIALIZED (SELECT coalesce(name, 0) AS name, errors > 0 AND errors >= requests AS"
		" failed, dur + queued AS took FROM request WHERE NOT lossy AND NOT paced AND service IN (SELECT id FROM service"
		" WHERE server=?1)) SELECT name FROM x GROUP BY name HAVING 2 * sum(failed) < count(*) AND ?2 * avg(took) FILTER (WHERE failed) <"
		" avg(took) FILTER (WHERE NOT failed)";
	s64 failed = 0;
	int ret = db_int(c->db, &failed, e, any, "i", j->about.id);

	return ret < 0 || !failed
		       ? ret
		       : db_each(c->db, e, add_name, j, sql, "id", j->about.id, l->factor);
}

bool verdict_is_quick(const struct judged *j, s64 name, s64 errors, s64 requests)
{
	return errors > 0 && errors >= requests && idmap_get(&j->quick, (u64)name + 1);
}
