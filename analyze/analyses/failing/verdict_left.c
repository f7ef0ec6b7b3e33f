// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict_left.h"

#include "analyze/store/db.h"

#include <string.h>

struct left {
	const struct judged *j;
	double *n;
};

static int take_left(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct left *x = arg;

	(void)e;
	x->n[verdict_window_at(x->j, sqlite3_column_double(q, 0))]++;
	return 0;
}

int verdict_left(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		 double *ret_n, struct err *e)
{
	static const char any[] =
		"SELECT EXISTS (SELECT 1 FROM request_error WHERE first_after NOT NULL)";
	static const char sql[] =
		"WITH " LEFT_WITH
		" SELECT ts FROM request_error WHERE ?2 AND service IN (SELECT id FROM service WHERE"
		" server=?1) AND " LEFT_ALONE;
	struct left x = { j, ret_n };
	s64 some = 0;
	int ret = db_int(c->db, &some, e, any, "");

	memset(ret_n, 0, WINDOWS * sizeof(*ret_n));
	if (ret < 0 || !some)
		return ret;
	return db_each(c->db, e, take_left, &x, sql, "iidd", j->about.id, some, l->latency,
		       l->factor);
}
