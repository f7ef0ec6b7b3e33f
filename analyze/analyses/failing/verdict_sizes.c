// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of one name that fail, all of them larger than any that does not: above a limit on their
 * size. Smaller ones may only not have been read to their end.
 */
#include "surely.h"
#include "verdict_failing.h"

static int put(struct analysis_ctx *c, const struct judged *j, s64 name, sqlite3_stmt *q,
	       const struct limits *l, struct err *e)
{
	double bad = sqlite3_column_double(q, 0), least = sqlite3_column_double(q, 1);
	double good = sqlite3_column_double(q, 2), most = sqlite3_column_double(q, 3);
	const struct value values[] = {
		VALUE_SUBJECT("name", request_name, name), VALUE_NUMBER("n", bad, ""),
		VALUE_NUMBER("least", least, "bytes"),	   VALUE_NUMBER("of", good, ""),
		VALUE_NUMBER("most", most, "bytes"),	   { 0 },
	};
	const struct finding f = { FINDING_failing_larger,  PROBLEM, OBSERVED,	j->about,
				   "SELECT * FROM request", values,  j->finding };

	if (bad < FAILED_LEAST || good < FAILED_LEAST || least < l->factor * most)
		return 0;
	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_sizes_say(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		      struct err *e)
{
	static const char sql[] =
		"SELECT count(*) FILTER (WHERE errors), min(recv_bytes) FILTER (WHERE errors), count(*) FILTER"
		" (WHERE NOT errors), max(recv_bytes) FILTER (WHERE NOT errors) FROM request WHERE name=?2 AND"
		" requests=1 AND NOT lossy AND service IN " SERVICES_OF;
	const struct verdict_errors *m = j->more.n > 0 && !j->more.refused ? &j->more : &j->always;
	sqlite3_stmt *q;
	int ret;

	if (m->name <= 0 || m->cut > 0)
		return 0;
	ret = db_query(&q, c->db, e, sql, "ii", j->about.id, m->name);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		ret = put(c, j, m->name, q, l, e);
	return db_end(q, ret);
}
