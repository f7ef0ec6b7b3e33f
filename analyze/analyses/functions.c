// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where does the time of each probed function go? Wall time is split into time on a
 * CPU and the reasons for being off one, each with its distribution over the calls; the
 * slowest calls are compared with all. Calls with lost events or unknown
 * states are excluded.
 */
#include "analysis.h"

#define TAIL_LEAST 5 /* slow calls, at least */

static const struct metric metrics[] = {
	{ "calls", "", NEITHER_IS_BETTER, "calls that returned; of a part: calls with any of it" },
	{ "share", "%", NEITHER_IS_BETTER, "of the function's wall time" },
	{ "slow", "%", NEITHER_IS_BETTER, "share in the calls from the 99th percentile on" },
	{ "own", "%", NEITHER_IS_BETTER,
	  "of this, outside of probed functions called from it: exclusive" },
	{ "mean", "ns", LOWER_IS_BETTER, "a call" },
	{ "p50", "ns", LOWER_IS_BETTER, "median of the calls" },
	{ "p90", "ns", LOWER_IS_BETTER, "90th percentile" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "most of one call" },
	{ "recursive", "", NEITHER_IS_BETTER, "calls made while the function was already open" },
	{ "excluded", "", LOWER_IS_BETTER, "calls with lost events or unknown states" },
	{ "open", "", NEITHER_IS_BETTER, "calls that had not returned" },
	{ "unmatched", "", NEITHER_IS_BETTER, "returns without entry" },
	{ "abandoned", "", NEITHER_IS_BETTER, "entries that never returned" },
	{ "nested", "", LOWER_IS_BETTER, "entries below 64 open calls: no return probe" },
	{ 0 },
};

/*
 * Temporary tables: slow has the sums over the calls of each function from the 99th percentile on,
 * part the time of each function by state. Functions that share a name are numbered.
 */
static const char prepare_sql[] =
	"DROP TABLE IF EXISTS temp.limits; DROP TABLE IF EXISTS temp.slow; DROP TABLE IF EXISTS temp.part;"
	"CREATE TEMP TABLE limits AS SELECT site, split, total, n, iif(n, quantile(0.99, longest, 'call', 0,"
	" site), NULL) AS p99 FROM call_stat;"
	"CREATE TEMP TABLE slow AS SELECT c.site, count(*) AS n, total(c.dur) AS dur"
#define STATE(id, name, ...) ", total(c." #name ") AS \"" #name "\""
#include "analyze/store/waits.def"
#undef STATE
	" FROM call c JOIN limits l ON l.site=c.site WHERE l.split AND c.lossy=0 AND coalesce(c.unknown,0)=0"
	" AND c.dur>=l.p99 GROUP BY c.site;"
	"CREATE TEMP TABLE part AS SELECT c.site, c.state, c.n, c.total, c.exclusive, c.longest,"
	" 100.0 * c.total / nullif(l.total, 0) AS share, 100.0 * CASE c.state"
#define STATE(id, name, ...) " WHEN " #id " THEN w.\"" #name "\""
#include "analyze/store/waits.def"
#undef STATE
	" END / nullif(w.dur, 0) AS slow, CASE s.name WHEN 'run' THEN 'on CPU' WHEN 'woken' THEN"
	" 'runnable after wakeup' WHEN 'preempted' THEN 'runnable, preempted' WHEN 'blocked' THEN 'other D'"
	" WHEN 'socket' THEN 'socket wait' WHEN 'client' THEN 'upstream wait' ELSE s.name END AS name"
	" FROM call_state c JOIN state s ON s.id=c.state JOIN limits l ON l.site=c.site"
	" LEFT JOIN slow w ON w.site=c.site";

#define PART_NAME \
	"iif((SELECT count(*) FROM site o WHERE o.function=s.function) > 1, '#' || s.id, '')"

/* A function, then the time on a CPU and each reason for being off it. */
static const char rows_sql[] =
	"SELECT s.id AS id, " PART_NAME " AS part, coalesce(c.n, 0) + coalesce(c.entries, 0)"
	" AS n, coalesce(c.n, 0) + coalesce(c.entries, 0) AS calls, c.n AS n, iif(c.n, 100.0, NULL) AS"
	" share, iif(c.n, 100.0, NULL) AS slow, 100.0 * c.exclusive / nullif(c.total, 0) AS own,"
	" 1.0 * c.total / nullif(c.n, 0) AS mean, quantile(0.5, c.longest, 'call', 0, s.id) AS p50,"
	" quantile(0.9, c.longest, 'call', 0, s.id) AS p90, l.p99 AS p99, iif(c.n, c.longest, NULL) AS max,"
	" coalesce(c.recursive, 0) AS recursive, coalesce(c.apart, 0) AS excluded, coalesce(d.open, 0) AS"
	" open, coalesce(d.unmatched, 0) AS unmatched, coalesce(d.abandoned, 0) AS abandoned,"
	" coalesce(d.nested, 0) AS nested FROM site s LEFT JOIN call_stat c ON c.site=s.id LEFT JOIN"
	" limits l ON l.site=s.id LEFT JOIN call_defect d ON d.site=s.id WHERE s.id=?1";
static const char parts_sql[] =
	"SELECT p.site AS id, " PART_NAME
	" || ': ' || p.name AS part, l.n AS n, p.n AS calls, p.share AS"
	" share, p.slow AS slow, 100.0 * p.exclusive / nullif(p.total, 0) AS own, 1.0 * p.total / l.n AS"
	" mean, quantile(0.5, p.longest, 'call_state', p.site, p.state) AS p50, quantile(0.9, p.longest,"
	" 'call_state', p.site, p.state) AS p90, quantile(0.99, p.longest, 'call_state', p.site, p.state)"
	" AS p99, p.longest AS max FROM part p JOIN limits l ON l.site=p.site JOIN site s ON s.id=p.site"
	" WHERE p.site=?1 ORDER BY p.total DESC";

static const struct finding_query findings[] = {
	/* a limit of the kernel: what is nested deeper is in no duration */
	{ FINDING_calls_nested, NOTE, LIMIT, NULL,
	  "SELECT 'function' AS kind, site AS id, nested AS n FROM call_defect WHERE nested > 0 ORDER BY site",
	  NULL },
	/* what the slowest calls have more of than all have */
	{ FINDING_slow_calls_differ, NOTE, OBSERVED, NULL,
	  "SELECT 'function' AS kind, w.site AS id, w.n AS slow, l.n AS calls, l.p99 AS \"from:ns\","
	  " printf('SELECT * FROM call WHERE site=%d AND lossy=0 AND dur>=%.0f ORDER BY dur DESC',"
	  " w.site, l.p99) AS proof FROM slow w JOIN limits l ON l.site=w.site WHERE w.n >= ?1 AND EXISTS("
	  "SELECT 1 FROM part p WHERE p.site=w.site AND p.slow - p.share >= 5) ORDER BY l.total DESC",
	  "SELECT 'part', '%', slow, 'none', 0, name FROM part WHERE site=?1 AND slow - share >= 5"
	  " ORDER BY total DESC" },
};

static int put_function(void *arg, sqlite3_stmt *q, struct err *e)
{
	struct analysis_ctx *c = arg;

	(void)e;
	put_table(c, SUBJECT_function, rows_sql, "i", sqlite3_column_int64(q, 0));
	put_table(c, SUBJECT_function, parts_sql, "i", sqlite3_column_int64(q, 0));
	return c->err;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	c->err = db_exec(c->db, e, prepare_sql);
	each_row(c, put_function, c,
		 "SELECT s.id FROM site s LEFT JOIN call_stat c ON c.site=s.id"
		 " ORDER BY coalesce(c.total,0) DESC, s.id",
		 "");
	find_rows(c, &findings[0], "");
	find_rows(c, &findings[1], "i", (s64)TAIL_LEAST);
	return c->err;
}

const struct analysis analysis_functions = {
	.name = "functions",
	.doc = "Where does the time of each probed function go",
	.needs = "uprobe",
	.metrics = metrics,
	.rows = 60,
	.run = run,
};
