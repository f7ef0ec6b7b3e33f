// SPDX-License-Identifier: GPL-2.0-or-later
/* At the limit of open files: which of them are most of what a process opened and did not close. */
#include "verdict_failing.h"

#include <math.h>
#include <string.h>

#define GROUP(role) (strcmp(group, role) == 0)

/* Those with an upstream, the clients', each file, and the rest by kind: what grew most. */
static const char sql[] =
	"WITH f AS MATERIALIZED (SELECT rowid AS id, kind, path, iif(role IN ('connected', 'accepted'),"
	" role, '') AS role, iif(role='connected', coalesce(nullif(remote, ''), path), '') AS remote,"
	" ts <= ?2 AND coalesce(end, ?2 + 1) > ?2 AS kept, ts <= 0 AND coalesce(end, 1) > 0 AS before"
	" FROM fd WHERE pid=?1 AND fd >= 0) SELECT role, max(id), iif(role='' AND kind='file', path, ''), kind,"
	" sum(kept), sum(before), (SELECT sum(kept) FROM f), (SELECT files_limit FROM process WHERE"
	" pid=?1 AND start <= ?2 ORDER BY start DESC LIMIT 1)"
	" FROM f GROUP BY 1, remote, 3, kind HAVING sum(kept) > 0 ORDER BY sum(kept) - sum(before) DESC, sum(kept) DESC LIMIT 1";

static int put(struct analysis_ctx *c, const struct judged *j, s64 pid, sqlite3_stmt *q,
	       struct err *e)
{
	const char *group = db_text(q, 0), *file = db_text(q, 2);
	double n = sqlite3_column_double(q, 4), all = sqlite3_column_double(q, 6);
	double limit = all > db_number(q, 7) ? NAN : db_number(q, 7);
	bool to = GROUP("connected"), from = GROUP("accepted"), path = !to && !from && *file;
	const struct value values[] = {
		VALUE_SUBJECT("process", process, pid),
		VALUE_NUMBER("all", all, ""),
		/* of the start: unless it was changed since */
		VALUE_NUMBER("limit", limit, ""),
		VALUE_NUMBER("upstreams", to ? n : NAN, ""),
		VALUE_MAYBE("upstream", upstream, to ? sqlite3_column_int64(q, 1) : 0),
		VALUE_NUMBER("clients", from ? n : NAN, ""),
		VALUE_NUMBER("same", path ? n : NAN, ""),
		VALUE_TEXT("file", path ? file : NULL),
		VALUE_NUMBER("others", to || from || path ? NAN : n, ""),
		VALUE_TEXT("kind", to || from || path ? NULL : db_text(q, 3)),
		VALUE_NUMBER("before", sqlite3_column_double(q, 5), ""),
		{ 0 },
	};
	const struct finding f = {
		FINDING_verdict_open_files, PROBLEM, OBSERVED,	 j->about,
		"SELECT * FROM fd",	    values,  j->finding,
	};

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int verdict_open_files_say(struct analysis_ctx *c, const struct judged *j, s64 pid, s64 ts,
			   struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, sql, "ii", pid, ts);

	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		ret = put(c, j, pid, q, e);
	return db_end(q, ret);
}
