// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that the server could open until its errors began, and no more since: they were removed, or
 * it lost the permission. Names that it never opened are requests for what is not there.
 */
#include "verdict_failing.h"

#include "format/errnos.h"

#define MOST 0.5   /* of the errors: calls that failed in their time range */
#define RARE "0.1" /* of these, outside */

/* What all paths have in common, the first and the last in order have. */
static int directory_of(struct buf *ret, const char *first, const char *last, struct err *e)
{
	int i, cut = 0;

	for (i = 0; first[i] && first[i] == last[i]; i++)
		cut = first[i] == '/' ? i : cut;
	return buf_printf(ret, e, "%.*s", cut > 0 ? cut : 1, first);
}

static int put(struct analysis_ctx *c, const struct judged *j, sqlite3_stmt *q, struct err *e)
{
	const char *first = db_text(q, 4);
	double files = sqlite3_column_double(q, 3);
	int error = sqlite3_column_int(q, 1), ret;
	struct buf below = { 0 };
	char name[32];

	ret = directory_of(&below, first, db_text(q, 5), e);
	if (ret == 0) {
		const struct value values[] = {
			VALUE_TEXT("call", db_text(q, 0)),
			VALUE_TEXT("path", files > 1 ? NULL : first),
			VALUE_NUMBER("files", files > 1 ? files : NAN, ""),
			VALUE_TEXT("directory", files > 1 ? below.data : NULL),
			VALUE_NUMBER("n", sqlite3_column_double(q, 2), ""),
			VALUE_TEXT("errno", errno_name(error, name, sizeof(name))),
			VALUE_TEXT("meaning", error == LINUX_EACCES ? "permission denied"
								    : "no such file or directory"),
			{ 0 },
		};
		const struct finding f = { FINDING_failing_files,     PROBLEM, OBSERVED,  j->about,
					   "SELECT * FROM file_open", values,  j->finding };

		ret = finding_put(c->db, c->analysis->name, &f, NULL, e);
	}
	buf_free(&below);
	return ret;
}

int verdict_files_say(struct analysis_ctx *c, const struct judged *j, struct err *e)
{
	/* f: by the server; k: could be opened, at last; b: failed since, in the time of the errors
	 */
	static const char sql[] =
		"WITH f AS MATERIALIZED (SELECT ts, abi, nr, path, -ret AS error FROM file_open WHERE path > 0 AND"
		" (ret >= 0 OR ret IN (-?5, -?6)) AND pid IN (SELECT pid FROM service WHERE server=?1)), k AS"
		" MATERIALIZED (SELECT path, max(ts) AS last FROM f WHERE error <= 0 GROUP BY path), b AS (SELECT"
		" f.*, f.ts BETWEEN ?2 AND ?3 AS within FROM f JOIN k ON k.path=f.path AND last < f.ts WHERE error"
		" > 0) SELECT (SELECT name FROM syscall_name s WHERE s.abi=b.abi AND s.nr=b.nr), error,"
		" total(within), count(DISTINCT b.path), min(p.path), max(p.path) FROM b JOIN file_path p ON"
		" p.id=b.path GROUP BY error HAVING total(within) >= ?4 AND total(NOT within) <= " RARE
		" * total(within) ORDER BY 3 DESC LIMIT 1";
	sqlite3_stmt *q;
	int ret;

	if (!(j->more.n > 0) || j->more.cut > 0)
		return 0;
	ret = db_query(&q, c->db, e, sql, "idddii", j->about.id, j->more.start - j->width,
		       j->more.end + j->width, MOST * j->more.n, (s64)LINUX_ENOENT,
		       (s64)LINUX_EACCES);
	if (ret < 0)
		return ret;
	ret = db_step(q, e);
	if (ret > 0)
		ret = put(c, j, q, e);
	return db_end(q, ret);
}
