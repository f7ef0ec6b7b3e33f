// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which processes were made by whom, what they ran, how long they lived, what they used and how
 * they ended: as a tree. Short ones without children are summed by parent and name.
 */
#include "analysis.h"

#include <stdio.h>
#include <string.h>

#define SHORT_MOST "100000000" /* ns */
#define DEPTH	   24
#define NAMED	   6

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
 * Strangers that were not recorded are left out, but for parents of those that were.
 * x: every process with its parent's row, what it used, and how it ended. CPU time is that of
 * its threads' states, which switches tell exactly, else what the kernel accounted.
 */
#define PROCESSES                                                                                                            \
	"x AS (SELECT p.rowid AS id, p.pid, p.start, coalesce(p.end, e.ts) AS end, coalesce(nullif(p.comm,''),'?') AS comm," \
	" p.cmdline, e.ts IS NOT NULL AS told, coalesce(e.life, p.end - p.start) AS life,"                                   \
	" coalesce((SELECT sum(t.run) FROM thread t WHERE t.pid=p.pid AND t.start >= p.start AND"                            \
	" t.start <= coalesce(p.end, 9e18) AND t.switches > 0), e.user + e.system) AS cpu, e.rss,"                           \
	" e.read_bytes AS rb, e.write_bytes AS wb, e.major_faults AS faults, e.code, e.signal,"                              \
	" (SELECT q.rowid FROM process q WHERE q.pid=p.parent AND q.rowid<>p.rowid AND"                                      \
	" q.start <= p.start AND coalesce(q.end, 9e18) >= p.start ORDER BY q.start DESC LIMIT 1) AS"                         \
	" up, p.parent FROM process p LEFT JOIN process_exit e ON e.pid=p.pid AND e.ts >= p.start AND"                       \
	" e.ts <= coalesce(p.end, 9e18) + 1000000),"                                                                         \
	" began AS (SELECT * FROM x WHERE told OR (start > 0 AND (pid IN (SELECT pid FROM spawn) OR"                         \
	" EXISTS(SELECT 1 FROM thread t WHERE t.pid=x.pid AND t.wall IS NOT NULL)))),"                                       \
	" brief AS (SELECT * FROM began WHERE end IS NOT NULL AND life < " SHORT_MOST                                        \
	" AND id NOT IN (SELECT up FROM began WHERE up IS NOT NULL))"

static const char tree_sql[] =
	"WITH RECURSIVE " PROCESSES ","
	" alike AS (SELECT up, comm, count(*) AS n FROM brief GROUP BY up, comm HAVING n > 1),"
	" alone AS (SELECT * FROM x WHERE id IN (SELECT id FROM began UNION SELECT up FROM began)"
	" AND id NOT IN (SELECT b.id FROM brief b JOIN alike a ON a.up IS b.up AND a.comm=b.comm)),"
	" node AS (SELECT id, up, start, comm || '[' || pid || ']' || CASE WHEN start > 0 THEN"
	" coalesce(' ' || substr(cmdline, 1, 60), '') ELSE '' END AS name, 1 AS n, end IS NOT NULL AS"
	" ended, life, cpu, rss, rb, wb, faults, coalesce(code, 128 + signal) AS code,"
	" coalesce(code, 1) <> 0 AND told AS failed FROM alone UNION ALL"
	" SELECT -min(b.id), b.up, min(b.start), b.comm || ' (' || a.n || ' short ones' ||"
	" coalesce(' of ' || b.parent, '') || ')', a.n, a.n, avg(b.life), sum(b.cpu), max(b.rss),"
	" sum(b.rb), sum(b.wb), sum(b.faults), NULL, sum(coalesce(b.code, 1) <> 0 AND b.told) FROM"
	" brief b JOIN alike a ON a.up IS b.up AND a.comm=b.comm GROUP BY b.up, b.comm),"
	" tree AS (SELECT node.*, 0 AS depth, printf('%020d', start) AS place FROM node WHERE up IS"
	" NULL OR up NOT IN (SELECT id FROM alone) UNION ALL SELECT node.*, depth + 1, place ||"
	" printf(' %020d %d', node.start, node.id) FROM tree JOIN node ON node.up=tree.id WHERE"
	" depth < ?) SELECT name, depth, n, ended, life, cpu, rss, rb, wb, faults, code, failed"
	" FROM tree ORDER BY place";

static double known(sqlite3_stmt *q, int column)
{
	return sqlite3_column_type(q, column) == SQLITE_NULL ? NAN
							     : sqlite3_column_double(q, column);
}

static int put_row(struct analysis_ctx *c, sqlite3_stmt *q, struct err *e)
{
	s64 n = sqlite3_column_int64(q, 2), ended = sqlite3_column_int64(q, 3);
	const struct {
		const char *name;
		double value;
		s64 n;
	} values[] = {
		{ "processes", n, n },
		{ "life", ended ? known(q, 4) : NAN, ended },
		{ "cpu", known(q, 5), n },
		{ "rss", known(q, 6), ended },
		{ "read", known(q, 7), ended },
		{ "written", known(q, 8), ended },
		{ "faults", known(q, 9), ended },
		{ "exit", known(q, 10), ended },
		{ "failed", ended ? known(q, 11) : NAN, ended },
	};
	char subject[400];
	size_t i, at = 0;
	int ret = 0;

	for (i = 0; i < (size_t)sqlite3_column_int(q, 1) && i < DEPTH; i++)
		at += snprintf(subject + at, sizeof(subject) - at, "> ");
	snprintf(subject + at, sizeof(subject) - at, "%.300s", db_text(q, 0));
	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 values[i].n);
	return ret;
}

static int put_tree(struct analysis_ctx *c, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, tree_sql, "i", (s64)DEPTH);

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (put_row(c, q, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(q);
	return ret < 0 ? ret : 0;
}

/* Short ones cost more than they look: how many, and all their CPU time. */
static int put_short(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] = "WITH " PROCESSES " SELECT comm, count(*), total(cpu) FROM brief"
				  " GROUP BY comm ORDER BY 3 DESC, 2 DESC, 1";
	char text[500] = "";
	double cpu = 0;
	sqlite3_stmt *q;
	s64 all = 0;
	size_t n = 0;
	int i, ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	for (i = 0; (ret = db_step(q, e)) > 0; i++) {
		all += sqlite3_column_int64(q, 1);
		cpu += sqlite3_column_double(q, 2);
		if (i < NAMED && n + 80 < sizeof(text))
			n += snprintf(text + n, sizeof(text) - n, "%s%.40s %lld", n ? ", " : "",
				      db_text(q, 0), sqlite3_column_int64(q, 1));
	}
	sqlite3_finalize(q);
	if (ret < 0 || !all)
		return ret < 0 ? ret : 0;
	return put_prose(
		c, e, NOTE, "OBSERVED", "SELECT * FROM process_exit ORDER BY life",
		"Processes that lived less than 0.1 s: %lld, %.2f ms of CPU time together; "
		"%s.",
		(long long)all, cpu / 1e6, text);
}

static int put_killed(struct analysis_ctx *c, struct err *e)
{
	static const char sql[] =
		"SELECT (SELECT coalesce(nullif(max(comm),''),'?') FROM process p WHERE p.pid=x.pid)"
		" || '[' || pid || ']', signal, ts FROM process_exit x WHERE signal > 0 ORDER BY ts";
	char text[500] = "";
	sqlite3_stmt *q;
	size_t n = 0;
	s64 all = 0;
	int ret = db_query(&q, c->db, e, sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(q, e)) > 0)
		if (all++ < NAMED && n + 80 < sizeof(text))
			n += snprintf(text + n, sizeof(text) - n, "%s%.40s by %d at %.3f s",
				      n ? ", " : "", db_text(q, 0), sqlite3_column_int(q, 1),
				      sqlite3_column_double(q, 2) / 1e9);
	sqlite3_finalize(q);
	if (ret < 0 || !all)
		return ret < 0 ? ret : 0;
	return put_prose(c, e, WARNING, "OBSERVED", sql, "Processes killed by a signal: %lld; %s.",
			 (long long)all, text);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	int ret = put_tree(c, e);

	if (ret == 0)
		ret = put_short(c, e);
	return ret < 0 ? ret : put_killed(c, e);
}

const struct analysis analysis_processes = {
	.name = "processes",
	.doc = "Who began which processes, and what became of them",
	.needs = "process",
	.metrics = metrics,
	.rows = 30,
	.run = run,
};
