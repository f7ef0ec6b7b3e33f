// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name all of whose answers report errors, above the limit of all answers: of the whole
 * recording, or from the first that does to the end. Levels of errors per window show no such
 * change where most windows have no request of that name. HTTP 4xx are wrong requests, as what DNS
 * refuses. A command that each connection sends once or twice, before others, is asked while it
 * opens, by clients that do without the answer.
 */
#include "verdict_name_fails.h"

#include "analyze/store/error_names.h"

#define NAME_FAILED 5 /* fewer are no share */

struct name_fails {
	const struct judged *j;
	bool since;
	struct verdict_errors *ret;
};

/* Share of all answers, of a change from its first window on; whether most errors are not slow. */
static void sum_traffic(struct name_fails *x)
{
	double usual = 0, all = 0, windows[2] = { 0 }, errors[2] = { 0 }, answers[2] = { 0 };
	const struct judged *j = x->j;
	int i, in, first = x->since ? verdict_window_at(j, x->ret->start) : 0;

	for (i = 0; i < j->n_windows; i++) {
		in = i >= first;
		windows[in]++;
		errors[in] += j->traffic[i].errors;
		answers[in] += j->traffic[i].answers;
		if (!in)
			continue;
		all += j->traffic[i].errors;
		if (!verdict_in_ranges(JUDGED_RANGES(j), j->ranges, (i + 0.5) * j->width))
			usual += j->traffic[i].errors;
	}
	x->ret->windows[0] = windows[0];
	x->ret->windows[1] = windows[1];
	x->ret->share = percent(x->ret->n, answers[1]);
	x->ret->before = percent(errors[0], answers[0]);
	x->ret->good = (answers[1] - errors[1]) / windows[1];
	x->ret->good_before = windows[0] > 0 ? (answers[0] - errors[0]) / windows[0] : 0;
	x->ret->usual = 2 * usual > all;
}

static int take_name(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct name_fails *x = arg;
	struct verdict_errors *m = x->ret;

	(void)e;
	m->name = sqlite3_column_int64(q, 0);
	m->n = m->of = sqlite3_column_double(q, 1);
	m->start = sqlite3_column_double(q, 2);
	m->end = sqlite3_column_double(q, 3) + 1;
	m->of_name = true;
	sum_traffic(x);
	return 0;
}

int verdict_name_fails(struct analysis_ctx *c, const struct judged *j, const struct limits *l,
		       bool since, struct verdict_errors *ret_errors, struct err *e)
{
	/* a request that arrived before the first that failed may end after it */
	static const char sql[] =
		"WITH s AS MATERIALIZED (SELECT id FROM service WHERE server=?1), x AS MATERIALIZED (SELECT name,"
		" ts, ts + dur AS end, max(requests, 1) AS n, errors >= max(requests, 1) AS bad FROM request"
		" WHERE service IN s AND name IN (SELECT name FROM request_error e WHERE service IN s AND"
		" status<>0 AND NOT " WRONG_REQUEST(
			"e") ")), f AS MATERIALIZED (SELECT name, min(ts) AS"
			     " first FROM x WHERE bad GROUP BY name), y AS (SELECT x.name AS name, total(n) FILTER (WHERE bad)"
			     " AS failed, total(n) FILTER (WHERE ts >= first) AS of, total(n) FILTER (WHERE ts < first) AS"
			     " good, min(end) FILTER (WHERE bad) AS start, max(end) FILTER (WHERE bad) AS till FROM x JOIN f"
			     " USING(name) GROUP BY x.name), a AS MATERIALIZED (SELECT pid, fd, ts FROM fd WHERE NOT ?3 AND"
			     " role='accepted' AND pid IN (SELECT pid FROM service WHERE server=?1)), w AS MATERIALIZED (SELECT"
			     " name, bad, lead(opened) OVER (PARTITION BY pid, fd ORDER BY ts) AS next FROM (SELECT pid, fd, ts,"
			     " name, errors > 0 AS bad, 0 AS opened FROM request WHERE NOT ?3 AND service IN s UNION ALL SELECT"
			     " pid, fd, ts, NULL, 0, 1 FROM a)) SELECT name, failed, start, till FROM y WHERE failed=of AND failed"
			     " >= ?2 AND iif(?3, good >= ?2, good=0 AND (failed > 2 * (SELECT count(*) FROM a) OR 2 * (SELECT"
			     " count(*) FROM w WHERE w.name=y.name AND bad AND next=0) < failed)) ORDER BY failed DESC, name"
			     " LIMIT 1";
	struct verdict_errors found = { 0 };
	struct name_fails x = { j, since, &found };
	int ret = db_each(c->db, e, take_name, &x, sql, "idi", j->about.id, (double)NAME_FAILED,
			  (s64)since);

	if (ret == 0 && found.n > 0 && found.share > 100 * l->errors)
		*ret_errors = found;
	return ret;
}
