// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of probed functions and static probes by their text argument: which statement of SQL takes
 * how long. Quantiles are exact.
 */
#include "analysis.h"

#define ROWS 25

static const struct metric metrics[] = {
	{ "calls", "", NEITHER_IS_BETTER, "calls, spans or marks with this text" },
	{ "p50", "ns", LOWER_IS_BETTER, "median" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ "share", "%", NEITHER_IS_BETTER,
	  "of the wall time of all calls of the function with a text" },
	{ "rate", "1/s", NEITHER_IS_BETTER, "per second, over the whole recording" },
	{ "mean", "ns", LOWER_IS_BETTER, "a call" },
	{ 0 },
};

static const char rows_sql[] =
	"SELECT site AS id, ' ' || coalesce(iif(length(text) > 44, substr(text, 1, 41) || '...', text), 'other texts') AS part, n AS n, n AS calls, p50 AS p50, p99 AS p99,"
	" max AS max, 100.0 * total / nullif(total(total) OVER (PARTITION BY site), 0) AS share,"
	" n * 1e9 / ?1 AS rate, 1.0 * total / n AS mean FROM v_statement"
	" ORDER BY total DESC, n DESC, site, text LIMIT ?2";

static const struct finding_query limits[] = {
	{ FINDING_texts_unreadable, NOTE, LIMIT, NULL,
	  "SELECT 'function' AS kind, c.site AS id, c.unreadable AS n, min(d.ts) AS \"first:at\","
	  " printf('SELECT * FROM span_defect WHERE site=%d AND defect=''no text'' ORDER BY ts', c.site)"
	  " AS proof FROM call_defect c JOIN span_defect d ON d.site=c.site AND d.defect='no text'"
	  " GROUP BY c.site ORDER BY c.site",
	  NULL },
	{ FINDING_texts_cut, NOTE, LIMIT, NULL,
	  "SELECT 'function' AS kind, site AS id, cut AS n FROM call_defect WHERE cut > 0 ORDER BY site",
	  NULL },
	{ FINDING_more_statements, NOTE, LIMIT, "SELECT * FROM v_statement",
	  "SELECT count(*) - ?1 AS n FROM v_statement HAVING count(*) > ?1", NULL },
};

static int run(struct analysis_ctx *c, struct err *e)
{
	(void)e;
	put_table(c, SUBJECT_function, rows_sql, "ii", c->duration ? c->duration : (s64)1,
		  (s64)ROWS);
	find_rows(c, &limits[0], "");
	find_rows(c, &limits[1], "");
	find_rows(c, &limits[2], "i", (s64)ROWS);
	return c->err;
}

const struct analysis analysis_queries = {
	.name = "queries",
	.doc = "Which statements did functions run, and how long did they take",
	.needs = "uprobe",
	.metrics = metrics,
	.rows = ROWS,
	.run = run,
};
