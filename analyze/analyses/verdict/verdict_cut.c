// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers that end early, as of a proxy whose upstream closes its connection: they are shorter, by
 * the factor of the limits, than all answers of their name after which the connection was kept, and
 * the server closes the connection right after them. It has read nothing from it in between: the
 * client did not end it first; nor did the end of a process, or a timeout of an idle connection.
 * They report no error, and take less time than complete ones.
 */
#include "verdict_name_fails.h"

static int take_cut(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct verdict_errors *m = arg;

	(void)e;
	m->name = sqlite3_column_int64(q, 0);
	m->n = m->name_n = sqlite3_column_double(q, 1);
	m->of = m->name_of = sqlite3_column_double(q, 2);
	m->start = sqlite3_column_double(q, 3);
	m->end = sqlite3_column_double(q, 4) + 1;
	m->cut = sqlite3_column_double(q, 5);
	m->complete = sqlite3_column_double(q, 6);
	m->share = percent(m->n, m->of);
	m->of_name = true;
	return 0;
}

int verdict_cut(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		struct verdict_errors *ret_errors, struct err *e)
{
	static const char sql[] =
		"WITH r AS MATERIALIZED (SELECT name, pid, fd, ts, ts + dur AS end, send_bytes AS b, lead(ts) OVER"
		" (PARTITION BY pid, fd ORDER BY ts) AS next FROM request WHERE NOT lossy AND errors=0 AND name IN"
		" (SELECT id FROM request_name WHERE readable(protocol)) AND service IN (SELECT id FROM service WHERE server=?1)), a AS MATERIALIZED (SELECT row_number() OVER () AS id, r.*, f.end"
		" AS closed FROM r JOIN fd f ON f.pid=r.pid AND f.fd=r.fd AND f.ts <= r.ts AND coalesce(f.end, r.end)"
		" >= r.end WHERE f.role='accepted'), k AS MATERIALIZED (SELECT name, min(b) AS least FROM a WHERE"
		" closed IS NULL OR next < closed GROUP BY name HAVING count(*) >= ?2), x AS MATERIALIZED (SELECT a.*,"
		" least FROM a JOIN k USING(name) WHERE closed NOT NULL AND coalesce(next > closed, 1) AND ?3 * b <"
		" least AND closed - a.end < ?4 AND NOT EXISTS (SELECT 1 FROM process p WHERE p.pid=a.pid AND p.end <="
		" closed)), g AS MATERIALIZED (SELECT x.id FROM syscall s JOIN syscall_name n ON n.abi=s.abi AND"
		" n.nr=s.nr JOIN thread t ON t.tid=s.tid JOIN x ON x.pid=t.pid AND x.fd=s.fd AND s.ts BETWEEN x.end AND"
		" x.closed WHERE s.ret >= 0 AND n.name IN ('read', 'recvfrom', 'recvmsg', 'recv', 'readv')), y AS (SELECT"
		" name, count(*) AS n, min(end) AS first, max(end) AS last, avg(b) AS b, least FROM x WHERE id NOT IN"
		" g GROUP BY name) SELECT name, n, (SELECT count(*) FROM r WHERE r.name=y.name AND r.end >= first), first,"
		" last, b, least FROM y WHERE n >= ?2 ORDER BY n DESC, name LIMIT 1";
	struct verdict_errors found = { 0 };
	int ret = db_each(c->db, e, take_cut, &found, sql, "iidd", j->about.id, (s64)DUE_ANSWERS,
			  l->factor, l->pause);

	if (ret == 0 && found.n > 0 && found.share > 100 * l->errors)
		*ret_errors = found;
	return ret;
}
