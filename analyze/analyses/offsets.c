// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where in their files did processes read and write? The pattern of accesses, appends and
 * overwrites; and what a reader never read because the file was truncated or replaced below its
 * position, as DIO (Esteves et al., IEEE Access 2023) found in a log shipper.
 */
#include "analysis.h"
#include "shared_files.h"

static const struct metric metrics[] = {
	{ "reads", "", NEITHER_IS_BETTER, "reads with a recorded position" },
	{ "bytes/read", "bytes", NEITHER_IS_BETTER, "mean of a read" },
	{ "read_seq", "%", NEITHER_IS_BETTER, "reads that start where the one before ended" },
	{ "read_strided", "%", NEITHER_IS_BETTER, "others at the distance of the one before" },
	{ "read_random", "%", NEITHER_IS_BETTER, "others" },
	{ "at_end", "", NEITHER_IS_BETTER, "reads that returned nothing: at or past the end" },
	{ "past_end", "", LOWER_IS_BETTER, "reads that start past the end" },
	{ "writes", "", NEITHER_IS_BETTER, "writes with a recorded position" },
	{ "bytes/write", "bytes", NEITHER_IS_BETTER, "mean of a write" },
	{ "write_seq", "%", NEITHER_IS_BETTER, "writes that start where the one before ended" },
	{ "write_strided", "%", NEITHER_IS_BETTER, "others at the distance of the one before" },
	{ "write_random", "%", NEITHER_IS_BETTER, "others" },
	{ "appends", "", NEITHER_IS_BETTER, "writes at the end of the file" },
	{ "bytes/append", "bytes", NEITHER_IS_BETTER, "mean of an append" },
	{ "overwrites", "", NEITHER_IS_BETTER, "writes that start before the end" },
	{ "overwritten", "bytes", NEITHER_IS_BETTER, "existing content written again" },
	{ "holes", "", NEITHER_IS_BETTER, "writes that start past the end" },
	{ "unknown", "", LOWER_IS_BETTER, "accesses without a recorded position" },
	{ 0 },
};

/* The path of inode i. */
#define PATH                                                                                   \
	"coalesce(p.path, 'inode ' || i.ino || coalesce(' on ' || (SELECT target FROM mount m" \
	" WHERE m.dev=i.dev ORDER BY rowid LIMIT 1), ' of device ' || (i.dev >> 20) || ':'"    \
	" || (i.dev & 1048575)))"
#define INODES " JOIN inode i ON i.id=a.inode LEFT JOIN file_path p ON p.id=i.path"

#define SHARE(what, of, name) " 100.0 * " what " / nullif(" of ", 0) AS " name ","

/* The first access through an open file has no pattern: shares are of those that have one. */
static const char rows_sql[] =
	"WITH a AS (SELECT *, read_sequential + read_strided + read_random AS nr,"
	" write_sequential + write_strided + write_random AS nw FROM file_access)"
	" SELECT iif(a.pid, 'process', 'none') AS kind, a.pid AS id, iif(a.pid, ' ', 'others ') || " PATH
	" AS part, reads AS n, reads AS reads, 1.0 * read_bytes / nullif(reads, 0) AS \"bytes/read\","
	" nr AS n," SHARE("read_sequential", "nr", "read_seq") SHARE("read_strided", "nr", "read_strided") SHARE(
		"read_random", "nr",
		"read_random") " reads AS n, read_at_end AS at_end, read_past_end AS past_end, writes AS n, writes AS writes,"
			       " 1.0 * write_bytes / nullif(writes, 0) AS \"bytes/write\", nw AS n," SHARE(
				       "write_sequential", "nw",
				       "write_seq") SHARE("write_strided", "nw", "write_strided")
				       SHARE("write_random", "nw",
					     "write_random") " writes AS n, appends AS appends, overwrites AS overwrites,"
							     " nullif(overwrite_bytes, 0) AS overwritten, holes AS holes, appends AS n,"
							     " 1.0 * append_bytes / nullif(appends, 0) AS \"bytes/append\", unknown AS n, unknown AS"
							     " unknown FROM a" INODES
							     " ORDER BY read_bytes + write_bytes DESC, reads + writes DESC, a.pid, a.inode";

#define GAPS                                                                                   \
	"SELECT 'process' AS kind, a.pid AS id, " PATH " AS path, a.how AS how, a.changer AS"  \
	" \"changer:process\", a.ts AS \"at:at\", a.pos AS pos, a.size AS \"size:bytes\","     \
	" nullif(a.skipped, 0) AS \"skipped:bytes\", nullif(a.unread, 0) AS \"unread:bytes\"," \
	" a.reads AS reads FROM file_gap a" INODES

static const struct finding_query findings[] = {
	{ FINDING_file_passed, WARNING, OBSERVED, "SELECT * FROM file_gap WHERE \"end\" IS NULL",
	  GAPS
	  " WHERE a.how <> 'hole' AND a.\"end\" IS NULL AND a.skipped > 0 ORDER BY a.skipped DESC,"
	  " a.ts LIMIT 20",
	  NULL },
	{ FINDING_file_unread, WARNING, OBSERVED, "SELECT * FROM file_gap WHERE unread > 0",
	  GAPS
	  " WHERE a.how = 'truncated' AND a.unread > 0 AND NOT (a.\"end\" IS NULL AND a.skipped > 0)"
	  " ORDER BY a.unread DESC, a.ts LIMIT 20",
	  NULL },
	{ FINDING_file_zeros, WARNING, OBSERVED, "SELECT * FROM file_gap WHERE how='hole'",
	  GAPS " WHERE a.how = 'hole' ORDER BY a.skipped DESC, a.ts LIMIT 20", NULL },
	{ FINDING_files_shared, NOTE, OBSERVED,
	  "SELECT * FROM file_access WHERE inode IN " SHARED_FILES " ORDER BY inode, pid",
	  "SELECT count(*) AS n FROM " SHARED_FILES " HAVING n > 0",
	  "SELECT 'file', '', NULL, 'none', 0, " PATH " || ' (' || sum(reads > 0) || ' read, ' ||"
	  " sum(writes > 0) || ' wrote)' FROM file_access a" INODES
	  " WHERE a.pid <> 0 AND a.inode IN " SHARED_FILES
	  " GROUP BY a.inode ORDER BY sum(a.read_bytes + a.write_bytes) DESC, a.inode LIMIT 6" },
	{ FINDING_offsets_limits, NOTE, LIMIT, NULL, "SELECT 1 AS n", NULL },
	{ FINDING_offsets_of_some, NOTE, LIMIT, NULL,
	  "SELECT 1 AS n FROM recording WHERE key='targets' AND value<>'all'", NULL },
};

static int run(struct analysis_ctx *c, struct err *e)
{
	size_t i;

	(void)e;
	put_table(c, SUBJECT_process, rows_sql, "");
	for (i = 0; i < sizeof(findings) / sizeof(findings[0]); i++)
		find_rows(c, &findings[i], "");
	return c->err;
}

const struct analysis analysis_offsets = {
	.name = "offsets",
	.doc = "Where in their files processes read and wrote",
	.needs = "offsets",
	.metrics = metrics,
	.rows = 20,
	.run = run,
};
