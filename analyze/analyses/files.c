// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which process opened, read, wrote and changed which file, and what failed. Opens and changes
 * need group files, reads and writes the system calls; where one of them is not recorded its
 * columns are missing. Mapped memory shows in none.
 */
#include "analysis.h"
#include "shared_files.h"

static const struct metric metrics[] = {
	{ "opens", "", NEITHER_IS_BETTER, "calls that opened it" },
	{ "failed", "", LOWER_IS_BETTER, "opens, changes, reads and writes that failed" },
	{ "changes", "", NEITHER_IS_BETTER, "removed, renamed, created, linked or truncated" },
	{ "reads", "", NEITHER_IS_BETTER, "calls that read it" },
	{ "read", "bytes", NEITHER_IS_BETTER, "read" },
	{ "bytes/read", "bytes", NEITHER_IS_BETTER, "mean of a read" },
	{ "writes", "", NEITHER_IS_BETTER, "calls that wrote it" },
	{ "written", "bytes", NEITHER_IS_BETTER, "written" },
	{ "bytes/write", "bytes", NEITHER_IS_BETTER, "mean of a write" },
	{ "time", "ns", LOWER_IS_BETTER, "inside all these calls" },
	{ 0 },
};

/* One row for each process and path; files that never had a path by inode and file system. */
static const char files_sql[] =
	"WITH f AS (SELECT pid, path, NULL AS inode, ret >= 0 AS opens, ret < 0 AS failed, 0 AS"
	" changes, 0 AS reads, 0 AS rb, 0 AS writes, 0 AS wb, dur AS ns FROM file_open UNION ALL"
	" SELECT pid, path, NULL, 0, ret < 0, ret >= 0, 0, 0, 0, 0, CASE which WHEN 0 THEN dur ELSE 0"
	" END FROM file_change UNION ALL SELECT pid, path, CASE path WHEN 0 THEN 'inode ' || ino ||"
	" coalesce(' on ' || (SELECT target FROM mount m WHERE m.dev=u.dev ORDER BY rowid LIMIT 1),"
	" ' of device ' || (dev >> 20) || ':' || (dev & 1048575)) END, 0, errors, 0, reads,"
	" read_bytes, writes, write_bytes, read_time + write_time FROM file_use u)"
	" SELECT iif(f.pid, 'process', 'none') AS kind, f.pid AS id, iif(f.pid, ' ', 'others ') ||"
	" coalesce(p.path, f.inode, 'others') AS part, sum(opens) AS n, sum(opens) AS opens,"
	" sum(failed) AS n, sum(failed) AS failed, sum(changes) AS n, sum(changes) AS changes,"
	" sum(reads) AS n, sum(reads) AS reads, sum(rb) AS read, 1.0 * sum(rb) / nullif(sum(reads), 0)"
	" AS \"bytes/read\", sum(writes) AS n, sum(writes) AS writes, sum(wb) AS written,"
	" 1.0 * sum(wb) / nullif(sum(writes), 0) AS \"bytes/write\","
	" sum(opens) + sum(failed) + sum(changes) + sum(reads) + sum(writes) AS n, sum(ns) AS time"
	" FROM f LEFT JOIN file_path p ON p.id=f.path GROUP BY f.pid, f.path, f.inode"
	" ORDER BY sum(rb) + sum(wb) DESC, sum(ns) DESC, f.pid, f.path, f.inode";

#define NAME(pid)                                                                     \
	"coalesce((SELECT nullif(max(comm),'') FROM process WHERE pid=" pid "), '?')" \
	" || '[' || " pid " || '] '"

static const struct finding_query findings[] = {
	{ FINDING_opens_failed, NOTE, OBSERVED,
	  "SELECT o.pid, p.path, errno_name(o.ret) AS errno, count(*) AS n FROM file_open o"
	  " LEFT JOIN file_path p ON p.id=o.path WHERE o.ret < 0 GROUP BY 1, 2, 3 ORDER BY n DESC",
	  "SELECT sum(ret < 0) AS failed, count(*) AS opens FROM file_open HAVING failed > 0",
	  "SELECT 'file', '', count(*), 'process', o.pid, " NAME(
		  "o.pid") " || coalesce(p.path,'?') || ' '"
			   " || errno_name(o.ret) FROM file_open o LEFT JOIN file_path p ON p.id=o.path WHERE o.ret < 0"
			   " GROUP BY o.pid, o.path, o.ret ORDER BY count(*) DESC, o.pid, p.path LIMIT 6" },
	{ FINDING_files_changed, NOTE, OBSERVED,
	  "SELECT f.*, p.path FROM file_change f LEFT JOIN file_path p ON p.id=f.path",
	  "SELECT sum(ret >= 0) AS n, nullif(sum(ret < 0), 0) AS failed FROM file_change WHERE which=0"
	  " HAVING count(*) > 0",
	  "SELECT 'change', '', f.done, 'process', f.pid, " NAME(
		  "f.pid") " || coalesce(n.name, f.nr) ||"
			   " coalesce(' (such as ' || p.path || ')', '') FROM (SELECT pid, abi, nr, sum(ret >= 0) AS done,"
			   " count(*) AS calls, min(path) AS path FROM file_change WHERE which=0 GROUP BY pid, abi, nr) f"
			   " LEFT JOIN syscall_name n USING(abi, nr) LEFT JOIN file_path p ON p.id=f.path"
			   " ORDER BY f.calls DESC, f.pid, f.nr LIMIT 6" },
	{ FINDING_files_passed, WARNING, OBSERVED, "SELECT * FROM file_gap WHERE how <> 'hole'",
	  "SELECT count(DISTINCT inode) AS n FROM file_gap WHERE how <> 'hole' AND"
	  " ((\"end\" IS NULL AND skipped > 0) OR unread > 0) HAVING n > 0",
	  NULL },
	{ FINDING_files_of_several, NOTE, OBSERVED,
	  "SELECT * FROM file_access WHERE inode IN " SHARED_FILES " ORDER BY inode, pid",
	  "SELECT count(*) AS n FROM " SHARED_FILES " HAVING n > 0", NULL },
	{ FINDING_no_files, NOTE, LIMIT, NULL,
	  "SELECT 1 AS n WHERE NOT EXISTS(SELECT 1 FROM coverage WHERE grp='files' AND verdict<>'ABSENT')",
	  NULL },
	{ FINDING_no_reads, NOTE, LIMIT, NULL,
	  "SELECT 1 AS n WHERE NOT EXISTS(SELECT 1 FROM coverage WHERE grp='syscalls' AND verdict<>'ABSENT')",
	  NULL },
};

static int run(struct analysis_ctx *c, struct err *e)
{
	size_t i;

	(void)e;
	put_table(c, SUBJECT_process, files_sql, "");
	for (i = 0; i < sizeof(findings) / sizeof(findings[0]); i++)
		find_rows(c, &findings[i], "");
	return c->err;
}

const struct analysis analysis_files = {
	.name = "files",
	.doc = "Which processes opened, read, wrote and changed which files",
	.needs = "",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
