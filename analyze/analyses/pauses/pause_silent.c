// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pause until the recording ends that nothing else explains, as where threads of a runtime serve
 * any request: other servers that had answered before, and nothing since it began, to what was
 * asked for most of it, and for longer than any of their answers took. Of connections with other
 * servers, as replicas have them, it is not recorded which request waits for which.
 */
#include "pause_root.h"

#include "analyze/store/db.h"

#define NAMED 2

struct silent {
	struct buf address[NAMED];
	double servers, n, first, last;
};

static int add(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct silent *s = arg;
	int at = (int)s->servers++;

	s->n += sqlite3_column_double(q, 1);
	s->first = at ? fmin(s->first, sqlite3_column_double(q, 2)) : sqlite3_column_double(q, 2);
	s->last = fmax(s->last, sqlite3_column_double(q, 3));
	return at < NAMED ? buf_printf(&s->address[at], e, "%s", db_text(q, 0)) : 0;
}

static int put(struct analysis_ctx *c, const struct judged *j, const struct silent *s,
	       struct err *e)
{
	const struct value values[] = {
		VALUE_NUMBER("n", s->n, ""),
		VALUE_TEXT("address", s->address[0].data),
		VALUE_TEXT("second", s->servers > 1 ? s->address[1].data : NULL),
		VALUE_NUMBER("others", s->servers > NAMED ? s->servers - NAMED : NAN, ""),
		VALUE_NUMBER("first", s->first, "at"),
		VALUE_NUMBER("last", s->last, "at"),
		{ 0 },
	};
	const struct finding f = { FINDING_pause_silent,
				   PROBLEM,
				   OVERLAP,
				   j->about,
				   "SELECT * FROM upstream_unanswered",
				   values,
				   j->finding };

	return finding_put(c->db, c->analysis->name, &f, NULL, e);
}

int pause_silent_put(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	static const char sql[] =
		"WITH p AS MATERIALIZED (SELECT pid FROM service WHERE server=?1), f AS MATERIALIZED (SELECT * FROM fd WHERE"
		" role='connected' AND remote<>'' AND pid IN (SELECT pid FROM p)), b AS MATERIALIZED (SELECT"
		" f.remote, max(u.ts + u.dur) AS last, max(u.dur) AS longest FROM upstream u JOIN f ON f.pid=u.pid AND"
		" f.fd=u.fd AND f.ts <= u.ts AND coalesce(f.end, u.ts) >= u.ts GROUP BY 1) SELECT f.remote, count(*),"
		" min(u.ts), b.last, max(min(coalesce(f.end, ?3), ?3) - max(u.ts, ?2)) AS ns FROM upstream_unanswered"
		" u JOIN f ON f.pid=u.pid AND f.fd=u.fd AND f.ts <= u.ts AND coalesce(f.end, u.ts) >= u.ts JOIN b ON"
		" b.remote=f.remote WHERE NOT u.datagram AND u.ts < ?3 AND u.ts >= b.last AND b.last <= ?2 GROUP BY"
		" f.remote HAVING 2 * ns > ?3 - ?2 AND ns > max(b.longest) ORDER BY 3, 1";
	const struct judged_pause *p = judged_longest(j);
	struct silent s = { .n = 0 };
	s64 said = 0;
	int i, ret;

	if (!p || p->end < c->duration || j->about.kind != SUBJECT_server)
		return 0;
	ret = db_int(c->db, &said, e, "SELECT count(*) FROM finding WHERE parent=?1 AND parent > 0",
		     "i", j->finding);
	if (ret == 0 && !said)
		ret = db_each(c->db, e, add, &s, sql, "iii", j->about.id, p->start, p->end);
	if (ret == 0 && s.servers > 0)
		ret = put(c, j, &s, e);
	for (i = 0; i < NAMED; i++)
		buf_free(&s.address[i]);
	return ret;
}
