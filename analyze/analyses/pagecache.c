// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How often was what a process read, or touched in a mapped file, in the page cache? A miss is a
 * page that the thread itself had to add while it read or faulted; what was read ahead before is
 * a hit later. Older kernels report only pages that are added: then there is no ratio.
 */
#include "analysis.h"

#define POOR 0.9  /* hit ratio below which a finding is put */
#define FEW  1000 /* pages, at least */

static const struct metric metrics[] = {
	{ "pages", "", NEITHER_IS_BETTER, "pages looked up by reads, each once a call" },
	{ "hits", "%", HIGHER_IS_BETTER, "of these, in the cache" },
	{ "missed", "", LOWER_IS_BETTER, "of these, not in the cache" },
	{ "faults", "", NEITHER_IS_BETTER, "page faults on the mapped file" },
	{ "fault_hits", "%", HIGHER_IS_BETTER, "of these, the page was in the cache" },
	{ "added", "", NEITHER_IS_BETTER, "pages added: missed, read ahead, or new data" },
	{ "removed", "", NEITHER_IS_BETTER, "pages taken out by this process" },
	{ 0 },
};

#define SUMS                                                                       \
	"sum(u.pages) AS pages, sum(u.missed) AS missed, sum(u.faults) AS faults," \
	" sum(u.fault_misses) AS lost, sum(u.added) AS added, sum(u.removed) AS removed"

/* ?1: lookups are recorded */
#define COLUMNS                                                                                   \
	" iif(?1, pages, NULL) AS pages, 100.0 * (pages - missed) / nullif(pages, 0) AS hits,"    \
	" iif(?1, missed, NULL) AS missed, faults AS n, iif(?1, faults, NULL) AS faults,"         \
	" 100.0 * (faults - lost) / nullif(faults, 0) AS fault_hits, added AS n, added AS added," \
	" removed AS n, removed AS removed"

/* First a row for each process, then one for each of its files. */
static const char rows_sql[] =
	"WITH names AS (SELECT dev, ino, max(path) AS path FROM fd WHERE path IS NOT NULL AND"
	" kind='file' GROUP BY dev, ino), r AS (SELECT u.pid AS id, ', all files' AS part, 1 AS whole, " SUMS
	" FROM page_use u GROUP BY u.pid UNION ALL"
	" SELECT u.pid, ' ' || coalesce(n.path, 'inode ' || u.ino || coalesce(' on ' || (SELECT"
	" target FROM mount m WHERE m.dev=u.dev ORDER BY rowid LIMIT 1), ' of device ' ||"
	" (u.dev >> 20) || ':' || (u.dev & 1048575))), 0, " SUMS
	" FROM page_use u LEFT JOIN names n ON"
	" n.dev=u.dev AND n.ino=u.ino GROUP BY u.pid, u.dev, u.ino)"
	" SELECT id, part, pages AS n," COLUMNS
	" FROM r ORDER BY whole DESC, r.missed DESC, r.pages DESC, r.added DESC, id, part";

static const struct finding_query low = {
	FINDING_cache_hits_low,
	NOTE,
	OBSERVED,
	"SELECT * FROM page_use ORDER BY missed DESC",
	"SELECT 'process' AS kind, pid AS id, sum(pages) AS pages, 100.0 * (sum(pages) - sum(missed)) / sum(pages)"
	" AS \"hits:%\" FROM page_use GROUP BY pid HAVING sum(pages) >= ?1 AND"
	" sum(pages) - sum(missed) < ?2 * sum(pages) ORDER BY sum(missed) DESC",
	NULL,
};

static int run(struct analysis_ctx *c, struct err *e)
{
	double lookups =
		query_number(c, "SELECT total(lookups) + total(faults) > 0 FROM page_use", "");

	(void)e;
	put_table(c, SUBJECT_process, rows_sql, "i", (s64)lookups);
	find_rows(c, &low, "id", (s64)FEW, POOR);
	add_limit(c, lookups ? FINDING_cache_readers : FINDING_cache_no_lookups);
	return c->err;
}

const struct analysis analysis_pagecache = {
	.name = "pagecache",
	.doc = "How much of what was read was in the page cache",
	.needs = "pagecache",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
