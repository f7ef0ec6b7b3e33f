// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which system calls did each process make, how long did they take, how often did they
 * fail? Durations include waiting: a long poll is idleness, not slowness. Quantiles
 * come from histograms and are within 3.2 % of the sample's.
 */
#include "analysis.h"

#include "analyze/base/number.h"
#include "format/errnos.h"
#include "latency.h"

#include <stdio.h>

#define ERRORS_NAMED 8 /* in the sentence; the table has all */

static const struct metric metrics[] = {
	{ "calls", "", NEITHER_IS_BETTER, "calls that returned" },
	{ "rate", "1/s", NEITHER_IS_BETTER, "calls a second, over the whole recording" },
	{ "errors", "", LOWER_IS_BETTER, "calls that failed" },
	{ "total", "ns", NEITHER_IS_BETTER, "sum of durations" },
	{ "p50", "ns", LOWER_IS_BETTER, "median duration" },
	{ "p90", "ns", LOWER_IS_BETTER, "90th percentile" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ 0 },
};

static const char stats_sql[] =
	"SELECT coalesce(nullif(p.comm,''),'?') || '[' || s.pid || '] ' || n.name, s.n, s.errors, s.total, s.max,"
	" s.pid, s.abi << 16 | s.nr, s.timed"
	" FROM syscall_stat s JOIN syscall_name n USING(abi, nr)"
	" LEFT JOIN (SELECT pid, max(comm) AS comm FROM process GROUP BY pid) p USING(pid)"
	" WHERE s.n > 0 ORDER BY s.total DESC, s.n DESC, 1";

static const char errors_sql[] =
	"SELECT coalesce(nullif(p.comm,''),'?') || '[' || f.pid || '] ' || n.name, f.error, f.n, s.n"
	" FROM syscall_error f JOIN syscall_name n USING(abi, nr) JOIN syscall_stat s USING(pid, abi, nr)"
	" LEFT JOIN (SELECT pid, max(comm) AS comm FROM process GROUP BY pid) p USING(pid)"
	" ORDER BY f.n DESC, 1, f.error";

/* The most frequent failures by errno, as one sentence. */
static int put_errors(struct analysis_ctx *c, struct err *e)
{
	char text[800] = "", name[32];
	sqlite3_stmt *s;
	size_t n = 0;
	int i, ret = db_query(&s, c->db, e, errors_sql, "");

	if (ret < 0)
		return ret;
	for (i = 0; i < ERRORS_NAMED && (ret = db_step(s, e)) > 0 && n + 100 < sizeof(text); i++)
		n += snprintf(text + n, sizeof(text) - n, "%s%.60s %s %s of %s", n ? "; " : "",
			      db_text(s, 0),
			      errno_name(sqlite3_column_int(s, 1), name, sizeof(name)),
			      counted(sqlite3_column_double(s, 2)).text,
			      counted(sqlite3_column_double(s, 3)).text);
	sqlite3_finalize(s);
	if (ret < 0 || !n)
		return ret < 0 ? ret : 0;
	return put_prose(c, e, NOTE, "OBSERVED", errors_sql,
			 "Calls that failed, most often first, of all calls of that kind: %s.",
			 text);
}

static int put_row(struct analysis_ctx *c, sqlite3_stmt *s, struct err *e)
{
	static const double at[] = { 0.5, 0.9, 0.99 };
	const char *subject = db_text(s, 0);
	s64 n = sqlite3_column_int64(s, 1), timed = sqlite3_column_int64(s, 7);
	double q[3];
	int ret = latency_quantiles(c->db, "syscall", sqlite3_column_int64(s, 5),
				    sqlite3_column_int64(s, 6), at, q, 3,
				    sqlite3_column_double(s, 4), e);
	const struct {
		const char *name;
		double value;
		s64 n;
	} values[] = {
		{ "calls", n, n },
		{ "rate", c->duration ? n * 1e9 / c->duration : NAN, n },
		{ "errors", sqlite3_column_double(s, 2), n },
		{ "total", sqlite3_column_double(s, 3), timed },
		{ "p50", q[0], timed },
		{ "p90", q[1], timed },
		{ "p99", q[2], timed },
		{ "max", timed ? sqlite3_column_double(s, 4) : NAN, timed },
	};
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]) && ret == 0; i++)
		ret = put_metric(c, e, subject, values[i].name, values[i].value, NO_INTERVAL,
				 values[i].n);
	return ret;
}

static int run(struct analysis_ctx *c, struct err *e)
{
	sqlite3_stmt *s;
	int ret = db_query(&s, c->db, e, stats_sql, "");

	if (ret < 0)
		return ret;
	while ((ret = db_step(s, e)) > 0)
		if (put_row(c, s, e) < 0) {
			ret = ERR_FAIL;
			break;
		}
	sqlite3_finalize(s);
	return ret < 0 ? ret : put_errors(c, e);
}

const struct analysis analysis_syscalls = {
	.name = "syscalls",
	.doc = "Which system calls, how long, how many failed",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 15,
	.run = run,
};
