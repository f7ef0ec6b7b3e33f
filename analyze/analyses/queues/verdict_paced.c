// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests that are not judged: their clients take the answer or send the rest slowly. */
#include "verdict_queues.h"

int verdict_paced(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT count(*), max(dur + queued), client FROM request WHERE NOT lossy AND paced AND service IN (SELECT id FROM service WHERE server=?1)";
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "i", j->about.id);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0 && sqlite3_column_int64(q, 0)) {
		const struct value values[] = {
			VALUE_NUMBER("n", sqlite3_column_double(q, 0), ""),
			VALUE_NUMBER("max", sqlite3_column_double(q, 1), "ns"),
			VALUE_MAYBE("client", client, sqlite3_column_int64(q, 2)),
			{ 0 },
		};
		const struct finding f = { FINDING_verdict_paced,
					   NOTE,
					   OBSERVED,
					   j->about,
					   "SELECT * FROM request WHERE paced",
					   values,
					   0 };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	return db_end(q, ret < 0 ? ret : 0);
}
