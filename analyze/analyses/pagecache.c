// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How often was what a process read, or touched in a mapped file, in the page cache? A miss is a
 * page that the thread itself had to add while it read or faulted; what was read ahead before is
 * a hit later. Older kernels tell only of pages that are added: then there is no ratio.
 */
#include "analysis.h"

#include "analyze/base/number.h"

#include <stdio.h>

#define POOR 0.9  /* a hit ratio below this is worth a sentence */
#define FEW  1000 /* pages: with less it is not */

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

/* First a row for each process, then one for each of its files. */
static const char rows_sql[] =
	"WITH names AS (SELECT dev, ino, max(path) AS path FROM fd WHERE path IS NOT NULL AND"
	" kind='file' GROUP BY dev, ino), u AS (SELECT *, (SELECT coalesce(nullif(max(comm),''),'?')"
	" FROM process p WHERE p.pid=g.pid) || '[' || pid || ']' AS who FROM page_use g)"
	" SELECT u.who || ', all files' AS name, 1 AS whole, " SUMS
	" FROM u GROUP BY u.pid UNION ALL"
	" SELECT u.who || ' ' || coalesce(n.path, 'inode ' || u.ino || coalesce(' on ' || (SELECT"
	" target FROM mount m WHERE m.dev=u.dev ORDER BY rowid LIMIT 1), ' of device ' ||"
	" (u.dev >> 20) || ':' || (u.dev & 1048575))), 0, " SUMS " FROM u LEFT JOIN names n ON"
	" n.dev=u.dev AND n.ino=u.ino GROUP BY u.pid, u.dev, u.ino"
	" ORDER BY whole DESC, missed DESC, pages DESC, added DESC, name";

/* told: the kernel told of look-ups. */
static int put_row(struct analysis_ctx *c, sqlite3_stmt *q, bool told, struct err *e)
{
	const char *subject = db_text(q, 0);
	double v[6];
	int i, ret = 0;

	for (i = 0; i < 6; i++)
		v[i] = sqlite3_column_double(q, 2 + i);
	const struct {
		const char *name;
		double value;
		double n;
	} values[] = {
		{ "pages", told ? v[0] : NAN, v[0] },
		{ "hits", v[0] > 0 ? 100 * (v[0] - v[1]) / v[0] : NAN, v[0] },
		{ "missed", told ? v[1] : NAN, v[0] },
		{ "faults", told ? v[2] : NAN, v[2] },
		{ "fault_hits", v[2] > 0 ? 100 * (v[2] - v[3]) / v[2] : NAN, v[2] },
		{ "added", v[4], v[4] },
		{ "removed", v[5], v[5] },
	};

	for (i = 0; i < (int)(sizeof(values) / sizeof(values[0])) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 (s64)values[i].n);
	if (ret < 0 || !sqlite3_column_int(q, 1) || v[0] < FEW || v[0] - v[1] >= POOR * v[0])
		return ret;
	return put_prose(c, e, NOTE, "OBSERVED", "SELECT * FROM page_use ORDER BY missed DESC",
			 "%s: %.1f %% of %s pages that were read were in the page cache.", subject,
			 100 * (v[0] - v[1]) / v[0], counted(v[0]).text);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	s64 told = 0;
	sqlite3_stmt *q;
	int ret = db_int(c->db, &told, e, "SELECT total(lookups) + total(faults) > 0 FROM page_use",
			 "");

	if (ret == 0)
		ret = db_query(&q, c->db, e, rows_sql, "");
	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (put_row(c, q, told, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(q);
	if (ret < 0)
		return ret;
	if (!told)
		return put_prose(
			c, e, NOTE, "LIMIT", "SELECT * FROM doctor WHERE grp='pagecache'",
			"page cache: hits and the ratio of hits are not known, no look-up was recorded "
			"(the kernel tells of them since 6.13); pages added are misses, read ahead, or "
			"new data.");
	return put_prose(c, e, NOTE, "LIMIT", NULL,
			 "page cache: pages that were found while others still read them in count "
			 "as hits; writes look nothing up.");
}

const struct analysis analysis_pagecache = {
	.name = "pagecache",
	.doc = "How much of what was read was in the page cache",
	.needs = "pagecache",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
