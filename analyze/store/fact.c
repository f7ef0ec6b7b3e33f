// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts of the recording in a database. */
#include "fact.h"

#include <stdio.h>

int fact_text(char *text, size_t size, sqlite3 *db, const char *key, struct err *e)
{
	sqlite3_stmt *s;
	int ret = db_query(&s, db, e, "SELECT value FROM recording WHERE key=?", "s", key);

	text[0] = '\0';
	if (ret < 0)
		return ret;
	ret = db_step(s, e);
	if (ret > 0 && sqlite3_column_text(s, 0))
		snprintf(text, size, "%s", db_text(s, 0));
	return db_end(s, ret);
}

int fact_number(s64 *ret, sqlite3 *db, const char *key, struct err *e)
{
	return db_int(db, ret, e, "SELECT value FROM recording WHERE key=?", "s", key);
}

int fact_whole(sqlite3 *db, struct err *e)
{
	s64 whole = 0;
	int ret = db_int(db, &whole, e,
			 "SELECT count(*) FROM recording WHERE (key='sound' AND value='1')"
			 " OR (key='damaged_blocks' AND value='0')",
			 "");

	return ret < 0 ? ret : whole == 2;
}

int coverage_verdict(char *text, size_t size, sqlite3 *db, struct err *e)
{
	s64 lossy = 0, cut = 0;
	int ret = db_int(db, &lossy, e,
			 "SELECT (SELECT count(*) FROM coverage WHERE verdict='LOSSY') + (SELECT"
			 " count(*) FROM compared WHERE lost > 0)",
			 "");

	if (ret == 0)
		ret = db_int(db, &cut, e,
			     "SELECT (SELECT count(*) FROM coverage WHERE verdict='TRUNCATED') +"
			     " (SELECT count(*) FROM compared WHERE NOT complete)",
			     "");
	snprintf(text, size, "%s", lossy ? "LOSSY" : cut ? "TRUNCATED" : "COMPLETE");
	return ret;
}
