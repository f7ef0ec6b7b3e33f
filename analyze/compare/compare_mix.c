// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Another mix of requests: the rate of a name changed by another ratio than that of its service, as
 * their intervals show, and no name became slower or faster. What the service as a whole takes then
 * says nothing of any request.
 */
#include "compare_mix.h"

#include <stdio.h>

int compare_mix_say(sqlite3 *db, bool *ret_said, struct err *e)
{
	static const char sql[] =
		"SELECT r.comm, r.object, r.before, r.after, r.ratio, r.low, r.high,"
		" (SELECT count(*) FROM change q WHERE q.kind='request' AND q.comm=r.comm AND"
		" q.name='request p50' AND q.verdict='equivalent'),"
		" (SELECT count(*) FROM change q WHERE q.kind='request' AND q.comm=r.comm AND"
		" q.name='request p50') FROM change r JOIN change s ON s.kind='service' AND"
		" s.comm=r.comm AND s.name=r.name WHERE r.kind='request' AND"
		" r.name='requests per second' AND (r.low>s.high OR r.high<s.low) AND NOT EXISTS"
		" (SELECT 1 FROM change q WHERE q.kind='request' AND q.comm=r.comm AND q.unit='ns'"
		" AND q.verdict IN ('slower', 'faster')) ORDER BY abs(ln(r.ratio)) DESC, r.rowid"
		" LIMIT 1";
	char who[COMPARE_TEXT], name[COMPARE_TEXT];
	sqlite3_stmt *q;
	int ret = db_query(&q, db, e, sql, "");

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	*ret_said = ret > 0;
	if (ret > 0) {
		snprintf(who, sizeof(who), "%s", db_text(q, 0));
		snprintf(name, sizeof(name), "%s", db_text(q, 1));
		const struct value values[] = {
			VALUE_TEXT("subject", who),
			VALUE_TEXT("name", name),
			VALUE_NUMBER("before", sqlite3_column_double(q, 2), ""),
			VALUE_NUMBER("after", sqlite3_column_double(q, 3), ""),
			VALUE_INTERVAL("ratio", sqlite3_column_double(q, 4),
				       sqlite3_column_double(q, 5), sqlite3_column_double(q, 6),
				       "x"),
			VALUE_NUMBER("n", sqlite3_column_double(q, 7), ""),
			VALUE_NUMBER("all", sqlite3_column_double(q, 8), ""),
			{ 0 },
		};
		const struct finding f = { FINDING_compare_mix, NOTE, OBSERVED,
					   .sql = "SELECT * FROM change WHERE kind='request'",
					   .values = values };

		ret = finding_put(db, "compare", &f, NULL, e);
	}
	return db_end(q, ret);
}
