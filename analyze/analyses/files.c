// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which process opened, read, wrote and changed which file, and what failed. Opens and changes
 * need group files, reads and writes the system calls; where one of them is not recorded its
 * columns are missing. Mapped memory shows in none.
 */
#include "analysis.h"

#include "analyze/base/number.h"
#include "format/errnos.h"

#include <stdio.h>
#include <string.h>

#define NAMED 6 /* in a sentence; the tables have all */

static const struct metric metrics[] = {
	{ "opens", "", NEITHER_IS_BETTER, "calls that opened it" },
	{ "failed", "", LOWER_IS_BETTER, "opens, changes, reads and writes that failed" },
	{ "changes", "", NEITHER_IS_BETTER, "removed, renamed, made, linked or cut" },
	{ "reads", "", NEITHER_IS_BETTER, "calls that read it" },
	{ "read", "bytes", NEITHER_IS_BETTER, "read" },
	{ "bytes/read", "bytes", NEITHER_IS_BETTER, "mean of a read" },
	{ "writes", "", NEITHER_IS_BETTER, "calls that wrote it" },
	{ "written", "bytes", NEITHER_IS_BETTER, "written" },
	{ "bytes/write", "bytes", NEITHER_IS_BETTER, "mean of a write" },
	{ "time", "ns", LOWER_IS_BETTER, "inside all these calls" },
	{ 0 },
};

#define COMM(pid)                                                                \
	"(SELECT coalesce(nullif(max(comm),''),'?') FROM process WHERE pid=" pid \
	") || '[' || " pid " || ']'"

/* One row for each process and path; files that never had a path by inode and file system. */
static const char files_sql[] =
	"WITH f AS (SELECT pid, path, NULL AS inode, ret >= 0 AS opens, ret < 0 AS failed, 0 AS"
	" changes, 0 AS reads, 0 AS rb, 0 AS writes, 0 AS wb, dur AS ns FROM file_open UNION ALL"
	" SELECT pid, path, NULL, 0, ret < 0, ret >= 0, 0, 0, 0, 0, CASE which WHEN 0 THEN dur ELSE 0"
	" END FROM file_change UNION ALL SELECT pid, path, CASE path WHEN 0 THEN 'inode ' || ino ||"
	" coalesce(' on ' || (SELECT target FROM mount m WHERE m.dev=u.dev ORDER BY rowid LIMIT 1),"
	" ' of device ' || (dev >> 20) || ':' || (dev & 1048575)) END, 0, errors, 0, reads,"
	" read_bytes, writes, write_bytes, read_time + write_time FROM file_use u)"
	" SELECT CASE f.pid WHEN 0 THEN 'others' ELSE " COMM(
		"f.pid") " END || ' ' ||"
			 " coalesce(p.path, f.inode, 'others'), sum(opens), sum(failed), sum(changes), sum(reads),"
			 " sum(rb), sum(writes), sum(wb), sum(ns) FROM f LEFT JOIN file_path p ON p.id=f.path"
			 " GROUP BY f.pid, f.path, f.inode ORDER BY sum(rb) + sum(wb) DESC, sum(ns) DESC, 1";

static int put_row(struct analysis_ctx *c, sqlite3_stmt *q, struct err *e)
{
	const char *subject = db_text(q, 0);
	double v[9];
	int i, ret = 0;

	for (i = 1; i < 9; i++)
		v[i] = sqlite3_column_double(q, i);
	const struct {
		const char *name;
		double value;
		double n;
	} values[] = {
		{ "opens", v[1], v[1] },
		{ "failed", v[2], v[2] },
		{ "changes", v[3], v[3] },
		{ "reads", v[4], v[4] },
		{ "read", v[5], v[4] },
		{ "bytes/read", v[4] > 0 ? v[5] / v[4] : NAN, v[4] },
		{ "writes", v[6], v[6] },
		{ "written", v[7], v[6] },
		{ "bytes/write", v[6] > 0 ? v[7] / v[6] : NAN, v[6] },
		{ "time", v[8], v[1] + v[2] + v[3] + v[4] + v[6] },
	};

	for (i = 0; i < (int)(sizeof(values) / sizeof(values[0])) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 (s64)values[i].n);
	return ret;
}

static int put_files(struct analysis_ctx *c, struct err *e)
{
	sqlite3_stmt *q;
	int ret = db_query(&q, c->db, e, files_sql, "");

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

static const char failed_sql[] = "SELECT " COMM(
	"o.pid") " || ' ' || coalesce(p.path,'?'), -o.ret, count(*) FROM file_open o"
		 " LEFT JOIN file_path p ON p.id=o.path WHERE o.ret < 0 GROUP BY o.pid, o.path, o.ret"
		 " ORDER BY count(*) DESC, 1, 2";

static int put_failed(struct analysis_ctx *c, struct err *e)
{
	char text[1200] = "", name[32];
	sqlite3_stmt *q;
	s64 all = 0, opens = 0;
	size_t n = 0;
	int i, ret;

	ret = db_int(c->db, &all, e, "SELECT count(*) FROM file_open WHERE ret < 0", "");
	if (ret == 0)
		ret = db_int(c->db, &opens, e, "SELECT count(*) FROM file_open", "");
	if (ret < 0 || !all)
		return ret;
	ret = db_query(&q, c->db, e, failed_sql, "");
	if (ret < 0)
		return ret;
	for (i = 0; i < NAMED && (ret = db_step(q, e)) > 0 && n + 180 < sizeof(text); i++)
		n += snprintf(text + n, sizeof(text) - n, "%s%.120s %s %s", n ? "; " : "",
			      db_text(q, 0),
			      errno_name(sqlite3_column_int(q, 1), name, sizeof(name)),
			      counted(sqlite3_column_double(q, 2)).text);
	sqlite3_finalize(q);
	if (ret < 0)
		return ret;
	return put_prose(c, e, NOTE, "OBSERVED", failed_sql,
			 "Opens that failed: %s of %s. Most often: %s.", counted((double)all).text,
			 counted((double)opens).text, text);
}

static const char changes_sql[] = "SELECT " COMM(
	"f.pid") " || ' ' || coalesce(n.name, f.nr), f.done, f.failed, p.path FROM"
		 " (SELECT pid, abi, nr, sum(ret >= 0) AS done, sum(ret < 0) AS failed, min(path) AS path FROM"
		 " file_change WHERE which=0 GROUP BY pid, abi, nr) f LEFT JOIN syscall_name n USING(abi, nr)"
		 " LEFT JOIN file_path p ON p.id=f.path ORDER BY f.done + f.failed DESC, 1";

/* Files removed, renamed, made, linked, cut: by process and call, with an example. */
static int put_changes(struct analysis_ctx *c, struct err *e)
{
	char text[1200] = "", failed[64];
	sqlite3_stmt *q;
	size_t n = 0;
	int i, ret = db_query(&q, c->db, e, changes_sql, "");

	if (ret < 0)
		return ret;
	for (i = 0; i < NAMED && (ret = db_step(q, e)) > 0 && n + 200 < sizeof(text); i++) {
		const char *path = db_text(q, 3);

		snprintf(failed, sizeof(failed), " (and %s failed)",
			 counted(sqlite3_column_double(q, 2)).text);
		n += snprintf(text + n, sizeof(text) - n, "%s%.60s %s%s, such as %.80s",
			      n ? "; " : "", db_text(q, 0),
			      counted(sqlite3_column_double(q, 1)).text,
			      sqlite3_column_int64(q, 2) ? failed : "", path ? path : "?");
	}
	sqlite3_finalize(q);
	if (ret < 0 || !n)
		return ret < 0 ? ret : 0;
	return put_prose(
		c, e, NOTE, "OBSERVED",
		"SELECT f.*, p.path FROM file_change f LEFT JOIN file_path p ON p.id=f.path",
		"Files removed, renamed, made, linked or cut: %s.", text);
}

static int run(struct analysis_ctx *c, struct err *e)
{
	s64 told = 0, calls = 0;
	int ret = db_int(c->db, &told, e,
			 "SELECT verdict<>'ABSENT' FROM coverage WHERE grp='files'", "");

	if (ret == 0)
		ret = db_int(c->db, &calls, e,
			     "SELECT verdict<>'ABSENT' FROM coverage WHERE grp='syscalls'", "");
	if (ret == 0)
		ret = put_files(c, e);
	if (ret == 0)
		ret = put_failed(c, e);
	if (ret == 0)
		ret = put_changes(c, e);
	if (ret == 0 && !told)
		ret = put_prose(
			c, e, NOTE, "LIMIT", NULL,
			"which files were opened, removed, renamed or made: group files was not "
			"recorded.");
	if (ret == 0 && !calls)
		ret = put_prose(c, e, NOTE, "LIMIT", NULL,
				"files: what was read and written is not known, group syscalls was "
				"not recorded.");
	return ret;
}

const struct analysis analysis_files = {
	.name = "files",
	.doc = "Who opened, read, wrote and changed which files",
	.needs = "",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
