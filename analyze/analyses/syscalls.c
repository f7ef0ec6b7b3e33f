// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which system calls did each process make, how long did they take, how often did they
 * fail? Durations include waiting: a long poll is idleness, not slowness. Quantiles
 * come from histograms and are within 3.2 % of the sample's.
 */
#include "analysis.h"

static const struct metric metrics[] = {
	{ "calls", "", NEITHER_IS_BETTER, "calls that returned" },
	{ "rate", "1/s", NEITHER_IS_BETTER, "calls per second, over the whole recording" },
	{ "errors", "", LOWER_IS_BETTER, "calls that failed" },
	{ "total", "ns", NEITHER_IS_BETTER, "sum of durations" },
	{ "p50", "ns", LOWER_IS_BETTER, "median duration" },
	{ "p90", "ns", LOWER_IS_BETTER, "90th percentile" },
	{ "p99", "ns", LOWER_IS_BETTER, "99th percentile" },
	{ "max", "ns", LOWER_IS_BETTER, "longest" },
	{ 0 },
};

#define Q(at) "quantile(" at ", s.max, 'syscall', s.pid, s.abi << 16 | s.nr)"

static const char stats_sql[] =
	"SELECT s.pid AS id, ' ' || n.name AS part, s.n AS n, s.n AS calls, s.n * 1e9 / ?1 AS rate,"
	" s.errors AS errors, s.timed AS n, s.total AS total, " Q("0.5") " AS p50, " Q(
		"0.9") " AS p90, " Q("0.99") " AS p99, iif(s.timed, s.max, NULL) AS max"
					     " FROM syscall_stat s JOIN syscall_name n USING(abi, nr) WHERE s.n > 0"
					     " ORDER BY s.total DESC, s.n DESC, s.pid, n.name";

/* EAGAIN, EINPROGRESS and a timeout of futex are answers, not failures. */
#define FAILED                                                                              \
	"syscall_error f JOIN syscall_name n USING(abi, nr) WHERE f.error NOT IN (11, 115)" \
	" AND NOT (n.name='futex' AND f.error=110)"

static const char failed_sql[] =
	"SELECT f.pid, n.name, errno_name(f.error) AS errno, f.n FROM " FAILED " ORDER BY f.n DESC";

static int run(struct analysis_ctx *c, struct err *e)
{
	static const struct finding_query failed = {
		FINDING_calls_failed,
		NOTE,
		OBSERVED,
		failed_sql,
		"SELECT sum(f.n) AS n FROM " FAILED " HAVING count(*) > 0",
		"SELECT 'call', '', f.n, 'process', f.pid, coalesce((SELECT max(comm) FROM process p"
		" WHERE p.pid=f.pid), '?') || '[' || f.pid || '] ' || n.name || ' ' ||"
		" errno_name(f.error) FROM " FAILED " ORDER BY f.n DESC, f.pid, n.name LIMIT 6",
	};

	(void)e;
	put_table(c, SUBJECT_process, stats_sql, "i", c->duration ? c->duration : (s64)1);
	find_rows(c, &failed, "");
	return c->err;
}

const struct analysis analysis_syscalls = {
	.name = "syscalls",
	.doc = "Which system calls, how long, how many failed",
	.needs = "syscalls",
	.metrics = metrics,
	.rows = 15,
	.run = run,
};
