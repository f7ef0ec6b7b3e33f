// SPDX-License-Identifier: GPL-2.0-or-later
/* A pause that lasts until the recording ends: which names have no answer, and since when. */
#include "verdict_pauses.h"

#include "analyze/store/request_rows.h"
#include "verdict_names.h"

int verdict_oldest(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"SELECT u.name, min(u.ts), count(*) FROM unanswered u WHERE " ANSWER_DUE
		" AND u.ts > 0 AND u.name NOT NULL AND u.name NOT IN (SELECT id FROM request_name WHERE"
		" awaits(protocol, name)) AND u.service IN (SELECT id FROM service WHERE server=?1) GROUP BY u.name"
		" ORDER BY min(u.ts) LIMIT 2";
	const struct judged_pause *last = j->whole ? &j->pauses[j->whole - 1] : NULL;
	double ts[2] = { NAN, NAN }, n[2] = { NAN, NAN };
	s64 name[2] = { 0 };
	sqlite3_stmt *q;
	int i, ret;

	if (!last || !last->counts || last->end < c->duration)
		return 0;
	ret = db_query(&q, c->db, e, sql, "i", j->about.id);
	if (ret < 0)
		return ret;
	for (i = 0; i < 2 && (ret = db_step(q, e)) > 0; i++) {
		name[i] = sqlite3_column_int64(q, 0);
		ts[i] = sqlite3_column_double(q, 1);
		n[i] = sqlite3_column_double(q, 2);
	}
	ret = db_end(q, ret);
	const struct value values[] = {
		VALUE_SUBJECT("name", request_name, name[0]),
		VALUE_NUMBER("since", ts[0], "at"),
		VALUE_NUMBER("n", n[0], ""),
		VALUE_MAYBE("second", request_name, name[1]),
		VALUE_NUMBER("second_since", ts[1], "at"),
		VALUE_NUMBER("second_n", n[1], ""),
		{ 0 },
	};
	const struct finding f = {
		.kind = FINDING_verdict_oldest,
		.severity = WARNING,
		.evidence = OBSERVED,
		.about = j->about,
		.sql = "SELECT name, min(ts), count(*) FROM unanswered GROUP BY name",
		.values = values
	};

	return ret < 0 || !name[0] ? ret : finding_put(c->db, c->analysis->name, &f, NULL, e);
}
