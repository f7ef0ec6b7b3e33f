// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_left.h"

#include "analyze/store/db.h"

int verdict_left(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		 double from, double to, double *ret_n, struct err *e)
{
	static const char sql[] =
		"WITH " LEFT_WITH
		" SELECT count(*) FROM request_error WHERE service IN (SELECT id FROM service WHERE"
		" server=?1) AND ts >= ?2 AND ts < ?5 AND " LEFT_ALONE;
	sqlite3_stmt *q;
	int ret =
		db_query(&q, c->db, e, sql, "idddd", j->about.id, from, l->latency, l->factor, to);

	*ret_n = 0;
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		*ret_n = sqlite3_column_double(q, 0);
	return db_end(q, ret);
}
