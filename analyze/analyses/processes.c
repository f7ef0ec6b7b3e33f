// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which processes were made by whom, what they ran, how long they lived, what they used and how
 * they ended: as a tree. Short ones without children are summed by parent and name.
 */
#include "analysis.h"

#define SHORT_MOST "100000000" /* ns */
#define DEPTH	   24

static const struct metric metrics[] = {
	{ "processes", "", NEITHER_IS_BETTER, "in this row" },
	{ "life", "ns", NEITHER_IS_BETTER, "mean of their lives; of those that ended" },
	{ "cpu", "ns", LOWER_IS_BETTER, "CPU time, all together" },
	{ "rss", "bytes", LOWER_IS_BETTER, "largest resident memory of one" },
	{ "read", "bytes", LOWER_IS_BETTER, "from storage, all together" },
	{ "written", "bytes", LOWER_IS_BETTER, "to storage" },
	{ "faults", "", LOWER_IS_BETTER, "page faults that needed storage" },
	{ "exit", "", NEITHER_IS_BETTER, "exit code of a single one" },
	{ "failed", "", LOWER_IS_BETTER, "of them, with another exit code than 0, or killed" },
	{ 0 },
};

/*
 * Processes without recorded events are excluded, but for parents of those with some.
 * x: every process with its parent's row, what it used, and how it ended. CPU time is that of
 * its threads' states, which are exact with switches, else what the kernel accounted.
 * MATERIALIZED: SQLite 3.46 evaluates x once per use otherwise, in quadratic time.
 */
#define PROCESSES                                                                                                  \
	"x AS MATERIALIZED (SELECT p.rowid AS id, p.pid, p.start, coalesce(p.end, e.ts) AS end,"                   \
	" coalesce(nullif(p.comm,''),'?') AS comm,"                                                                \
	" p.cmdline, e.ts IS NOT NULL AS ended, coalesce(e.life, p.end - p.start) AS life,"                        \
	" coalesce((SELECT sum(t.run) FROM thread t WHERE t.pid=p.pid AND t.start >= p.start AND"                  \
	" t.start <= coalesce(p.end, 9e18) AND t.switches > 0), e.user + e.system) AS cpu, e.rss,"                 \
	" e.read_bytes AS rb, e.write_bytes AS wb, e.major_faults AS faults, e.code, e.signal,"                    \
	" (SELECT q.rowid FROM process q WHERE q.pid=p.parent AND q.rowid<>p.rowid AND"                            \
	" q.start <= p.start AND coalesce(q.end, 9e18) >= p.start ORDER BY q.start DESC LIMIT 1) AS"               \
	" up, p.parent FROM process p LEFT JOIN process_exit e ON e.pid=p.pid AND e.ts >= p.start AND"             \
	" e.ts <= coalesce(p.end, 9e18) + 1000000),"                                                               \
	" began AS MATERIALIZED (SELECT * FROM x WHERE ended OR (start > 0 AND (pid IN (SELECT pid FROM spawn) OR" \
	" EXISTS(SELECT 1 FROM thread t WHERE t.pid=x.pid AND t.wall IS NOT NULL)))),"                             \
	" brief AS MATERIALIZED (SELECT * FROM began WHERE end IS NOT NULL AND life < " SHORT_MOST                 \
	" AND id NOT IN (SELECT up FROM began WHERE up IS NOT NULL))"

static const char tree_sql[] =
	"WITH RECURSIVE " PROCESSES ","
	" same AS (SELECT up, comm, count(*) AS n FROM brief GROUP BY up, comm HAVING n > 1),"
	" alone AS MATERIALIZED (SELECT * FROM x WHERE id IN (SELECT id FROM began UNION SELECT up FROM began)"
	" AND id NOT IN (SELECT b.id FROM brief b JOIN same a ON a.up IS b.up AND a.comm=b.comm)),"
	" node AS (SELECT id, pid, up, start, comm || '[' || pid || ']' || CASE WHEN start > 0 THEN"
	" coalesce(' ' || substr(cmdline, 1, 60), '') ELSE '' END AS name, 1 AS n, end IS NOT NULL AS"
	" ended, life, cpu, rss, rb, wb, faults, coalesce(code, 128 + signal) AS code,"
	" coalesce(code, 1) <> 0 AND ended AS failed FROM alone UNION ALL"
	" SELECT -min(b.id), min(b.pid), b.up, min(b.start), b.comm || ' (' || a.n || ' short-lived' ||"
	" coalesce(' of ' || b.parent, '') || ')', a.n, a.n, avg(b.life), sum(b.cpu), max(b.rss),"
	" sum(b.rb), sum(b.wb), sum(b.faults), NULL, sum(coalesce(b.code, 1) <> 0 AND b.ended) FROM"
	" brief b JOIN same a ON a.up IS b.up AND a.comm=b.comm GROUP BY b.up, b.comm),"
	" tree AS (SELECT node.*, 0 AS depth, printf('%020d', start) AS place FROM node WHERE up IS"
	" NULL OR up NOT IN (SELECT id FROM alone) UNION ALL SELECT node.*, depth + 1, place ||"
	" printf(' %020d %d', node.start, node.id) FROM tree JOIN node ON node.up=tree.id WHERE"
	" depth < ?) SELECT iif(id > 0, 'process', 'program') AS kind, pid AS id,"
	" replace(hex(zeroblob(depth)), '00', '> ') || substr(name, 1, 300) AS text, n AS n, n AS processes,"
	" cpu AS cpu, ended AS n, iif(ended, life, NULL) AS life, rss AS rss, rb AS read, wb AS written,"
	" faults AS faults, code AS exit, iif(ended, failed, NULL) AS failed FROM tree ORDER BY place";

static const struct finding_query findings[] = {
	/* they cost more than they look */
	{ FINDING_short_processes, NOTE, OBSERVED, "SELECT * FROM process_exit ORDER BY life",
	  "WITH " PROCESSES
	  " SELECT count(*) AS n, total(cpu) AS \"cpu:ns\" FROM brief HAVING n > 0",
	  "WITH " PROCESSES " SELECT 'program', '', count(*), 'program', min(pid), NULL FROM brief"
	  " GROUP BY comm ORDER BY total(cpu) DESC, 3 DESC, comm LIMIT 6" },
	{ FINDING_killed, WARNING, OBSERVED,
	  "SELECT pid, signal, ts FROM process_exit WHERE signal > 0 ORDER BY ts",
	  "SELECT count(*) AS n FROM process_exit WHERE signal > 0 HAVING n > 0",
	  "SELECT 'process', 'at', ts, 'process', pid, (SELECT coalesce(nullif(max(comm),''),'?') FROM"
	  " process p WHERE p.pid=x.pid) || '[' || pid || '] (signal ' || signal || ')' FROM process_exit x"
	  " WHERE signal > 0 ORDER BY ts LIMIT 6" },
};

static int run(struct analysis_ctx *c, struct err *e)
{
	(void)e;
	put_table(c, SUBJECT_process, tree_sql, "i", (s64)DEPTH);
	find_rows(c, &findings[0], "");
	find_rows(c, &findings[1], "");
	return c->err;
}

const struct analysis analysis_processes = {
	.name = "processes",
	.doc = "Which processes started, and how did they end",
	.needs = "process",
	.metrics = metrics,
	.rows = 30,
	.run = run,
};
