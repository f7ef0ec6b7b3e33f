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
	{ "calls", "", NEITHER_IS_BETTER,
	  "calls that returned, marks passed; of a part: calls with any of it" },
	{ "share", "%", NEITHER_IS_BETTER, "of the function's wall time" },
	{ "slow", "%", NEITHER_IS_BETTER, "share in the calls from the 99th percentile on" },
	{ "own", "%", NEITHER_IS_BETTER,
	  "of this, outside of probed functions called from it: exclusive; none while others are counted (--hot)" },
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
	{ "counted", "", NEITHER_IS_BETTER,
	  "calls counted in histograms (--hot): count and mean are exact, quantiles within 3.2 %" },
	{ "nested", "", LOWER_IS_BETTER, "entries below 64 open calls: no return probe" },
	{ "moved", "", NEITHER_IS_BETTER, "spans that ended on another thread: in no part" },
	{ "reused", "", NEITHER_IS_BETTER, "spans whose key started again before their end" },
	{ "keyless", "", LOWER_IS_BETTER, "starts and ends whose key could not be read" },
	{ "forgotten", "", LOWER_IS_BETTER, "open spans given up for newer ones" },
	{ 0 },
};

/*
 * Temporary tables: slow has the sums over the calls of each function from the 99th percentile on,
 * part the time of each function by state. Functions that share a name (namesakes) are numbered.
 * Each function asks for its own rows: they have indices.
 */
static const char prepare_sql[] =
	"DROP TABLE IF EXISTS temp.limits; DROP TABLE IF EXISTS temp.slow; DROP TABLE IF EXISTS temp.part;"
	"DROP TABLE IF EXISTS temp.namesakes;"
	"CREATE TEMP TABLE namesakes(function PRIMARY KEY) WITHOUT ROWID;"
	"INSERT INTO namesakes SELECT function FROM site WHERE function IS NOT NULL GROUP BY function HAVING count(*) > 1;"
	"CREATE TEMP TABLE limits AS SELECT site, split AND NOT counted AS whole, total - moved_total AS total, n - moved AS n,"
	/* counted calls made by others are in the exclusive times of these */
	" (SELECT count(*) FROM call_stat WHERE counted) = coalesce(counted <> 0, 0) AS owns,"
	" iif(n + timed, quantile(0.99, longest, 'call', 0,"
	" site), NULL) AS p99 FROM call_stat;"
	"CREATE UNIQUE INDEX temp.limits_site ON limits(site);"
	"CREATE TEMP TABLE slow AS SELECT c.site, count(*) AS n, total(c.dur) AS dur"
#define STATE(id, name, ...) ", total(c." #name ") AS \"" #name "\""
#include "analyze/store/waits.def"
#undef STATE
	" FROM call c JOIN limits l ON l.site=c.site WHERE l.whole AND c.run IS NOT NULL AND c.lossy=0 AND coalesce(c.unknown,0)=0"
	" AND c.dur>=l.p99 GROUP BY c.site;"
	"CREATE TEMP TABLE part AS SELECT c.site, c.state, c.n, c.total, c.exclusive, c.longest,"
	" 100.0 * c.total / nullif(l.total, 0) AS share, 100.0 * CASE c.state"
#define STATE(id, name, ...) " WHEN " #id " THEN w.\"" #name "\""
#include "analyze/store/waits.def"
#undef STATE
	" END / nullif(w.dur, 0) AS slow, s.label AS name"
	" FROM call_state c JOIN state s ON s.id=c.state JOIN limits l ON l.site=c.site"
	" LEFT JOIN slow w ON w.site=c.site;"
	"CREATE INDEX temp.part_site ON part(site)";

#define PART_NAME \
	"iif(EXISTS(SELECT 1 FROM namesakes o WHERE o.function=s.function), '#' || s.id, '')"

#define CALLS "coalesce(c.n + c.entries + iif(s.returns, c.timed, c.counted), 0)"

/* A function, then the time on a CPU and each reason for being off it. */
static const char rows_sql[] =
	"SELECT s.id AS id, " PART_NAME " AS part, " CALLS " AS n, " CALLS
	" AS calls, c.n AS n, iif(c.n, 100.0, NULL) AS"
	" share, iif(c.n, 100.0, NULL) AS slow, iif(l.owns, 100.0 * c.exclusive / nullif(c.total, 0), NULL) AS own,"
	" c.n + c.timed AS n, (1.0 * c.total + c.timed_total) / nullif(c.n + c.timed, 0) AS mean, quantile(0.5, c.longest, 'call', 0, s.id) AS p50,"
	" quantile(0.9, c.longest, 'call', 0, s.id) AS p90, l.p99 AS p99, iif(c.n + c.timed, c.longest, NULL) AS max,"
	" coalesce(c.recursive, 0) AS recursive, coalesce(c.excluded, 0) AS excluded, coalesce(d.open, 0) +"
	" iif(s.returns, max(coalesce(c.counted - c.timed, 0), 0), 0) AS open, coalesce(c.counted, 0) AS counted, coalesce(d.unmatched, 0) AS unmatched, coalesce(d.abandoned, 0) AS abandoned,"
	" coalesce(d.nested, 0) AS nested, coalesce(c.moved, 0) AS moved, coalesce(d.reused, 0) AS reused,"
	" coalesce(d.keyless, 0) AS keyless, coalesce(d.forgotten, 0) AS forgotten FROM site s LEFT JOIN call_stat c ON c.site=s.id LEFT JOIN"
	" limits l ON l.site=s.id LEFT JOIN call_defect d ON d.site=s.id WHERE s.id=?1";
static const char parts_sql[] =
	"SELECT p.site AS id, " PART_NAME
	" || ': ' || p.name AS part, l.n AS n, p.n AS calls, p.share AS"
	" share, p.slow AS slow, iif(l.owns, 100.0 * p.exclusive / nullif(p.total, 0), NULL) AS own, 1.0 * p.total / l.n AS"
	" mean, quantile(0.5, p.longest, 'call_state', p.site, p.state) AS p50, quantile(0.9, p.longest,"
	" 'call_state', p.site, p.state) AS p90, quantile(0.99, p.longest, 'call_state', p.site, p.state)"
	" AS p99, p.longest AS max FROM part p JOIN limits l ON l.site=p.site JOIN site s ON s.id=p.site"
	" WHERE p.site=?1 ORDER BY p.total DESC";

/* Of calls in histograms, time off the CPU has no reasons, and no distribution. */
static const char counted_sql[] =
	"SELECT s.id AS id, " PART_NAME
	" || ': counted, on a CPU' AS part, c.timed AS n, c.timed AS calls,"
	" 100.0 * c.timed_cpu / nullif(c.timed_total, 0) AS share, 1.0 * c.timed_cpu / c.timed AS mean,"
	" quantile(0.5, c.longest, 'call_cpu', 0, s.id) AS p50, quantile(0.9, c.longest, 'call_cpu', 0, s.id)"
	" AS p90, quantile(0.99, c.longest, 'call_cpu', 0, s.id) AS p99 FROM call_stat c JOIN site s ON"
	" s.id=c.site WHERE s.id=?1 AND c.timed > 0 UNION ALL SELECT s.id, " PART_NAME
	" || ': counted, off-CPU',"
	" c.timed, c.timed, 100.0 - 100.0 * c.timed_cpu / nullif(c.timed_total, 0),"
	" 1.0 * (c.timed_total - c.timed_cpu) / c.timed, NULL, NULL, NULL FROM call_stat c JOIN site s ON"
	" s.id=c.site WHERE s.id=?1 AND c.timed > 0";

static const struct finding_query findings[] = {
	/* a limit of the kernel: what is nested deeper is in no duration */
	{ FINDING_calls_nested, NOTE, LIMIT, NULL,
	  "SELECT 'function' AS kind, site AS id, nested AS n FROM call_defect WHERE nested > 0 ORDER BY site",
	  NULL },
	/* why they have no rows */
	{ FINDING_calls_counted, NOTE, LIMIT, NULL,
	  "SELECT 'function' AS kind, c.site AS id, iif(s.returns, c.timed, c.counted) AS counted, " CALLS
	  " AS n, m.above AS \"limit:1/s\", nullif(m.rate, 0) AS \"rate:1/s\", m.ts AS \"since:at\","
	  " printf('SELECT * FROM call_mode WHERE site=%d', c.site) AS proof FROM call_stat c JOIN site s ON"
	  " s.id=c.site LEFT JOIN (SELECT site, min(ts) AS ts, max(rate) AS rate, above FROM call_mode WHERE"
	  " counted GROUP BY site) m ON m.site=c.site WHERE c.counted > 0 ORDER BY c.counted DESC",
	  NULL },
	/* spans with a key: a missing end looks like a reused key, so all are said at once */
	{ FINDING_spans_unpaired, NOTE, LIMIT, NULL,
	  "SELECT 'function' AS kind, d.site AS id, nullif(d.reused, 0) AS reused,"
	  " nullif(d.unmatched, 0) AS no_start, nullif(d.open, 0) AS no_end,"
	  " nullif(d.keyless, 0) AS keyless, nullif(d.forgotten, 0) AS forgotten,"
	  " printf('SELECT * FROM span_defect WHERE site=%d ORDER BY ts', d.site) AS proof"
	  " FROM call_defect d WHERE d.site IN (SELECT site FROM span_defect WHERE defect<>'no text')"
	  " ORDER BY d.site",
	  NULL },
	{ FINDING_spans_moved, NOTE, LIMIT, NULL,
	  "SELECT 'function' AS kind, site AS id, moved AS n, n AS calls, printf('SELECT * FROM call WHERE"
	  " site=%d AND end_tid<>tid', site) AS proof FROM call_stat WHERE moved > 0 ORDER BY site",
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
	put_table(c, SUBJECT_function, counted_sql, "i", sqlite3_column_int64(q, 0));
	return c->err;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	c->err = db_exec(c->db, e, prepare_sql);
	each_row(c, put_function, c,
		 "SELECT s.id FROM site s LEFT JOIN call_stat c ON c.site=s.id"
		 " ORDER BY coalesce(c.total + c.timed_total, 0) DESC, s.id",
		 "");
	find_rows(c, &findings[0], "");
	find_rows(c, &findings[1], "");
	find_rows(c, &findings[2], "");
	find_rows(c, &findings[3], "");
	find_rows(c, &findings[4], "i", (s64)TAIL_LEAST);
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
