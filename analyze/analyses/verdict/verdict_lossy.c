// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests during which events were lost are in no statistics: a lost answer makes one of two. One
 * event falsifies one request. Where more of them than events lost took longer than the limit of a
 * pause, some of them were slow, whatever the others were.
 */
#include "verdict.h"

int verdict_lossy(struct analysis_ctx *c, struct judged *j, const struct limits *l, struct err *e)
{
	static const char sql[] =
		"SELECT count(*), max(dur + queued), (SELECT total(n) FROM loss) FROM request WHERE lossy AND"
		" dur + queued > ?2 AND service IN (SELECT id FROM service WHERE server=?1) AND coalesce(name,"
		" 0) NOT IN (SELECT id FROM request_name WHERE awaits(protocol, name))";
	sqlite3_stmt *q;
	int ret;

	if (j->status != STATUS_NONE)
		return 0;
	ret = db_query(&q, c->db, e, sql, "id", j->about.id, l->pause);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_double(q, 0) > sqlite3_column_double(q, 2)) {
		j->unjudged = sqlite3_column_double(q, 0);
		j->unjudged_max = sqlite3_column_double(q, 1);
		j->status = STATUS_UNKNOWN;
		j->kind = VERDICT_loss;
	}
	return db_end(q, ret);
}
